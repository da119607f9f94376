"""Sentences of any script, as users mean them: at Chinese and Japanese stops, or as Punkt says."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from heedful.core import scripts
from heedful.verify.text.abbreviations import ABBREVIATION, COMPANY, stays_open
from heedful.verify.text.english import splitter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_HAN_OR_KANA = re.compile(f"[{scripts.KANA}{scripts.HAN}]")
_CLOSERS = "”’»」』）)\"'】》"
_PICTURE = f"[{scripts.PICTOGRAPHS}]"
# A picture behind the stop belongs to the sentence before it.
_END = re.compile(rf"(?:[。！？!?]+|…+)[{re.escape(_CLOSERS)}]*(?:\s*{_PICTURE}+)?")
_OTHER_STOPS = "।॥؟۔።։။"
"""Full stops and question marks of other scripts (Devanagari, Arabic, Urdu, Ethiopic, …)."""
_TERMINATED = re.compile(
    rf"[。！？!?.…~～{_OTHER_STOPS}](?:[{re.escape(_CLOSERS)}\s*]|{_PICTURE})*$"
)
_AFTER_OTHER_STOP = re.compile(rf"(?<=[{_OTHER_STOPS}])\s+")
# The number of a list item isn't a sentence, whatever it ends with.
_LIST_MARKER = re.compile(r"\(?\d{1,3}(?:\.\d{1,3})*[.)](?:\s+|$)|\d{1,3}(?:[、．]|\.(?!\d)\s*)")
_NUMERAL = r"(?:\d{1,3}(?:\.\d{1,3})*|[IVXivx]{1,5}|[A-Za-z])"
_LONE_MARKER = re.compile(rf"\(?{_NUMERAL}[.)]")
_QUOTED_STOP = re.compile(rf"[.!?…]\s?[{re.escape(_CLOSERS)}]+$")
_COMPANY = re.compile(COMPANY)
# Where there is none of these, all sentences are the same in either reading.
_INSIDE = re.compile(
    rf"…|[。！？!?.][{re.escape(_CLOSERS)}]|[!?]\s+(?:{COMPANY}|[^\w\s]*[^\WA-Z\d_])"
    rf"|\s\(?{_NUMERAL}[.)]\s|{ABBREVIATION}"
)


def sentences(text: str) -> list[str]:
    """Split a text into sentences, Chinese and Japanese at their stops, others by Punkt's rules.

    A list's numbers belong to none.

    >>> sentences("It rains. 下雨了！真的吗？")
    ['It rains. 下雨了！', '真的吗？']
    """
    return list(_split(text, finished=False))


def readings(text: str) -> tuple[list[str], list[str]]:
    """Split a text into sentences: finished ones alone, and with unfinished lines."""
    loose = sentences(text)
    if _INSIDE.search(text):
        return list(_split(text, finished=True)), loose
    return [each for each in loose if _TERMINATED.search(each)], loose


def _split(text: str, *, finished: bool) -> Iterator[str]:
    """Split line by line.

    Args:
        text: without Markdown's marks.
        finished: leave out what does not end as a sentence does, and take a quotation together
            with the sentence around it.
    """
    for line in text.split("\n"):
        bare = line.strip()
        marker = _LIST_MARKER.match(bare)
        bare = bare[marker.end() :] if marker else bare
        if not bare:
            continue
        pieces = (
            _split_at_stops(bare, whole=finished)
            if _HAN_OR_KANA.search(bare)
            else _joined(splitter().split(bare), whole=finished)
        )
        for piece in pieces:
            if any(map(str.isalnum, piece)) and (not finished or _TERMINATED.search(piece)):
                yield piece


def _joined(pieces: Iterable[str], *, whole: bool) -> list[str]:
    """Put the pieces of one sentence together, such as ``"Stop!"`` and ``she cried.``.

    Args:
        pieces: as Punkt splits a line.
        whole: also those that may be one sentence or two.
    """
    parts = [part for piece in pieces for part in _AFTER_OTHER_STOP.split(piece)]
    joined = [parts[:1]]
    for at, (before, part) in enumerate(pairwise(parts)):
        numbered = at == 0 and _LONE_MARKER.fullmatch(before)
        if numbered or _goes_on(before, part, whole=whole):
            joined[-1].append(part)
        else:
            joined.append([part])
    return list(map(" ".join, joined))


def _goes_on(before: str, piece: str, *, whole: bool) -> bool:
    letter = next(filter(str.isalnum, piece), "")
    if _QUOTED_STOP.search(before):
        # After the quotation "Stop!" a capital may begin a sentence, or a name: Anna cried.
        return whole or letter.islower()
    if _LONE_MARKER.fullmatch(before):
        return whole
    if not whole:
        return False
    # A stop may belong to a name, such as Yahoo!, or to an abbreviation, such as Fig.
    name = before[-1] in "!?" and (letter.islower() or _COMPANY.match(piece) is not None)
    return name or stays_open(before, piece)


def _split_at_stops(line: str, *, whole: bool) -> Iterator[str]:
    start = 0
    for stop in _END.finditer(line):
        mark = stop[0]
        # A stop inside closing quotes, and an ellipsis, need not end the sentence around them.
        inside = mark[-1] in _CLOSERS or mark[0] == "…"
        if whole and inside and stop.end() < len(line):
            continue
        yield line[start : stop.end()]
        start = stop.end()
    if line[start:].strip():
        yield line[start:]
