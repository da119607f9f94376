"""Sentences of any script, as users mean them, in the narrowest and in the widest reading.

Benchmarks' own counts are another matter: :mod:`heedful.verify.text.sentences` has Punkt's.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from heedful.verify.text.boundaries import BEHIND, STOPS, Boundary, Style, boundaries, style_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TERMINATED = re.compile(rf"[{''.join(STOPS)}~～](?:{BEHIND}|[\s*])*+$")
# The number of a list item isn't a sentence, whatever it ends with.
_MARKER = re.compile(
    r"^(?:[•●▪◦‣·⁃○]\s*)?(?:\(?\d{1,3}(?:\.\d{1,3})*[.)](?:\s+|$)|\d{1,3}(?:[、．]|\.(?!\d)\s*)"
    r"|[a-zA-Z]\)\s+)?"
)
_INLINE_MARKER = re.compile(r"(?<!\S)(?:\(?(?P<value>\d{1,2}|[a-z])[.)]|[•●▪◦‣⁃])\s+(?=\S)")
# A line without any of these has such a marker at its start at most.
_MAY_BE_MARKED = re.compile(r"[.)•●▪◦‣⁃](?:(?<=[•●▪◦‣⁃])|(?:(?<=[\s(]\w.)|(?<=[\s(]\d\d.))\s)")
_LONGEST_CACHED = 1000
_WRAPPED = 40
"""Characters. A shorter line ends where its author ended it."""
_LETTER = re.compile(r"[^\W_]")


def readings(text: str) -> list[list[str]]:
    """Split a text into sentences, by each reading.

    >>> readings("1. It rains. 下雨了！真的")
    [['It rains.', '下雨了！'], ['It rains.', '下雨了！', '真的']]
    """
    lines, style = text.split("\n"), style_of(text)
    both = list(_split(lines, style))
    joined = _unwrapped(lines)
    return both if len(joined) == len(lines) else [*both, _split(joined, style)[0]]


def _unwrapped(lines: list[str]) -> list[str]:
    """Join long lines with those after them, if any goes on with a small letter."""
    long = [len(line) >= _WRAPPED for line in lines]
    if not any(long[at] and lines[at + 1][:1].islower() for at in range(len(lines) - 1)):
        return lines
    joined = [lines[:1]]
    for at, line in enumerate(lines[1:]):
        if long[at] and line.strip():
            joined[-1].append(line)
        else:
            joined.append([line])
    return list(map(" ".join, joined))


def _split(lines: Iterable[str], style: Style) -> tuple[list[str], list[str]]:
    """Split into the finished sentences that surely end, and into all that may end."""
    narrow: list[str] = []
    wide: list[str] = []
    for line in map(str.strip, lines):
        if line:
            split = _split_line if len(line) <= _LONGEST_CACHED else _split_line.__wrapped__
            finished, all_pieces = split(line, style)
            narrow += finished
            wide += all_pieces
    return narrow, wide


@lru_cache(maxsize=2048)  # the parts of a response are split after it, line by line
def _split_line(line: str, style: Style) -> tuple[list[str], list[str]]:
    places = _with_markers(line, list(boundaries(line, style)))
    pieces = all_pieces = list(_pieces(line, places))
    sure = [each for each in places if each.sure]
    if len(sure) < len(places):
        pieces = list(_pieces(line, sure))
    return list(filter(_TERMINATED.search, pieces)), all_pieces


def _with_markers(line: str, places: list[Boundary]) -> list[Boundary]:
    """Add the numbers of a list within the line, before which a sentence may end."""
    if not _MAY_BE_MARKED.search(line):
        return places
    markers = list(_INLINE_MARKER.finditer(line))
    values = [marker["value"] for marker in markers]
    if not any(map(_follows, values, values[1:])):
        return places
    inside = {at for marker in markers for at in range(marker.start() + 1, marker.end() + 1)}
    added = [Boundary(each.start(), each.start(), sure=False) for each in markers if each.start()]
    rest = [place for place in places if place.end not in inside]
    starts = {place.start for place in rest}
    return sorted([*rest, *(each for each in added if each.start not in starts)])


def _follows(first: str | None, second: str | None) -> bool:
    """Say whether a list's number comes after another; unnumbered ones always do."""
    if first is None or second is None:
        return first is second
    if first.isdigit() and second.isdigit():
        return int(second) == int(first) + 1
    return len(first + second) == 2 and ord(second) == ord(first) + 1  # noqa: PLR2004 - letters


def _pieces(line: str, places: list[Boundary]) -> Iterator[str]:
    """Cut a line at its boundaries, without pieces that have no letter or digit."""
    start = 0
    for place in [*places, Boundary(len(line), len(line), sure=True)]:
        piece = line[start : place.end].strip()
        if piece and (not piece[0].isalpha() or piece[1:2] == ")"):
            piece = _MARKER.sub("", piece, count=1)
        if _LETTER.search(piece):
            yield piece
        start = place.start
