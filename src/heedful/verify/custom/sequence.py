"""Verifiers of order: which phrase comes first, how items are numbered, what parts paragraphs."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from heedful.verify.base import Finding, amount, quoted, verifier
from heedful.verify.custom.parts import Outcome, decide
from heedful.verify.custom.phrases import folded, places
from heedful.verify.text.layout import unmarked
from heedful.verify.text.numbers import may_be_number
from heedful.verify.text.prepared import Response  # noqa: TC001 - read at run time


@verifier(
    "heedful:order",
    describe=lambda phrases: f"Of {quoted(phrases)}, let each stand before the next.",
)
def order(response: Response, *, phrases: list[str]) -> Finding:
    """Each of the phrases stands before the next one."""
    spans = [places(response.layout, phrase) for phrase in phrases]
    missing = [phrase for phrase, (_, maybe) in zip(phrases, spans, strict=True) if not maybe]
    outcomes = [_before(*earlier, *later) for earlier, later in pairwise(spans)]
    reason = "as asked for"
    if missing:
        reason = f"not used: {quoted(missing)}"
    elif False in outcomes:
        at = outcomes.index(False)
        reason = f"'{phrases[at + 1]}' stands before '{phrases[at]}'"
    elif None in outcomes:
        reason = "they alternate, or stand there in another form"
    return decide(False if False in outcomes else None if None in outcomes else True, reason)


def _before(sure: list[int], maybe: list[int], later: list[int], later_maybe: list[int]) -> Outcome:
    """Say whether one phrase stands before another, by their sure and their possible places."""
    if not maybe:
        return False if later else None
    if not later_maybe:
        return None
    if sure and later and max(maybe) < min(later_maybe):
        return True
    return False if later and min(later) < min(maybe) else None


# --- headings -----------------------------------------------------------------------------------

_AROUND_HEADING = re.compile(r"^[\W\d_]+|[\W_]+$")


@verifier(
    "heedful:headed",
    describe=lambda phrases: f"Write sections with the headings {quoted(phrases)}.",
)
def headed(response: Response, *, phrases: list[str]) -> Finding:
    """Each of the phrases is a heading."""
    marked = {
        _AROUND_HEADING.sub("", folded(unmarked(line.text)))
        for line in response.layout.lines
        if line.kind == "heading"
    }
    text = folded(response.layout.plain)
    wanted = {phrase: _AROUND_HEADING.sub("", folded(phrase)) for phrase in phrases}
    absent = [phrase for phrase, form in wanted.items() if form not in text]
    unsure = [phrase for phrase, form in wanted.items() if form not in marked]
    if absent:
        return Finding(met=False, found=f"not there: {quoted(absent)}")
    return decide(None if unsure else True, f"no heading: {quoted(unsure)}" if unsure else "all")


# --- numbering ------------------------------------------------------------------------------------

_NUMBERED = re.compile(r"[(（]?(\d{1,4})(?:\s*[.)、．）:：]|\s)")


_LABELLED = re.compile(r"\W{0,5}[^\W\d]{1,20}\W{1,3}\d")


@verifier("heedful:numbered", describe="Number the items from {first} to {last}, in order.")
def numbered(response: Response, *, first: int, last: int) -> Finding:
    """Lines are numbered, each with the next number, from the first number to the last."""
    lines = [unmarked(line).strip() for line in response.text.split("\n")]
    numbers = [int(match[1]) for line in lines if (match := _NUMBERED.match(line))]
    wanted = list(range(first, last + 1))
    reason = f"numbered {', '.join(map(str, numbers[:20]))}" if numbers else "no line is numbered"
    if numbers == wanted:
        return Finding(met=True, found=reason)
    others = any(
        may_be_number(line) or _LABELLED.match(line) for line in lines if not _NUMBERED.match(line)
    )
    rest = iter(numbers)
    within = all(number in rest for number in wanted)
    return decide(None if within or others else False, reason)


# --- between paragraphs -------------------------------------------------------------------------

_SENTENCE_END = re.compile("[.!?。！？…][\"'”’」』）)*_]*$")


@verifier("heedful:separated", describe="Separate paragraphs with {mark} lines.")
def separated(response: Response, *, mark: str = "blank") -> Finding:
    """Paragraphs are parted by blank lines, or by lines that hold a mark and nothing else."""
    lines = [line.strip() for line in response.text.strip().split("\n")]
    if mark != "blank":
        return decide(*_parted_by(lines, mark))
    written = [line for line in lines if line]
    if len(written) < 2:  # noqa: PLR2004 - nothing to part
        return decide(None, "there is one line")
    blank = len(lines) - len(written)
    together = [pair for pair in pairwise(lines) if all(pair)]
    if not together:
        return Finding(met=True, found=amount(blank, "blank line"))
    ended = all(_SENTENCE_END.search(line) for line in written)
    return decide(False if ended and not blank else None, amount(blank, "blank line"))


def _parted_by(lines: list[str], mark: str) -> tuple[Outcome, str]:
    pieces: list[list[str]] = [[]]
    for line in lines:
        if line == mark:
            pieces.append([])
        elif line:
            pieces[-1].append(line)
    reason = amount(len(pieces) - 1, f"line of '{mark}'")
    if not any(unicodedata.normalize("NFKC", mark) in line for line in lines):
        return (False if sum(map(len, pieces)) > 1 else None), reason
    sure = len(pieces) > 1 and all(len(piece) == 1 for piece in pieces)
    return (True if sure else None), reason
