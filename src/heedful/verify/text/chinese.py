"""Chinese: where a phrase surely stands as words and may not only cross them; verses.

Chinese has no spaces: 北京 in 东北京剧 is the end of a word and the beginning of another. An
occurrence is in doubt where a letter of it makes a common word with the letter beside it.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from heedful.core import scripts

LETTERS = f"{scripts.HAN}々〇"
"""Chinese letters, for use inside the brackets of a regular expression."""

_LETTER = re.compile(f"[{LETTERS}]")
_ENDS_WORDS = "的们"
"""Of the letters beside a phrase, those that hardly make another word with its own."""

_FUNCTIONAL = frozenset(
    "的了着过吗呢吧啊是不在有和与就也都很还又再会要能可一这那我你他她它个没么而且但以之其为被把"
    "对从向到给让将地得所上下中里后前年月日时人大小多少最更"
)
"""Letters that go with most others: a phrase that begins or ends with one may be no word."""
_FOLLOWS = frozenset("的了")
"""Letters that follow any word: 目的 in 项目的特色, 的话 in 他说的话."""


@cache
def _words() -> frozenset[str]:
    text = resources.files(__package__).joinpath("chinese_words.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def stands_alone(text: str, start: int, end: int) -> bool:
    """Check whether a phrase of Chinese letters surely stands as words at a place.

    >>> text = "东北京剧和北京烤鸭"
    >>> stands_alone(text, 1, 3), stands_alone(text, 5, 7)
    (False, True)
    """
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    inside = [bool(_LETTER.match(sign)) and sign not in _ENDS_WORDS for sign in (before, after)]
    if not any(inside):
        return True
    first, last = text[start], text[end - 1]
    words = _words()
    if (inside[0] and before + first in words) or (inside[1] and last + after in words):
        return False
    if inside[0] and {first, last} & _FOLLOWS:
        return False
    return text[start:end] in words or not {first, last} & _FUNCTIONAL


# --- poems: 句 may be a verse, which a comma ends ------------------------------------------------

_BETWEEN = re.compile("[，。！？；、,.!?;\n]+")
_FEWEST = 4
_LENGTHS = (5, 7)
"""字 in a verse of the classical forms, which a text shows without saying so."""
_LONGEST_POEM = 1000


def verses(text: str) -> int | None:
    """Count the verses of a text that is a poem of five or seven 字 a verse; else ``None``."""
    if len(text) > _LONGEST_POEM or not scripts.HAN_CHARACTER.search(text):
        return None
    lengths = [len(scripts.HAN_CHARACTER.findall(piece)) for piece in _BETWEEN.split(text)]
    lengths = [length for length in lengths if length]
    is_poem = len(lengths) >= _FEWEST and len(set(lengths)) == 1 and lengths[0] in _LENGTHS
    return len(lengths) if is_poem else None
