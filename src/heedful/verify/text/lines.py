"""Lines of a response and their kinds: headings, list items, rows of a table, code, prose."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LineKind = Literal[
    "blank", "heading", "bullet", "number", "table", "rule", "code", "aside", "prose"
]

FENCE = re.compile(r"\s*(?:```|~~~)")
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,}|={3,}|(?:[-*_]\s+){2,}[-*_])\s*")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+\S")
_BULLET = re.compile(r"(\s*)[-*+•·●○▪◦‣]\s+\S|(\s*)[•●▪◦‣]\S")
_NUMBER = re.compile(r"(\s*)(?:\*\*)?(?:\(?\d{1,3}[.)、．）](?!\d)|（\d{1,3}）|[①-⑳])")
# A picture, a comment, an address, a footnote, tags, or nothing that could be read out: beside a
# text rather than of it.
_ASIDE = re.compile(
    r"\s*(?:!\[[^\]\n]*\]\([^)\n]*\)|<!--.*|<img\b[^>]*>|<?(?:https?://|www\.)\S+"
    r"|\[\^?\d{1,3}\][\s:].*|[©®].*|&nbsp;|(?:#[^\W\d][\w-]*+\s*+)+|(?![`|])[\W_]+)\s*"
)
_ADDRESSED = ("http://", "https://", "www.")
# Most lines start with a letter and hold no sign that could make them anything else.
_PROSE = re.compile(r"[^\W\d][^|]*+\Z")
_TABLE = re.compile(r"\s*\|.*\|\s*|\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+")
# Lines that many take for headings although no mark says so.
HEADLIKE = re.compile(
    r"\s*(?:\d{1,3}[.)、]\s*)?(?:\*{2,3}[^*]+(?:\*[^*]+\*[^*]*)?\*{2,3}[:：]?|__[^_]+__[:：]?|\*[^*\s][^*]*\*"
    r"|【[^】]+】[:：]?|(?:第[一二三四五六七八九十\d]+[章节部分篇步]+|[一二三四五六七八九十]+、).{0,40})\s*"
    r"|\s*(?:(?:>|[-*+])\s*)?#(?:#{1,5}[^#\s].*|[^#\s][^#]*)|\s*(?:>|[-*+])\s*#{1,6}\s.*|\s*<h[1-6]\b.*"
)
_NUMERALS = frozenset("第一二三四五六七八九十")


@dataclass(frozen=True, slots=True)
class LayoutLine:
    """One line: its text, its kind and its depth (0 for the outermost)."""

    text: str
    kind: LineKind
    depth: int = 0


def kinds(lines: Iterable[str]) -> Iterator[LayoutLine]:
    """Say of what kind each line is; between fences all are code."""
    fenced = False
    for text in lines:
        if FENCE.match(text):
            fenced = not fenced
            yield LayoutLine(text, "code")
        elif fenced:
            yield LayoutLine(text, "code")
        else:
            yield _line(text)


def _line(text: str) -> LayoutLine:  # noqa: PLR0911 - one for each kind
    if not text or text.isspace():
        return LayoutLine(text, "blank")
    if _PROSE.match(text) and not text.startswith(_ADDRESSED):
        return LayoutLine(text, "prose")
    if _HEADING.match(text) or _RULE.fullmatch(text):
        return LayoutLine(text, "heading" if _HEADING.match(text) else "rule")
    if bullet := _BULLET.match(text):
        return LayoutLine(text, "bullet", len((bullet[1] or bullet[2] or "").expandtabs(4)))
    if number := _NUMBER.match(text):
        return LayoutLine(text, "number", len(number[1].expandtabs(4)))
    if _TABLE.fullmatch(text):
        return LayoutLine(text, "table")
    return LayoutLine(text, "aside" if _ASIDE.fullmatch(text) else "prose")


def headlike(line: LayoutLine) -> bool:
    """Check whether a line is a heading, or looks like one although no mark says so."""
    text = line.text
    if text[:1].isalpha() and text[0] not in _NUMERALS:
        return False
    return line.kind == "heading" or bool(HEADLIKE.fullmatch(text))
