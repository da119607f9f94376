r"""CFBench's reply: ``criterion<TAB>0|1`` for each criterion, in order, a blank line between.

Source: the judge's prompt and parser in CFBench's public code (arXiv 2408.01122, appendix).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from heedful.schema import Constraint, Judgment, Status
from heedful.wires.base import undecided, unix_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["faithful_scores", "parse"]


def parse(text: str, constraints: Sequence[Constraint]) -> list[Judgment]:
    """Read a reply strictly: all constraints are decided, or none.

    What the published strict parse accepts is accepted. Ours beyond it: Windows line ends, line
    ends around the reply, and criteria that hold a blank line or a tab themselves; all of these
    leave one reading only, since the criteria are known.

    Args:
        text: the judge's reply.
        constraints: the criteria that it was asked about.

    Returns:
        A judgment for each constraint.
    """
    reply = unix_lines(text).strip("\n")
    criteria = [unix_lines(constraint.text) for constraint in constraints]
    pattern = r"\n\n".join(re.escape(criterion) + r"\t([^\t\n]*)\n?" for criterion in criteria)
    match = re.fullmatch(pattern, reply)
    values = [_value(group) for group in match.groups()] if match else []
    if not criteria or not match or None in values:
        return undecided(constraints, _reason(reply, criteria))
    statuses = [Status.MET if value == 1 else Status.UNMET for value in values]
    return [Judgment(status=status) for status in statuses]


def faithful_scores(
    text: str, criteria: Sequence[str]
) -> tuple[list[float], Literal["1", "0", "-1"]]:
    r"""Compute the scores that the published code computes, its fallback's quirk included.

    The strict parse takes as many blocks (split at ``"\n\n"``) as there are criteria, each with
    exactly one tab, the criterion word for word before it and 0 or 1 behind it. When it fails,
    lines with exactly one tab count if their value is 1: the fallback drops zeros.

    A value that is no number stops the published code with an error; here it is not kept.

    Returns:
        The scores, and the published ``judge_parsing``: ``"1"`` strict, ``"0"`` fallback, ``"-1"``
        neither (the scores are then ``[0.0]``).
    """
    blocks = [block.split("\t") for block in text.split("\n\n")]
    values = [_value(block[1]) for block in blocks if len(block) == 2]  # noqa: PLR2004 - one tab
    strict = [value for value in values if value is not None]
    if strict and len(strict) == len(blocks) and [block[0] for block in blocks] == list(criteria):
        return strict, "1"
    lines = [line.split("\t") for line in text.split("\n")]
    kept = [1.0 for line in lines if len(line) == 2 and _value(line[1]) == 1]  # noqa: PLR2004
    return (kept, "0") if kept else ([0.0], "-1")


def _value(word: str) -> float | None:
    """Return 0 or 1, or ``None`` for what is neither."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if value in (0, 1) else None


def _reason(reply: str, criteria: list[str]) -> str:
    """Say what is wrong with a reply that does not parse."""
    if not reply.strip():
        return "the reply is empty"
    blocks = reply.split("\n\n")
    if len(blocks) != len(criteria):
        return f"{len(blocks)} lines for {len(criteria)} criteria"
    for number, (block, criterion) in enumerate(zip(blocks, criteria, strict=True), start=1):
        head, tab, value = block.rpartition("\t")
        if not tab:
            return f"line {number} has no tab between criterion and verdict"
        if head != criterion:
            return f"line {number} does not repeat its criterion word for word"
        if _value(value) is None:
            return f"line {number} ends in {value.strip()[:40]!r}, not in 0 or 1"
    return "the reply cannot be divided by the criteria"
