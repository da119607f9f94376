r"""Passages of a solution: its boxes, its formulas, its sentences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from heedful.core.delimited import delimited

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from heedful.core.delimited import Passage

MATH = {"$$": "$$", r"\[": r"\]", "$": "$", r"\(": r"\)"}
"""Marks around formulas, with what closes each."""

_DISPLAYS = {"$$", r"\["}
_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*")
_JOINT = re.compile(
    r"""(?:[\s,;.$&]|\\(?:quad|qquad)(?![a-zA-Z])|\\[,;:()\[\]]|(?:and|or)(?![a-zA-Z])|[或和、，]
    |\\(?:text|mathrm)\{[^{}]*(?:\b(?:and|or)\b|,|[或和])[^{}]*\}|[a-zA-Z](?:_\{?\w+\}?)?\s*=)*+""",
    re.VERBOSE,
)
"""Text that may stand between boxes or formulas that hold one answer in pieces."""

_COORDINATED = re.compile(
    r"(?!.*\b(?:so|thus|then|hence|therefore|gives|which)\b)[^.=\d\n]{0,60}?\band\b[^.=\d\n]{0,60}"
)
"""Words that may stand between the two boxes of one sentence."""

_PROSE = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{2,}[ ,]+[a-zA-Z]+[ ,]")
_SENTENCE_END = re.compile(
    r"(?<![ap]\.m)\.(?=\s|$|\*)|(?<=[a-zA-Z])!(?=\s|$)|[?？！。\n]|(?<=\$\$)\s+(?=[A-Z])|(?<=\\\])\s+(?=[A-Z])"
)


class Box(NamedTuple):
    """A box: where it starts and ends, and what it holds."""

    start: int
    end: int
    content: str


def boxed(text: str) -> Iterator[Box]:
    r"""Give each ``\boxed{…}`` or ``\fbox{…}`` that holds something and isn't inside another.

    Braces are balanced; ``\{`` and ``\}`` do not count. A box that never closes is left out.
    """
    at = 0
    while match := _BOX.search(text, at):
        at = match.end()
        if at < len(text) and text[at] != "{":  # \boxed 5
            word = re.match(r"[^\s{}$.,;]+", text[at:])
            if word:
                yield Box(match.start(), at + word.end(), word.group())
            continue
        end = _closing(text, at)
        if end is not None:
            content = text[at + 1 : end].strip()
            at = end + 1
            if content:
                yield Box(match.start(), at, content)


def _closing(text: str, opening: int) -> int | None:
    """Return the place of the brace that closes the one at ``opening``."""
    depth = 0
    place = opening
    while place < len(text):
        character = text[place]
        if character == "\\":
            place += 1
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if not depth:
                return place
        place += 1
    return None


def last_boxed(text: str) -> str | None:
    r"""Return what the last box holds, or ``None`` where there is no box.

    Boxes with nothing but ``and``, ``or`` or a comma between them are one answer in pieces and are
    joined by commas: ``\boxed{3} and \boxed{7}`` is ``3, 7``.
    """
    boxes = list(boxed(text)) if "box" in text else []
    if not boxes:
        return None
    pieces = [boxes[-1]]
    for box in reversed(boxes[:-1]):
        between = text[box.end : pieces[0].start]
        if not (_JOINT.fullmatch(between) or _COORDINATED.fullmatch(between)):
            break
        pieces.insert(0, box)
    return ", ".join(dict.fromkeys(piece.content for piece in pieces))


def formulas_of(text: str) -> list[Passage]:
    """Return the formulas of a text; what stands between two sums of dollars isn't one."""
    return [
        each
        for each in delimited(text, MATH)
        if "**" not in each.content
        and (text.startswith(("$$", "\\"), each.start) or not _PROSE.search(each.content + " "))
    ]


def on_one_line(text: str) -> str:
    r"""Write each displayed formula on one line, and on that of the words that lead to it.

    A stop at a formula's end is moved behind it, so that it ends the sentence.

    >>> on_one_line("The answer is:\n\n\\[\nx = 3.\n\\]\nDone.")
    'The answer is: \\[x = 3\\].\nDone.'
    """
    pieces, at = [], 0
    for each in formulas_of(text):
        mark = next(mark for mark in MATH if text.startswith(mark, each.start))
        before = text[at : each.start]
        content = each.content.strip()
        stop = content[-1:] if content[-1:] in {".", ",", ";"} and content[-2:-1] != "\\" else ""
        at = formula_end(text, each) + len(mark)
        content = content.removesuffix(stop)
        if mark in _DISPLAYS:
            lead = before.rstrip()
            if lead[-1:].isalpha() or lead[-1:] in {":", "：", ","}:
                before = f"{lead} "
            content = " ".join(content.split())
        space = " " if (stop or mark in _DISPLAYS) and text[at : at + 1].isalpha() else ""
        pieces += [before, mark, content, MATH[mark], stop, space]
    return "".join(pieces) + text[at:]


def formula_end(text: str, formula: Passage) -> int:
    """Return where a formula's content ends."""
    return text.index(formula.content, formula.start) + len(formula.content)


def joined(text: str, formulas: Sequence[Passage]) -> str:
    """Return the first of some formulas, with those that only ``and`` separates from it."""
    pieces = [formulas[0]]
    for formula in formulas[1:]:
        if not _JOINT.fullmatch(text[formula_end(text, pieces[-1]) : formula.start]):
            break
        pieces.append(formula)
    return ", ".join(piece.content.strip() for piece in pieces)


def sentences(text: str) -> list[str]:
    """Split a text at full stops and line ends that aren't in a formula."""
    inside = [(each.start, formula_end(text, each)) for each in formulas_of(text)]
    found, start, at = [], 0, 0
    for match in _SENTENCE_END.finditer(text):
        while at < len(inside) and inside[at][1] <= match.end():
            at += 1
        if at < len(inside) and inside[at][0] <= match.end() < inside[at][1]:
            continue
        found.append(text[start : match.end()])
        start = match.end()
    found.append(text[start:])
    return [each for each in found if each.strip()]


def first_sentence(text: str) -> str:
    """Return what stands before the first sentence end, formulas or not."""
    end = _SENTENCE_END.search(text)
    return text[: end.start()] if end else text
