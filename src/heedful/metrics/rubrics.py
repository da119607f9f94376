"""Weighted scores of rubrics: HealthBench, PRBench, ResearchRubrics, ProfBench, RuVerBench, ours.

A criterion i has signed points w_i and earns the share m_i of them (0, 1, or a level's value). With
P and N the sums of the positive and the negative points and S = sum of m_i w_i, a response scores

=================  ==========================  ============================  =====================
name               of a response               without positive points       of the mean
=================  ==========================  ============================  =====================
rubric.score       S/P, clipped to [0, 1];     1 + S/abs(N), clipped         not clipped
                   0 where a gate fails
healthbench.score  S/P, not clipped            left out                      clipped to [0, 1]
prbench.score      (S - N)/(P - N)             likewise                      not clipped
researchrubrics    S/P, not clipped            0                             not clipped
profbench.score    S/P; only positive points   left out                      domains weigh the same
ruverbench.recall  S/(P + N)                   0 where P + N is 0 or less    not clipped
=================  ==========================  ============================  =====================

Criteria that don't apply are in none of the sums. Under strict scoring a score with an undecided
criterion is a range. Faithful scoring lets an undecided criterion earn nothing, as the published
codes do: for negative points that is a gift.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.nouns import Status
from heedful.core.rubric import constraint_tags, is_scored, value
from heedful.metrics.rates import Share, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from heedful.core.nouns import Constraint, Critique, Judgment, Sample, Scoring
    from heedful.metrics.rates import EndSpreads, RateEstimate


class Points(NamedTuple):
    """Sums of points.

    Attributes:
        scored: of what was earned, S.
        positive: of positive points, P.
        negative: of negative points, N: 0 or less.
    """

    scored: float
    positive: float
    negative: float


class RubricOutcome(NamedTuple):
    """Contributions of a response's verdicts on a rubric to its scores.

    Attributes:
        low: sums over all criteria, with the undecided ones at their worst.
        high: the same at their best.
        earned: what the decided ones earn.
        gates: whether all must-haves hold: ``None`` where that is open or there are none.
        has_gates: whether there are any.
    """

    low: Points
    high: Points
    earned: float
    gates: bool | None
    has_gates: bool


def rubric_outcome(
    checklist: Sequence[Constraint], judgments: Sequence[Judgment]
) -> RubricOutcome | None:
    """Add up a judged rubric's points; ``None`` for a plain checklist, or where nothing applies."""
    if not is_scored(checklist):
        return None
    earned: list[float] = []
    points: list[float] = []
    undecided: list[float] = []
    gates: list[bool | None] = []
    for constraint, judgment in zip(checklist, judgments, strict=True):
        if judgment.status is Status.NOT_APPLICABLE:
            continue
        weight = 1.0 if constraint.weight is None else constraint.weight
        if constraint.gate:
            met = judgment.status is Status.MET
            gates.append((met == (weight >= 0)) if judgment.status.decided else None)
        share = value(constraint, judgment)
        if share is None:
            undecided.append(weight)
        else:
            points.append(weight)
            earned.append(share * weight)
    if not points and not undecided:
        return None
    worst, best = _part(undecided, -1), _part(undecided, 1)
    scored = math.fsum(earned)
    positive, negative = _part(points, 1) + best, _part(points, -1) + worst
    return RubricOutcome(
        Points(scored + worst, positive, negative),
        Points(scored + best, positive, negative),
        scored,
        False if False in gates else None if None in gates or not gates else True,
        bool(gates),
    )


def _part(weights: Iterable[float], sign: int) -> float:
    return math.fsum(weight for weight in weights if weight * sign > 0)


def _clipped(points: Points) -> float | None:
    raw = _ratio(points)
    if raw is None:
        if not points.negative:
            return None
        raw = 1 + points.scored / -points.negative
    return min(1.0, max(0.0, raw))


def _ratio(points: Points) -> float | None:
    return points.scored / points.positive if points.positive else None


def _ratio_or_zero(points: Points) -> float:
    return _ratio(points) or 0.0


def _normalized(points: Points) -> float | None:
    width = points.positive - points.negative
    return (points.scored - points.negative) / width if width else None


def _positive_only(points: Points) -> float | None:
    return None if points.negative else _ratio(points)


def _over_sum(points: Points) -> float:
    total = points.positive + points.negative
    return points.scored / total if total > 0 else 0.0


FAMILY_SCORES: Mapping[str, tuple[str, Callable[[Points], float | None]]] = {
    "rubric": ("score", _clipped),
    "healthbench": ("score", _ratio),
    "prbench": ("score", _normalized),
    "researchrubrics": ("score", _ratio_or_zero),
    "profbench": ("score", _positive_only),
    "ruverbench": ("recall", _over_sum),
}
"""For each family the name of its score, and the score of one response."""

_MEAN_CLIPPED = ("healthbench",)


def family_shares(family: str, outcome: RubricOutcome | None, scoring: Scoring) -> dict[str, Share]:
    """Compute a response's part of a family's score, and for ``rubric`` of its gates' rate."""
    if outcome is None:
        return {}
    name, score = FAMILY_SCORES[family]
    shares = {}
    scored = outcome.low, outcome.high
    if scoring == "faithful":
        scored = (outcome.low._replace(scored=outcome.earned),) * 2
    ends = [end for end in map(score, scored) if end is not None]
    if ends:
        low, high = min(ends), max(ends)
        if family == "rubric" and outcome.has_gates and outcome.gates is not True:
            low, high = 0.0, 0.0 if outcome.gates is False else high  # a failed gate costs all
        shares[name] = Share(low, high, 1)
    if family == "rubric" and outcome.has_gates:
        shares["gates"] = Share.of([outcome.gates])
    return shares


def score_measure(
    family: str,
    shares: Mapping[Share, int],
    outcomes: Iterable[RubricOutcome],
    *,
    readable: float = 1.0,
    together: EndSpreads | None = None,
) -> RateEstimate:
    """Turn contributions to a score into its estimate; HealthBench's mean is clipped."""
    span = _range(family, outcomes)
    estimate = measure(shares, readable=readable, together=together, span=span)
    if family in _MEAN_CLIPPED:
        for field in ("interval", "bounds"):
            ends = estimate[field]
            if ends is not None:
                estimate[field] = [min(1.0, max(0.0, end)) for end in ends]
        if estimate["value"] is not None:
            estimate["value"] = min(1.0, max(0.0, estimate["value"]))
    return estimate


class ScoresByType:
    """Accumulator of scores of the criteria of each type, within each response.

    Source: HealthBench's scores by axis. A response enters a type's score with the criteria of that
    type alone.
    """

    def __init__(self, scoring: Scoring) -> None:
        self._scoring = scoring
        self._outcomes: dict[tuple[str, str, str], Counter[RubricOutcome]] = {}

    def add(self, sample: Sample, critique: Critique, benchmark: str) -> None:
        """Take in a response; a checklist with more types than :data:`TYPES` has none."""
        family = benchmark if benchmark in FAMILY_SCORES else "rubric"
        parts: dict[tuple[str, str], tuple[list[Constraint], list[Judgment]]] = {}
        for constraint, judgment in zip(sample.checklist, critique.judgments, strict=False):
            named = [("type", constraint.type)] if constraint.type is not None else []
            # HealthBench's axes are types, too.
            named += [
                each
                for each in dict.fromkeys(constraint_tags(constraint))
                if each[1] != constraint.type
            ]
            for kind in named:
                checklist, judgments = parts.setdefault(kind, ([], []))
                checklist.append(constraint)
                judgments.append(judgment)
        for kind, (checklist, judgments) in parts.items():
            outcome = rubric_outcome(checklist, judgments)
            key = family, *kind
            if outcome is not None and (key in self._outcomes or len(self._outcomes) < TYPES):
                self._outcomes.setdefault(key, Counter())[outcome] += 1

    def result(self, *, readable: float) -> dict[str, Any]:
        """Return the breakdowns, laid out as those by tags; empty without types."""
        by: dict[str, Any] = {}
        for (family, dimension, kind), outcomes in sorted(self._outcomes.items()):
            shares: Counter[Share] = Counter()
            name = FAMILY_SCORES[family][0]
            for outcome, count in outcomes.items():
                if not outcome.low.positive:
                    continue  # as in HealthBench's code
                share = family_shares(family, outcome, self._scoring).get(name)
                if share is not None:
                    shares[share] += count
            group = by.setdefault(f"score by {dimension}", {}).setdefault(kind, {"samples": 0})
            group["samples"] += outcomes.total()
            if shares:
                measured = score_measure(family, shares, outcomes, readable=readable)
                group[family] = {name: measured}
        return by


TYPES = 500
"""Types that are told apart: more help nobody."""


def _range(family: str, outcomes: Iterable[RubricOutcome]) -> tuple[int, int]:
    """Find whole numbers between which the score of every response lies."""
    score = FAMILY_SCORES[family][1]
    least, most = 0, 1
    for outcome in outcomes:
        _, positive, negative = outcome.low
        for scored in (negative, positive):
            end = score(Points(scored, positive, negative))
            if end is not None:
                least, most = min(least, math.floor(end)), max(most, math.ceil(end))
    return least, most
