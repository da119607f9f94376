"""Lengths of a text in words, 字, characters and letters, under the readings that people have.

The narrowest leaves title, headings and the numbers of lists out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heedful.core import scripts
from heedful.verify.text import characters as signs
from heedful.verify.text.words import without_marks

if TYPE_CHECKING:
    from heedful.verify.text.layout import Layout

_TOKEN = re.compile(r"\w\S*")  # without the signs before it, which make no difference to a count
_RUN = re.compile(r"\w+")
_HAN = f"{scripts.HAN}々〇"
_HAN_CHARACTER = re.compile(f"[{_HAN}]")
_UNSPACED = re.compile(f"[{scripts.UNSPACED}々〇]")
_WIDE = re.compile(f"[{_HAN}{scripts.KANA}\u3000-\u303f\uff00-\uff65“”‘’…—·]")
_SPACED_LETTER = rf"[^\W{scripts.KANA}{_HAN}]"
_LATIN_RUN = re.compile(rf"{_SPACED_LETTER}+(?:[.,'’:/@_-]{_SPACED_LETTER}+)*")
_LIST_MARKER = re.compile(
    r"^(?:[^\S\n]|[#>*+_•·●○▪◦‣-])*+(?:[(（\[【]?(?:\d{1,3}(?:\.\d{1,3}){0,2}|[ivx]{1,4}|[a-z]"
    r"|[ⅰ-ⅿ]|[一二三四五六七八九十]{1,3})(?:[)、．）\]】]|[.:：-](?!\w))"
    r"|\d{1,3}(?:\.\d{1,3}){1,2}(?=\s)|\d\ufe0f?\u20e3|[①-⓿❶-➓]|\d{1,3}\.(?=[^\W\d]))",
    re.MULTILINE | re.IGNORECASE,
)
_MOST_UNSPACED = 0.1
"""Of all letters: with more from scripts that do not part words, a count of words says nothing."""


def words(layout: Layout) -> list[int]:
    """Count words; parts of "don't", title, headings and the numbers of lists may not count."""
    text = layout.text
    if not text.isascii():
        letters = sum(map(str.isalpha, text))
        if len(_UNSPACED.findall(text)) > _MOST_UNSPACED * letters:
            return []
    return [len(_RUN.findall(text)), *map(_tokens, {layout.plain, *_bodies(layout)})]


def _tokens(text: str) -> int:
    """Count what white space separates, signs alone left out."""
    return len(_TOKEN.findall(text))


def _zi(text: str) -> int:
    """Count as a Chinese word processor does: wide characters one by one, other runs as one."""
    rest, wide = _WIDE.subn(" ", text)
    return wide + len(rest.split())


def _zi_bare(text: str) -> int:
    """Count Chinese characters, and runs of letters and digits, without punctuation."""
    rest, characters = _HAN_CHARACTER.subn(" ", text)
    return characters + len(_LATIN_RUN.findall(rest))


def _bodies(layout: Layout) -> list[str]:
    """Take the text that every reader counts, with the markers of its lists and without."""
    return [layout.body, _LIST_MARKER.sub("", layout.body)]


def _characters(*texts: str) -> list[int]:
    """Count characters as readers see them, and as Unicode does."""
    return [count(text) for text in texts for count in (signs.graphemes, len)]


def characters(layout: Layout) -> list[int]:
    """Count characters; spaces, Markdown's marks and the markers of lists may not count."""
    return _characters(layout.text, *map(signs.unspaced, (layout.text, *_bodies(layout))))


def characters_with_spaces(layout: Layout) -> list[int]:
    """Count characters; the spaces around the text may not count."""
    return _characters(layout.text, layout.text.strip())


def characters_without_spaces(layout: Layout) -> list[int]:
    """Count the characters that aren't white space."""
    return _characters(signs.unspaced(layout.text))


def zi(layout: Layout) -> list[int]:
    """Count 字; punctuation, Markdown's marks, title and the markers of lists may not count."""
    bare = map(_zi_bare, _bodies(layout))
    return [_zi(layout.text), *bare, len(signs.unspaced(layout.text))]


def zi_without_punctuation(layout: Layout) -> list[int]:
    """Count 字 without punctuation."""
    return [_zi_bare(text) for text in (layout.text, *_bodies(layout))]


def zi_with_punctuation(layout: Layout) -> list[int]:
    """Count 字 with punctuation: runs of letters as one, or each of their letters."""
    texts = (layout.text, *_bodies(layout))
    return [count for text in texts for count in (_zi(text), len(signs.unspaced(text)))]


def han_characters(layout: Layout) -> list[int]:
    """Count Chinese characters."""
    return [len(_HAN_CHARACTER.findall(text)) for text in (layout.text, *_bodies(layout))]


def letters(layout: Layout) -> list[int]:
    """Count letters; vowel signs may count."""
    counts = [sum(map(str.isalpha, text)) for text in (layout.text, layout.body)]
    # The vowel signs of Hindi are letters to some, and its joined consonants one to others.
    marks = len(layout.text) - len(without_marks(layout.text))
    return [*counts, counts[0] + marks, max(counts[1] - marks, 0)] if marks else counts
