r"""Boxes: what a solution puts into its last ``\boxed{}``, with what belongs to it."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from heedful.bench.grading.numerals import are_one_number
from heedful.bench.grading.prose import JOINT, formula_end, formulas_of, without_remarks
from heedful.bench.grading.units import SAID_UNIT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*")
_RELATION = re.compile(
    r"\\(?:approx|equiv|Rightarrow|implies|to|therefore|in|[qQ]?quad|colon)(?![a-zA-Z])|\\\\|[=&]"
    r"|\\[a-z]*arrow(?![a-z])|\\text\{[^{}]*\}"
)
_BOUND = re.compile(r"(?:[<>≤≥≠]|\\(?:le|ge|leq|geq|leqslant|geqslant|lt|gt|ne|neq)(?![a-z]))\s*$")
_IDLE = re.compile(
    r"\\[,;:! ]|\\(?:left|right|displaystyle|bf|rm|begin\{\w+\*?\}|end\{\w+\*?\})(?![a-zA-Z])"
    r"|\\\$|[\s.,;~$]"
)
_FACTOR_BEFORE = re.compile(r"(?:[-−+*/^({\d)}]|\\(?:cdot|times|pm|sqrt|pi|mp))$")
_FACTOR_AFTER = re.compile(
    r"\\(?:sqrt|pi|times|cdot|frac|pm|%|ln|log|sin|cos)(?![a-zA-Z])|[-−+*/^!:%)}\d]|[a-z](?![a-z])"
)
_SCALE = re.compile(
    r"(?:[\s$~,]|\\[,;!() ])*+(?:\\(?:text|mathrm)\{)?\s*+(?P<scale>and\s+a\s+half|[万亿]"
    r"|(?:dozen|hundred|thousand|million|billion|trillion)(?![a-z]))"
)
_DRESSING = re.compile(r"\\(?:text|mathrm)\{([^{}]*)\}|\\[,;:!()\[\] ]|\$")
_AND = re.compile(r"[\s,]*(?:and)?[\s,]*")
_COORDINATED = re.compile(r"\b(?:and|or)\b|[和或及、，,]")
_STEP = re.compile(
    r"""[.!?;](?:\s|$)|[\n。！？；=]|→|⇒|\\(?:Right|right)arrow
    |\b(?:so|thus|hence|therefore|then|but|not|wait|actually|instead|gives?|giving|which|because|since
    |implies|means|yields?|becomes|where|from|minus|plus|times|total|sum|too|than|when|if|for)\b
    |所以|因此|故|得|即|共|而""",
    re.IGNORECASE | re.VERBOSE,
)
_PART = re.compile(
    r"(?<![a-zA-Z)])(?:\((?P<letter>[a-h])\)|(?i:part|case|question)\s*\(?(?P<part>[a-h]|[1-9])\)?(?!\w))"
)
_NUMBERED = re.compile(r"[\s.,;]*(?:\((?:[a-h]|[ivx]{1,4}|\d)\)|\d[.)])\s*")
_LONGEST_JOINT = 160
"""Characters between two boxes of one sentence."""


class Box(NamedTuple):
    """A box: where it starts and ends, and what it holds."""

    start: int
    end: int
    content: str


def boxed(text: str) -> Iterator[Box]:
    r"""Give each ``\boxed{…}`` or ``\fbox{…}``: where it starts and ends, and what it holds.

    Braces are balanced; ``\{`` and ``\}`` do not count. A box that never closes is left out, and
    so are boxes inside a box.
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
            yield Box(match.start(), end + 1, text[at + 1 : end].strip())
            at = end + 1


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
    joined by commas: ``\boxed{3} and \boxed{7}`` is ``3, 7``. Empty boxes are passed over.
    """
    boxes = [box for box in boxed(text) if box.content]
    if not boxes:
        return None
    pieces = [boxes[-1]]
    for box in reversed(boxes[:-1]):
        if not JOINT.fullmatch(text[box.end : pieces[0].start]):
            break
        pieces.insert(0, box)
    contents = list(dict.fromkeys(piece.content for piece in pieces))
    minus = len(contents) == 1 and re.search(r"(?:^|[=($\s])[-−]$", text[: pieces[0].start][-2:])
    return f"-{contents[0]}" if minus else ", ".join(contents)


def boxed_answer(text: str) -> str | None:
    r"""Return the answer that a solution's last box is, or is a part of.

    To :func:`last_boxed` belong the factors and units beside the box (``\boxed{3}\sqrt{2}``,
    ``\boxed{5}`` million) and the other boxes of its sentence (``Tom has \boxed{5} and Jerry has
    \boxed{7}``) or of other parts (``(a) \boxed{3} (b) \boxed{7}``). ``None`` where there is no
    box, or blanks are filled (``x^2 + \boxed{3}x``).
    """
    boxes = [box for box in boxed(text) if box.content]
    if not boxes:
        return None
    around = _formula_around(text, boxes)
    if around is not None:
        return around or None
    scale = _SCALE.match(text, boxes[-1].end)
    if scale:
        return f"{boxes[-1].content} {scale['scale']}"
    return _in_two_units(text, boxes) or _of_parts(text, boxes) or last_boxed(text)


def _formula_around(text: str, boxes: Sequence[Box]) -> str | None:
    """Return the side of an equation that the last box is a factor of."""
    last = boxes[-1]
    for formula in reversed(formulas_of(text)):
        end = formula_end(text, formula)
        start = end - len(formula.content)
        if start <= last.start and last.end <= end:
            break
    else:
        return None
    inside = [box for box in boxes if start <= box.start and box.end <= end]
    before = text[start : last.start]
    if _BOUND.search(_IDLE.sub("", before)):
        return ""
    left = max((m.end() for m in _RELATION.finditer(text, start, last.start)), default=start)
    right = next((m.start() for m in _RELATION.finditer(text, last.end, end)), end)
    inside = [box for box in inside if box.start >= left]
    sides = text[left : inside[0].start], text[last.end : right]
    outer = [_IDLE.sub("", side) for side in sides]
    pairs = pairwise(inside)
    apart = all(JOINT.fullmatch(text[one.end : other.start]) for one, other in pairs)
    if apart and not (_FACTOR_BEFORE.search(outer[0]) or _FACTOR_AFTER.match(outer[1])):
        return None
    if text.startswith("=", right) and right < end:
        return ""
    return _unwrapped(text, inside, *sides)


def _unwrapped(text: str, boxes: Sequence[Box], before: str, after: str) -> str:
    """Write a formula without its boxes; ``""`` where these are blanks in it."""
    pieces = [before]
    for box, following in zip(boxes, (*boxes[1:], None), strict=True):
        pieces += [box.content, text[box.end : following.start] if following else after]
    outside = "".join(pieces[::2])
    whole = "".join(pieces).strip(" .,;$")
    digits = any(left[-1:].isdigit() and right[:1].isdigit() for left, right in pairwise(pieces))
    blanks = len(boxes) > 1 and re.search(r"(?<![a-zA-Z\\])[a-zA-Z](?![a-zA-Z])", outside)
    counts = [len(re.findall(signs, whole)) for signs in (r"[(\[]", r"[)\]]", "{", "}")]
    open_ended = counts[0] != counts[1] or counts[2] != counts[3]
    return "" if digits or blanks or open_ended else whole


def _in_two_units(text: str, boxes: Sequence[Box]) -> str | None:
    r"""Write ``\boxed{12}`` hours and ``\boxed{30}`` minutes as one measure."""
    if len(boxes) == 1:
        return None
    first, second = boxes[-2:]
    between = _DRESSING.sub(r"\1", text[first.end : second.start])
    unit, later = (
        SAID_UNIT.match(between),
        SAID_UNIT.match(_DRESSING.sub(r"\1", text[second.end :])),
    )
    if unit is None or later is None or not _AND.fullmatch(between, unit.end()):
        return None
    return f"{first.content} {unit.group().strip()} and {second.content} {later.group().strip()}"


def _of_parts(text: str, boxes: Sequence[Box]) -> str | None:
    """Join the boxes that answer several parts of a question, or stand in one sentence."""
    labels = [_label(text[: box.start]) for box in boxes]
    if all(labels) and len(set(labels)) == len(boxes) > 1:
        return ", ".join(box.content for box in boxes)
    pieces = [boxes[-1]]
    for box in reversed(boxes[:-1]):
        between = without_remarks("x" + _DRESSING.sub(r"\1", text[box.end : pieces[0].start]))[1:]
        if len(between) > _LONGEST_JOINT or not (
            JOINT.fullmatch(between)
            or _NUMBERED.fullmatch(between)
            or (_COORDINATED.search(between) and not _STEP.search(between))
        ):
            break
        pieces.insert(0, box)
    contents = list(dict.fromkeys(piece.content for piece in pieces))
    if are_one_number(contents):
        return contents[0]
    return ", ".join(contents) if len(contents) > 1 else None


def _label(text: str) -> str | None:
    """Return the last label of a part before a box: ``(b)``, ``Case 2``."""
    *_, label = [None, *_PART.finditer(text)]
    return label and (label["letter"] or label["part"])
