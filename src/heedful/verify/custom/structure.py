"""Verifiers of length, structure and repetition for users' own constraints, and their conjunction.

Each decides only what comes out the same under every reading of the constraint; where readings
disagree it raises :class:`~heedful.core.errors.UndecidedError`, and the constraint has no verdict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.errors import UndecidedError
from heedful.core.nouns import Check  # noqa: TC001 - pydantic reads annotations at run time
from heedful.verify import base
from heedful.verify.base import Finding, verifier
from heedful.verify.custom.counting import (
    UNITS,
    CountRange,
    Unit,
    amounts,
    count_units,
    within,
)
from heedful.verify.custom.parts import (
    Decision,
    Outcome,
    Part,
    Which,
    bounds,
    decide,
    in_part,
    judged,
)

if TYPE_CHECKING:
    from heedful.verify.text.layout import Layout
    from heedful.verify.text.prepared import Response


# --- counts -------------------------------------------------------------------------------------


def _describe_count(
    unit: Unit, at_least: int | None, at_most: int | None, part: Part, which: Which
) -> str:
    if at_most == 0:
        return f"Write no {UNITS[unit].several}{in_part(part, which)}."
    number = at_most if at_most is not None else at_least
    noun = UNITS[unit].one if number == 1 else UNITS[unit].several
    return f"Write {bounds(at_least, at_most)} {noun}{in_part(part, which)}."


@verifier("heedful:count", describe=_describe_count)
def count(
    response: Response,
    *,
    unit: Unit,
    at_least: int | None = None,
    at_most: int | None = None,
    part: Part = "response",
    which: Which = "each",
) -> Finding:
    """There are enough of a unit, and not too many, in the response or a part of it.

    Of a passage that code cannot find, only the length of the whole response is known, and it is
    no longer than that: so too short a response is unmet, a short enough one is met, and all else
    is not decided.
    """
    required = bounds(at_least, at_most)

    def test(layout: Layout) -> Decision:
        count = count_units(layout, unit)
        if count is None:
            return None, "its script does not part words by spaces"
        words = f"{amounts(count, unit)}, asked for {required}"
        if part == "passage":
            outcome = _of_passage(count, at_least, at_most)
            return outcome, f"{words}, perhaps of a part only" if outcome is None else words
        outcome = within(count, at_least, at_most)
        if outcome is None and unit == "lines" and layout.has_lines_alone:
            # Its first line may be a title to some, but not if so many lines are asked for.
            outcome = within(CountRange(count.high, count.high), at_least, at_most) or None
        return outcome, words

    return decide(*judged(response.layout, part, which, test))


def _of_passage(count: CountRange, at_least: int | None, at_most: int | None) -> Outcome:
    if count.high < (at_least or 0):
        return False
    short_enough = at_least is None and at_most is not None and count.high <= at_most
    return True if short_enough else None


# --- several checks as one ----------------------------------------------------------------------


@verifier("heedful:all", describe=lambda checks: " ".join(map(base.describe, checks)))
def all_of(response: Response, *, checks: list[Check]) -> Finding:
    """All of the checks are met."""
    outcomes = [_outcome(response, each) for each in checks]
    unmet = [reason for outcome, reason in outcomes if outcome is False]
    if unmet:
        return Finding(met=False, found="; ".join(unmet))
    undecided = [reason for outcome, reason in outcomes if outcome is None]
    if undecided:
        return decide(None, "; ".join(undecided))
    return Finding(met=True, found="; ".join(reason for _, reason in outcomes))


def _describe_readings(checks: list[Check]) -> str:
    return " Or: ".join(map(base.describe, checks))


@verifier("heedful:either_reading", describe=_describe_readings)
def either_reading(response: Response, *, checks: list[Check]) -> Finding:
    """Of checks that are readings of one constraint, all are met or none is.

    "Contain three links" may mean exactly or at least three: a fourth leaves it undecided.
    """
    outcomes = [_outcome(response, each) for each in checks]
    first, reason = outcomes[0]
    if any(outcome is not first for outcome, _ in outcomes):
        return decide(None, "; ".join(dict.fromkeys(reason for _, reason in outcomes)))
    return decide(first, reason)


def _outcome(response: Response, check: Check) -> Decision:
    try:
        finding = base.check(check, response)
    except UndecidedError as error:
        return None, error.what.removeprefix("cannot be decided by code: ")
    return finding.met, finding.found
