"""Rows boiled down to what they can contribute to a rate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.nouns import Judgment, Status
from heedful.core.rubric import constraint_tags
from heedful.metrics.rates import Share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Constraint, Critique, Sample
    from heedful.metrics.rubrics import RubricOutcome


MET, UNMET, UNDECIDED = 0, 1, 2
"""States of a verdict, as positions in a :class:`VerdictCounts`."""

NOT_APPLICABLE = 4
"""State of a verdict that counts nowhere (3 is a missing turn, in :mod:`.gathering`)."""

_BITS = 20
_UNITS = (*(1 << _BITS * state for state in range(3)), 0, 0)
"""One verdict of each state in packed counts: three counts in one number, because it is quick to
add and to hash, and every verdict of a run passes here."""

# Looking a member up in its class is slow in Python 3.11.
_MET, _UNMET, _NA = Status.MET, Status.UNMET, Status.NOT_APPLICABLE

_NONE = Judgment(status=Status.UNPARSED)  # where a critique ends before its checklist does


class VerdictCounts(NamedTuple):
    """Verdicts by state."""

    met: int = 0
    unmet: int = 0
    undecided: int = 0

    @property
    def decided(self) -> int:
        """Verdicts that are met or unmet."""
        return self.met + self.unmet

    @property
    def total(self) -> int:
        """All verdicts."""
        return self.met + self.unmet + self.undecided

    def __add__(self, other: object) -> VerdictCounts:
        """Add up by state (a plain tuple would concatenate)."""
        if not isinstance(other, VerdictCounts):
            return NotImplemented
        return VerdictCounts(
            self.met + other.met, self.unmet + other.unmet, self.undecided + other.undecided
        )


class RowOutcome(NamedTuple):
    """Contributions of a row to all rates. Rows with equal outcomes are interchangeable.

    Attributes:
        primary: verdicts on constraints of primary priority.
        other: verdicts on all others.
        prioritised: whether the row has priorities at all.
        checked: verdicts on constraints that have a check.
        loose: the same under IFEval's loose reading; no loose verdict is an undecided one.
        benchmark: one that has rates of its own, else ``""``.
        of_judge: whether the row is a judge's verdict on one criterion of a response.
        declared: what families read from the critique's declaration, with their names.
        rubric: points of a rubric, ``None`` for a plain checklist.
        penalised: whether a criterion has a negative weight, so that to meet all of them isn't
            what was asked for.
    """

    primary: VerdictCounts
    other: VerdictCounts
    prioritised: bool = False
    checked: VerdictCounts = VerdictCounts()
    loose: VerdictCounts = VerdictCounts()
    benchmark: str = ""
    of_judge: bool = False
    declared: tuple[tuple[str, Any], ...] = ()
    rubric: RubricOutcome | None = None
    penalised: bool = False

    @property
    def verdicts(self) -> VerdictCounts:
        """All verdicts of the row."""
        return self.primary + self.other

    def said(self, family: str) -> Any:
        """Return what a family read from the declaration; ``None`` where that is nothing."""
        return next((said for name, said in self.declared if name == family), None)


@dataclass(slots=True)
class Verdicts:
    """A row's verdicts, sorted by what their constraints are.

    The states are in checklist order, the groups packed counts by dimension and value, such as
    ``("type", "content")``. Loose counts are of checked constraints, under IFEval's loose reading.
    """

    states: list[int]
    groups: dict[tuple[str, str], int]
    loose: int

    def by(self, dimension: str) -> dict[str, int]:
        """Return the packed counts of one dimension by value."""
        return {value: packed for (name, value), packed in self.groups.items() if name == dimension}


def sort_verdicts(sample: Sample, critique: Critique) -> Verdicts:
    """Sort a row's verdicts.

    Constraints that the critique does not reach are undecided; judgments past the checklist's end
    are ignored. Constraints that don't apply, and criteria with a negative weight, are not counted.
    """
    checklist = sample.checklist
    judgments = fitted(checklist, critique.judgments)
    groups: dict[tuple[str, str], int] = {}
    states, loose = [], 0
    for constraint, judgment in zip(checklist, judgments, strict=True):
        status = judgment.status
        if status is _NA:
            states.append(NOT_APPLICABLE)
            continue
        state = MET if status is _MET else UNMET if status is _UNMET else UNDECIDED
        states.append(state)
        weight = constraint.weight
        if weight is not None and weight < 0:  # ``is_penalty``, without its calls
            continue
        unit = _UNITS[state]
        for group in _groups_of(constraint):
            groups[group] = groups.get(group, 0) + unit
        if constraint.check is not None:
            reading = judgment.loose
            loose += _UNITS[MET if reading is _MET else UNMET if reading is _UNMET else UNDECIDED]
    return Verdicts(states, groups, loose)


def _groups_of(constraint: Constraint) -> list[tuple[str, str]]:
    """Name the groups that a constraint's verdict counts in: one with several tags, in each."""
    groups = []
    if constraint.type is not None:
        groups.append(("type", constraint.type))
    if constraint.subtype is not None:
        groups.append(("subtype", constraint.subtype))
    if constraint.priority is not None:
        groups.append(("priority", constraint.priority))
    if constraint.check is not None:
        groups.append(("verifier", constraint.check.id))
    if constraint.__pydantic_extra__:  # few have tags
        groups += [(f"constraint {kind}", value) for kind, value in constraint_tags(constraint)]
    return groups


def fitted(
    checklist: Sequence[Constraint], judgments: tuple[Judgment, ...]
) -> tuple[Judgment, ...]:
    """Return as many judgments as there are constraints; a missing one is unparsed."""
    if len(judgments) == len(checklist):
        return judgments
    missing = max(0, len(checklist) - len(judgments))
    return judgments[: len(checklist)] + (_NONE,) * missing


def packed_verdict(state: int) -> int:
    """Return one verdict as packed counts."""
    return _UNITS[state]


@lru_cache(maxsize=4096)
def unpack(packed: int) -> VerdictCounts:
    """Unpack counts of verdicts."""
    return VerdictCounts(*(packed >> _BITS * state & (1 << _BITS) - 1 for state in range(3)))


def pooled(counts: VerdictCounts) -> Share:
    """Contribute a row's verdicts to a rate over verdicts."""
    return Share(counts.met, counts.met + counts.undecided, counts.total)


def all_met(counts: VerdictCounts) -> Share:
    """Count the row as one unit that passes iff all is met."""
    return Share(int(counts.met == counts.total), int(not counts.unmet), 1)


def csr_share(counts: VerdictCounts, *, rounded: bool = False) -> Share:
    """Contribute the share of a row's constraints that is met, one unit a row."""
    low = mean(counts.met, counts.total, rounded=rounded)
    high = mean(counts.met + counts.undecided, counts.total, rounded=rounded)
    return Share(low, high, 1)


def mean(met: int, total: int, *, rounded: bool) -> float:
    """Compute a share, rounded as CFBench's code rounds it or not."""
    value = met / total
    return _two_decimals(value) if rounded else value


def _two_decimals(value: float) -> float:
    """Round as numpy does, on which CFBench's code relies: 1/40 becomes 0.02, not 0.03."""
    return round(value * 100) / 100
