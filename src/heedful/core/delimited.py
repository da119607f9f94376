"""Passages between an opening and a closing mark, found in time linear in the text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Ahead:
    """The next match of a pattern, from places in a text that only go forward.

    A text may open thousands of passages and close none. So where one closes is looked up once for
    all places before it, not from each opening.
    """

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._pattern = pattern
        self._text = text
        self._known_before = 0
        self._found: re.Match[str] | None = None

    def after(self, place: int) -> re.Match[str] | None:
        """Find the first match that starts at a place or after it."""
        if place >= self._known_before:
            self._found = self._pattern.search(self._text, place)
            self._known_before = (self._found.start() if self._found else len(self._text)) + 1
        return self._found


class Passage(NamedTuple):
    """Text between two marks, and the start of the opening one."""

    start: int
    content: str


def delimited(text: str, marks: Mapping[str, str]) -> Iterator[Passage]:
    """Find the passages between marks, from left to right; none is empty or inside another.

    >>> [each.content for each in delimited("f(x) = $x^2$, g = $$y$$", {"$$": "$$", "$": "$"})]
    ['x^2', 'y']
    """
    openings = re.compile("|".join(map(re.escape, marks)))
    ahead = {mark: Ahead(re.compile(re.escape(mark)), text) for mark in marks.values()}
    at = 0
    while opening := openings.search(text, at):
        at = opening.start() + 1
        closing_mark = marks[opening[0]]
        if len(closing_mark) == 1 and text.startswith(closing_mark, opening.end()):
            continue
        closing = ahead[closing_mark].after(opening.end() + 1)
        if closing:
            at = closing.end()
            yield Passage(opening.start(), text[opening.end() : closing.start()])
