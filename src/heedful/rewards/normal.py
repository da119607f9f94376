"""Text as its readers see it: without invisible characters, and with look-alikes spelled alike.

A policy that must not write a phrase may write it with zero-width spaces, in full-width letters or
with a Cyrillic «а» for a Latin one. Gates look at the text after all that is undone.
"""

from __future__ import annotations

import re
import unicodedata

from heedful.core.scripts import LOOKALIKES

_FOREIGN = "\u0370-\u03ff\u0400-\u052f\u0251-\u0261"
_WORD = re.compile(rf"[A-Za-z{_FOREIGN}]+")
_MIXED = re.compile(rf"[A-Za-z][A-Za-z]*[{_FOREIGN}]|[{_FOREIGN}]+[A-Za-z]")

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u0334-\u0338\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Controls, format characters and strokes through letters, without the joiners U+200C and U+200D,
which scripts need."""

_ACCENTS = re.compile("[\u0300-\u036f]+")
_STACKED = re.compile("[\u0300-\u036f]{2,}")
_ANY_FOREIGN = re.compile(f"[{_FOREIGN}]")


def normalised(text: str) -> str:
    r"""Write a text in compatibility form (NFKC), visible, with look-alikes of Latin in Latin.

    A word of look-alikes alone is taken for Latin where most of the text is.

    >>> normalised("ＶＥＲ\u200bＤＩСＴ: mеt")
    'VERDICT: met'
    """
    visible = _HIDDEN.sub("", unicodedata.normalize("NFKC", text))
    if _STACKED.search(visible):  # letters under heaps of accents, as "zalgo" writes them
        bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", visible))
        visible = unicodedata.normalize("NFKC", bare)
    if not _ANY_FOREIGN.search(visible):
        return visible
    words = "".join(_WORD.findall(visible))
    latin = 2 * sum(char.isascii() for char in words) > len(words)

    def spelled(word: re.Match[str]) -> str:
        plain = word[0].translate(LOOKALIKES)
        return plain if plain.isascii() and (latin or _MIXED.search(word[0])) else word[0]

    return _WORD.sub(spelled, visible)


def mixed_words(text: str) -> int:
    """Count the words that mix Latin letters with look-alikes of other scripts.

    >>> mixed_words("Аll wоrds, a Σ and x")
    2
    """
    if not _ANY_FOREIGN.search(text):
        return 0
    return sum(_is_disguised(word) for word in _WORD.findall(text))


def _is_disguised(word: str) -> bool:
    return _MIXED.search(word) is not None and word.translate(LOOKALIKES).isascii()
