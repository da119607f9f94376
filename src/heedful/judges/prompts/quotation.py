"""Quotations: a verdict that a judge repeats from what it was shown isn't the judge's own.

Judges quote what they judge, and a response may hold verdicts in the judge's own form. So the words
that a verdict is read from, with what stands around it in its block, line or object, are looked for
in every text that the judge was shown. Only letters and digits are compared, as readers see them:
a judge may decode, emphasise or lay out what it quotes.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from heedful.judges.prompts.fence import unfence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Message, Sample

QUOTED = "the verdict stands word for word in what was judged, so it may be a quotation"

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[nrt])")
_SIGNS = re.compile(r"[\W_]+")
_LOOKALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеѕіјорсухһԁԛԝɡΑΒΕΖΗΙΚΜΝΟΡΤΥΧαονρυ",
    "ABESIJKMHOPCTYXaesijopcyxhdqwgABEZHIKMNOPTYXaovpu",
)
"""Cyrillic and Greek letters that look like Latin ones."""
_FOREIGN = re.compile("[\u0370-\u052f]")
_ASCII = bytes(range(128))
_LOWER = _ASCII.lower() + bytes(range(128, 256))
_DELETED = bytes(code for code in _ASCII if not chr(code).isalnum())
_BETWEEN = "\0"
"""Parts texts whose letters are joined."""
_DELETED_WITHIN = _DELETED.replace(_BETWEEN.encode(), b"")


class Shown:
    """Texts that a judge was shown."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self._letters: str | None = None

    @classmethod
    def of(cls, sample: Sample) -> Shown:
        """Gather what a judge of a sample is shown."""
        turns = sample.conversation
        calls = [*(call for turn in turns for call in turn.tool_calls), *sample.tool_calls]
        return cls(
            sample.response or "",
            sample.reference or "",
            *(turn.content for turn in turns),
            *(constraint.text for constraint in sample.checklist),
            *(call.shown for call in calls),
        )

    @classmethod
    def in_prompt(cls, messages: Sequence[Message]) -> Shown:
        """Gather what a prompt shows between fences."""
        return cls(*(fenced.text for each in messages for fenced in unfence(each.content)))

    def holds(self, words: str) -> bool:
        """Tell whether words stand in one of the texts, whatever signs are around and in them."""
        if self._letters is None:
            self._letters = _joined(self.texts)
        said = letters(words)
        return bool(said) and said in self._letters


NOTHING = Shown()
"""For replies of which nobody knows what they are about."""


def _joined(texts: Sequence[str]) -> str:
    """Reduce texts to their letters; most are plain ASCII, and reduced together."""
    whole = _BETWEEN.join(texts)
    plain = whole.isascii() and "&" not in whole and "\\" not in whole
    if plain and whole.count(_BETWEEN) == len(texts) - 1:
        return whole.encode().translate(_LOWER, _DELETED_WITHIN).decode()
    return _BETWEEN.join(map(letters, texts))


def letters(text: str) -> str:
    r"""Reduce a text to its letters and digits.

    >>> letters("&lt;c1&gt;\nVER**DICT**: ｍet")
    'c1verdictmet'
    """
    if "&" in text:
        import html  # its table of entities takes 2 ms to load

        text = html.unescape(text)
    if "\\" in text:
        text = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else " ", text)
    if text.isascii():
        return text.encode().translate(_LOWER, _DELETED).decode()
    bare = _SIGNS.sub("", text)
    if not unicodedata.is_normalized("NFKC", bare):
        bare = _SIGNS.sub("", unicodedata.normalize("NFKC", bare))
    if _FOREIGN.search(bare):
        bare = bare.translate(_LOOKALIKES)
    return bare.casefold()
