"""Blocks ``<c1> … </c1>`` of replies: the constraints of a checklist, answers on constraints."""

from __future__ import annotations

import re
from typing import NamedTuple

from heedful.judges.prompts.base import answer

__all__ = ["tagged"]

_OPEN = re.compile(r"^[ \t*]*<\s*[cC](\d{1,6})\s*>[ \t*]*", re.MULTILINE)
TAG = re.compile(r"[<＜]\s*[cC]\d{1,6}\s*[>＞]")
_CLOSE = re.compile(r"(?:\n|(?<![ \t*]))[ \t*]*+<\s*/\s*[cC]\d{1,6}\s*>[ \t*]*$", re.MULTILINE)


class _TaggedBlock(NamedTuple):
    """What stands behind an opening tag, up to the next one."""

    number: int
    text: str
    ends: list[int]

    @property
    def words(self) -> str:
        """Those of the block itself, from the last opening tag, wherever that stands."""
        inside = f"<c{self.number}>{self.text[: self.ends[0]] if self.ends else self.text}"
        return inside[max(tag.start() for tag in TAG.finditer(inside)) :]


def tagged(reply: str) -> list[_TaggedBlock]:
    """Read a reply's blocks; prose around them, reasoning and code fences are read through."""
    text = answer(reply)
    openings = list(_OPEN.finditer(text))
    stops = [*(opening.start() for opening in openings[1:]), len(text)]
    blocks = []
    for opening, stop in zip(openings, stops, strict=False):  # without an opening there is one stop
        inside = text[opening.end() : stop]
        ends = [closing.start() for closing in _CLOSE.finditer(inside)]
        blocks.append(_TaggedBlock(int(opening[1]), inside, ends))
    return blocks
