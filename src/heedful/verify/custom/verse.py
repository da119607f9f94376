"""Verses of Chinese poems: what 句 means in "four 句 of seven 字 each", commas between them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heedful.core import scripts

if TYPE_CHECKING:
    from heedful.verify.text.layout import Layout

LONGEST = 10
"""字. A 句 of more, required exactly, may be a sentence of prose."""

_BETWEEN = re.compile("[，。！？；、,.!?;\n]+")
_ENDS = ("，", "。", "！", "？", "；", ",", ".", "!", "?", ";")
_FEWEST = 4
_LENGTHS = (5, 7)
"""字 in a verse of the classical forms, which a text shows without saying so."""


def verses(text: str) -> list[str]:
    """Split a text at commas, stops and line ends.

    >>> verses("春眠不觉晓，处处闻啼鸟。")
    ['春眠不觉晓', '处处闻啼鸟']
    """
    return [piece.strip() for piece in _BETWEEN.split(text) if scripts.HAN_CHARACTER.search(piece)]


def verse_readings(layout: Layout) -> list[list[str]]:
    """Find the verses: of all but a title, and of the lines that end as verses do.

    Where they differ in length the text may be prose, and its sentences are another reading.
    """
    pieces = verses(layout.core)
    ended = [line for line in layout.core.split("\n") if line.rstrip().endswith(_ENDS)]
    readings = [pieces, verses("\n".join(ended)) or pieces]
    if len(set(map(_length, readings[1]))) > 1:
        readings += layout.sentence_readings
    return readings


def classical(layout: Layout) -> int | None:
    """Count the verses of a text that is a poem of five or seven 字 a verse; else ``None``."""
    if len(layout.text) > 1000 or not scripts.HAN_CHARACTER.search(layout.text):  # noqa: PLR2004 - no poem is longer
        return None
    pieces = verse_readings(layout)[1]
    lengths = set(map(_length, pieces))
    is_poem = len(pieces) >= _FEWEST and len(lengths) == 1 and lengths <= {*_LENGTHS}
    return len(pieces) if is_poem else None


def _length(verse: str) -> int:
    return len(scripts.HAN_CHARACTER.findall(verse))
