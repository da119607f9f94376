"""Weighted scores of rubrics.

A criterion i has signed points w_i and earns the share m_i of them (0, 1, or a level's value). With
P and N the sums of the positive and the negative points and S = sum of m_i w_i, a response's score
is one of the functions of :class:`Points` below; each family says which.

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
    """Sums of what was earned (S), of positive points (P) and of negative ones (N, 0 or less)."""

    scored: float
    positive: float
    negative: float


class RubricOutcome(NamedTuple):
    """Contributions of a response's verdicts on a rubric to its scores.

    The sums have the undecided criteria at their worst and at their best; ``earned`` is of the
    decided ones. ``gates`` is whether all must-haves hold: ``None`` where that is open.
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


def clipped(points: Points) -> float | None:
    """S/P within 0 to 1; without positive points 1 + S/abs(N)."""
    raw = ratio(points)
    if raw is None:
        if not points.negative:
            return None
        raw = 1 + points.scored / -points.negative
    return min(1.0, max(0.0, raw))


def ratio(points: Points) -> float | None:
    """S/P; none without positive points."""
    return points.scored / points.positive if points.positive else None


def ratio_or_zero(points: Points) -> float:
    """S/P; 0 without positive points."""
    return ratio(points) or 0.0


def normalized(points: Points) -> float | None:
    """(S - N)/(P - N)."""
    width = points.positive - points.negative
    return (points.scored - points.negative) / width if width else None


def positive_only(points: Points) -> float | None:
    """S/P of points that are all positive."""
    return None if points.negative else ratio(points)


def over_sum(points: Points) -> float:
    """S/(P + N); 0 where that sum isn't above 0."""
    total = points.positive + points.negative
    return points.scored / total if total > 0 else 0.0


class RubricScore(NamedTuple):
    """A score of a response from its points, and the name of its rate.

    The mean over responses may be clipped to 0 to 1; of a gated one a failed must-have costs all.
    """

    name: str
    of: Callable[[Points], float | None]
    clipped: bool = False
    gated: bool = False


def score_share(
    score: RubricScore, outcome: RubricOutcome | None, scoring: Scoring
) -> Share | None:
    """Compute a response's part of a score; ``None`` where it has none."""
    if outcome is None:
        return None
    scored = outcome.low, outcome.high
    if scoring == "faithful":
        scored = (outcome.low._replace(scored=outcome.earned),) * 2
    ends = [end for end in map(score.of, scored) if end is not None]
    if not ends:
        return None
    if score.gated and outcome.has_gates and outcome.gates is not True:
        return Share(0.0, 0.0 if outcome.gates is False else max(ends), 1)
    return Share(min(ends), max(ends), 1)


def score_measure(
    score: RubricScore,
    shares: Mapping[Share, int],
    outcomes: Iterable[RubricOutcome],
    *,
    readable: float = 1.0,
    together: EndSpreads | None = None,
) -> RateEstimate:
    """Turn contributions to a score into its estimate."""
    span = _range(score, outcomes)
    estimate = measure(shares, readable=readable, together=together, span=span)
    if score.clipped:
        for field in ("interval", "bounds"):
            ends = estimate[field]
            if ends is not None:
                estimate[field] = [min(1.0, max(0.0, end)) for end in ends]
        bounds = estimate["bounds"]
        if bounds is not None and bounds[0] == bounds[1]:  # known, if only by the clip
            estimate["value"] = bounds[0]
    return estimate


OWN_SCORE = RubricScore("score", clipped, gated=True)
"""Ours: for rubrics that are no benchmark's."""


class ScoresByType:
    """Accumulator of scores of the criteria of each type, within each response.

    Source: HealthBench's scores by axis. A response enters a type's score with the criteria of that
    type alone.
    """

    def __init__(self, scoring: Scoring) -> None:
        self._scoring = scoring
        self._outcomes: dict[tuple[str, str, str], Counter[RubricOutcome]] = {}

    def add(self, sample: Sample, critique: Critique, family: str) -> None:
        """Take in a response; a checklist with more types than :data:`TYPES` has none."""
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

    def merge(self, other: ScoresByType) -> None:
        """Add another's responses."""
        for key, outcomes in other._outcomes.items():
            if key in self._outcomes or len(self._outcomes) < TYPES:
                self._outcomes.setdefault(key, Counter()).update(outcomes)

    def result(self, scores: Mapping[str, RubricScore], *, readable: float) -> dict[str, Any]:
        """Return the breakdowns, laid out as those by tags; empty without types."""
        by: dict[str, Any] = {}
        for (family, dimension, kind), outcomes in sorted(self._outcomes.items()):
            shares: Counter[Share] = Counter()
            score = scores[family]
            for outcome, count in outcomes.items():
                if not outcome.low.positive:
                    continue  # as in HealthBench's code
                share = score_share(score, outcome, self._scoring)
                if share is not None:
                    shares[share] += count
            group = by.setdefault(f"score by {dimension}", {}).setdefault(kind, {"samples": 0})
            group["samples"] += outcomes.total()
            if shares:
                measured = score_measure(score, shares, outcomes, readable=readable)
                group[family] = {score.name: measured}
        return by


TYPES = 500
"""Types that are told apart: more help nobody."""


def _range(score: RubricScore, outcomes: Iterable[RubricOutcome]) -> tuple[int, int]:
    """Find whole numbers between which the score of every response lies."""
    least, most = 0, 1
    for outcome in outcomes:
        _, positive, negative = outcome.low
        for scored in (negative, positive):
            end = score.of(Points(scored, positive, negative))
            if end is not None:
                least, most = min(least, math.floor(end)), max(most, math.ceil(end))
    return least, most
