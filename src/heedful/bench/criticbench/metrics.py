"""CriticBench's numbers: how often critics are right, and what checking does for a vote.

Strict: a critique without a judgment is not decided, and makes the rates ranges. Faithful: it
counts as "correct", as in the paper. A critique that failed is decided by neither.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from heedful.metrics.contrasts import contrast
from heedful.metrics.rates import Share, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from heedful.bench.criticbench.items import Triplet
    from heedful.bench.criticbench.run import Critiqued, SelfCheck, Verdict, Vote
    from heedful.core.nouns import Scoring

__all__ = ["self_consistency"]

Key = TypeVar("Key", str, int | None)

BANDS = 5
"""Bands of certainty, with as many responses each as ties allow."""


class _VerdictRow(NamedTuple):
    """A triplet, and whether each critique of it is right; ``None`` where not decided."""

    triplet: Triplet
    right: list[bool | None]
    verdicts: Sequence[Verdict]


def accuracies(critiques: Iterable[Critiqued], scoring: Scoring) -> dict[str, Any]:
    """Compute how often critics' judgments are right."""
    critics: dict[str, list[_VerdictRow]] = {}
    for critique in critiques:
        triplet = critique.judged.triplet
        if triplet is not None:
            right = [_right(verdict, triplet, scoring) for verdict in critique.verdicts]
            critics.setdefault(critique.judged.critic, []).append(
                _VerdictRow(triplet, right, critique.verdicts)
            )
    edges = _edges([row.triplet for rows in critics.values() for row in rows])
    return {critic: _critic(rows, edges) for critic, rows in critics.items()}


def _right(verdict: Verdict, triplet: Triplet, scoring: Scoring) -> bool | None:
    if verdict.status == "unparsed" and scoring == "faithful":
        return triplet.correct
    if verdict.status in ("unparsed", "failed"):
        return None
    return (verdict.status == "correct") == triplet.correct


def _critic(rows: Sequence[_VerdictRow], edges: Sequence[float]) -> dict[str, Any]:
    def rate(chosen: Iterable[_VerdictRow]) -> dict[str, Any]:
        return dict(measure(_shares(chosen)))

    statuses = Counter(verdict.status for row in rows for verdict in row.verdicts)
    runs = [_mean(side) for side in zip(*(row.right for row in rows), strict=True)]
    decided = [run for run in runs if run is not None]
    tasks = _grouped(rows, lambda triplet: triplet.task)
    generators = _grouped(rows, lambda triplet: triplet.generator)
    bands = _grouped(rows, lambda triplet: _band(triplet, edges))
    return {
        "triplets": len(rows),
        "accuracy": rate(rows),
        "runs": runs,
        "mean": math.fsum(decided) / len(decided) if decided else None,
        "spread": statistics.stdev(decided) if len(decided) > 1 else None,
        "on_correct": rate(row for row in rows if row.triplet.correct),
        "on_wrong": rate(row for row in rows if not row.triplet.correct),
        "by_task": {task: rate(own) for task, own in tasks.items()},
        "by_generator": {g: rate(own) for g, own in generators.items()},
        "by_certainty": [
            {"low": low, "high": high, **rate(bands.get(place, ()))}
            for place, (low, high) in enumerate(pairwise(edges))
        ],
        "unparsed": statuses["unparsed"],
        "failed": statuses["failed"],
    }


def _grouped(
    rows: Iterable[_VerdictRow], key: Callable[[Triplet], Key]
) -> dict[Key, list[_VerdictRow]]:
    groups: dict[Key, list[_VerdictRow]] = {}
    for row in rows:
        groups.setdefault(key(row.triplet), []).append(row)
    return groups


def _shares(rows: Iterable[_VerdictRow]) -> Counter[Share]:
    """Count what queries contribute: responses to one query go together, being judged alike."""
    queries: dict[str, list[bool | None]] = {}
    for row in rows:
        queries.setdefault(row.triplet.query or row.triplet.id, []).extend(row.right)
    return Counter(map(Share.of, queries.values()))


def _mean(values: Iterable[bool | None]) -> float | None:
    decided = [value for value in values if value is not None]
    return sum(decided) / len(decided) if decided else None


def _edges(triplets: Sequence[Triplet]) -> list[float]:
    """Choose bounds of bands that hold as many triplets each as ties allow."""
    known = {triplet.id: triplet.certainty for triplet in triplets}
    values = sorted(value for value in known.values() if value is not None)
    if not values:
        return []
    last = len(values) - 1
    edges = sorted({values[round(last * place / BANDS)] for place in range(BANDS + 1)})
    return edges if len(edges) > 1 else edges * 2


def _band(triplet: Triplet, edges: Sequence[float]) -> int | None:
    """Find a triplet's band; the lower bound belongs to it, and the highest to the last."""
    if triplet.certainty is None:
        return None
    if edges[0] == edges[-1]:
        return 0
    return min(bisect_right(edges, triplet.certainty) - 1, len(edges) - 2)


def vote(votes: Iterable[Vote]) -> Vote | None:
    """Return the first vote for the most frequent answer; of equals, the answer sampled first."""
    first: dict[str, Vote] = {}
    counts: Counter[str] = Counter()
    for vote_cast in votes:
        if vote_cast.answer is not None:
            first.setdefault(vote_cast.answer, vote_cast)
            counts[vote_cast.answer] += 1
    return first[counts.most_common(1)[0][0]] if counts else None


class _Outcome(NamedTuple):
    """Result of one query: right or wrong without checking and with it, and its critiques."""

    plain: bool | None
    checked: bool | None
    critiques: int


def self_consistency(
    critiques: Iterable[Critiqued], thresholds: Sequence[float]
) -> list[dict[str, Any]]:
    """Compare self-consistency with SC²: self-consistency with self-check.

    Self-consistency is the majority vote over a generator's answers. SC² has a critic check the
    answers where the generator's certainty is below a threshold, and leaves those out of the vote
    that it judges incorrect; where none is left, all vote. A critique without a judgment leaves
    its answer in.
    """
    groups: dict[tuple[str, str, str], list[tuple[SelfCheck, Sequence[Verdict]]]] = {}
    for critique in critiques:
        check = critique.judged.check
        if check is not None:
            key = critique.judged.critic, check.generator, check.task
            groups.setdefault(key, []).append((check, critique.verdicts))
    return [
        {
            **dict(zip(("critic", "generator", "task"), key, strict=True)),
            "threshold": threshold,
            **_compared([_outcome(check, verdicts, threshold) for check, verdicts in rows]),
        }
        for key, rows in groups.items()
        for threshold in thresholds
    ]


def _outcome(check: SelfCheck, verdicts: Sequence[Verdict], threshold: float) -> _Outcome:
    winner = vote(check.votes)
    plain = winner.correct if winner else None
    if check.certainty is None or check.certainty >= threshold or not verdicts:
        return _Outcome(plain, plain, 0)
    remaining = [
        cast
        for cast, verdict in zip(check.votes, verdicts, strict=True)
        if verdict.status != "incorrect"
    ]
    winner = vote(remaining) or winner
    return _Outcome(plain, winner.correct if winner else None, len(verdicts))


def _compared(outcomes: Sequence[_Outcome]) -> dict[str, Any]:
    decided = [o for o in outcomes if o.plain is not None and o.checked is not None]
    unknown: list[bool | None] = [None] * (len(outcomes) - len(decided))
    sides = {
        "plain": [o.plain for o in decided] + unknown,
        "checking": [o.checked for o in decided] + unknown,
    }
    fixed = sum(not o.plain and bool(o.checked) for o in decided)
    broken = sum(bool(o.plain) and not o.checked for o in decided)
    wrong = sum(not o.plain for o in decided)
    sums = Counter((float(bool(o.checked)), 1.0, float(bool(o.plain)), 1.0) for o in decided)
    change = contrast({"": sums}, seed=0)  # of single queries: McNemar's exact test, without chance
    rates: Mapping[str, Any] = {
        side: measure(Counter(Share.of([value]) for value in values))
        for side, values in sides.items()
    }
    return {
        "queries": len(outcomes),
        "undecided": len(unknown),
        "checked": sum(o.critiques > 0 for o in outcomes),
        "critiques": sum(o.critiques for o in outcomes),
        **rates,
        "fixed": fixed,
        "broken": broken,
        "difference": change["difference"]["value"],
        "interval": change["difference"]["interval"],
        "p": change["p"],
        "error_reduction": (fixed - broken) / wrong if wrong else None,
    }
