"""Judges as rankers: do the scores that verdicts add up to put the better response first?"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.analysis.meta.entries import NOT_APPLICABLE
from heedful.analysis.meta.labels import MET, UNMET
from heedful.metrics.ranking import TIE, Choice, Edges, best_of, choices, ranking

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from heedful.analysis.meta.entries import JudgeEntry
    from heedful.analysis.meta.labels import Labelled, Target
    from heedful.core.nouns import Sample, Scoring
    from heedful.metrics.ranking import BestOf, Ranking


class Score(NamedTuple):
    """The least and the most that a response can score, from 0 to 1."""

    low: float
    high: float


Scores = dict[str, list[Score]]
"""By row id, one for each sample of the judge."""


def rankings(entry: JudgeEntry, labelled: Labelled, *, zero: bool) -> dict[str, Any]:
    """Measure how one entry ranks the responses to each instruction; nothing where none is ranked.

    A response's score is the share of its points that it earned (of its constraints that it met,
    where these have no weights): (S - N) / (P - N), see :mod:`heedful.metrics.rubrics`. A pair is
    undecided where the undecided verdicts could turn it.
    """
    if all(target.preferred_to is None for target in labelled.targets.values()):
        return {}
    scores = {
        target.id: [_score(target, states, entry.shares) for states in samples]
        for target, samples in entry.rows(labelled)
    }
    found = {
        "ranking": _ranked(scores, labelled, zero=zero),
        "best_of": _best_ranked(scores, labelled),
    }
    return {name: measured for name, measured in found.items() if measured is not None}


def _ranked(scores: Scores, labelled: Labelled, *, zero: bool) -> Ranking | None:
    edges: dict[tuple[str | None, int], Edges] = defaultdict(Edges)
    for target in labelled.targets.values():
        key = target.group, target.cluster
        if target.preferred_to is not None and zero:
            edges[key] = edges[key].plus(Edges())
        for other in target.preferred_to or ():
            if other not in scores:
                edges[key] = edges[key].plus(Edges(undecided=1))
                continue
            for better, worse in zip(scores[target.id], scores[other], strict=False):
                edges[key] = edges[key].plus(_compare(better, worse))
    return ranking([(group, counted) for (group, _), counted in edges.items()], zero=zero)


def _best_ranked(scores: Scores, labelled: Labelled) -> BestOf | None:
    """Measure how often the best response scores highest; several samples count as their mean."""
    responses: dict[int, list[Target]] = defaultdict(list)
    for target in labelled.targets.values():
        if target.preferred_to is not None:
            responses[target.cluster].append(target)
    ends = []
    for together in responses.values():
        for best in together:
            others = {other.id for other in together} - {best.id}
            worse = set(best.preferred_to or ())
            if worse and others <= worse:
                unread = [Score(0.0, 1.0)] * len(worse - others)
                shares = [
                    _share_of_first(own, [*(scores[name][place] for name in others), *unread])
                    for place, own in enumerate(scores[best.id])
                ]
                lows, highs = zip(*shares, strict=True)
                ends.append((sum(lows) / len(lows), sum(highs) / len(highs)))
    return best_of(ends)


def _share_of_first(best: Score, others: Sequence[Score]) -> tuple[float, float]:
    """Return 1/k where the best is one of k highest, else 0: at the least and at the most."""

    def share(own: float, rest: Sequence[float]) -> float:
        return 1 / (1 + rest.count(own)) if own >= max(rest) else 0.0

    least = share(best.low, [other.high for other in others])
    most = share(best.high, [other.low for other in others])
    return least, most


def _score(target: Target, states: str, shares: Mapping[str, Sequence[float | None]]) -> Score:
    """Return what a response scores, the undecided verdicts at their worst and best."""
    weights: Sequence[float] = target.weights or (1.0,) * len(states)
    applicable = [pair for pair in zip(weights, states, strict=True) if pair[1] != NOT_APPLICABLE]
    # math.fsum, so that equal points are equal scores in whatever order they add up.
    met = math.fsum(
        weight * (float(state == MET) if share is None else share)
        for weight, state, share in zip(
            weights, states, shares.get(target.id, (None,) * len(states)), strict=True
        )
        if state in (MET, UNMET)
    )
    left = [weight for weight, state in applicable if state not in (MET, UNMET)]
    least = math.fsum(weight for weight, _ in applicable if weight < 0)
    most = math.fsum(weight for weight, _ in applicable if weight > 0)
    if least == most:
        return Score(0.0, 1.0)
    low = met + math.fsum(weight for weight in left if weight < 0)
    high = met + math.fsum(weight for weight in left if weight > 0)
    return Score((low - least) / (most - least), (high - least) / (most - least))


def _compare(better: Score, worse: Score) -> Edges:
    if better.low > worse.high:
        return Edges(concordant=1)
    if better.high < worse.low:
        return Edges(discordant=1)
    exact = better.low == better.high and worse.low == worse.high
    return Edges(tied=1) if exact else Edges(undecided=1)


_SIDES = (1, 2, TIE)


def recorded_choices(samples: Iterable[Sample], scoring: Scoring) -> dict[str, Any] | None:
    """Measure what the samples' field ``choice`` says; ``None`` where none has it.

    A choice is ``{"label": 1, "unswapped": 1, "swapped": 2}``: the better response, and the one
    that the judge chose in either order, 0 for a tie and ``null`` for what can't be read.
    """
    given = []
    for sample in samples:
        choice = (sample.model_extra or {}).get("choice")
        if not isinstance(choice, dict) or choice.get("label") not in (1, 2):
            continue
        sides = [choice.get(order) for order in ("unswapped", "swapped")]
        unswapped, swapped = (side if side in _SIDES else None for side in sides)
        given.append(Choice(choice["label"], unswapped, swapped))
    return choices(given, scoring) if given else None
