"""WildBench: the WB-Score, (score - 5) / 5 of scores from 1 to 10.

Source: WildBench (arXiv 2406.04770, and its code). In percent the mean is the leaderboard's
number, from -80 to 100. ``task_score`` is the mean over five kinds of tasks with its weights; a
task may be of several kinds. For that mean its code passes over responses that are empty or were
cut for the judge, and a kind without tasks counts 0: so does faithful scoring. In strict scoring
all responses count, and without a kind there is no mean.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from heedful.core.rubric import constraint_tags
from heedful.metrics.family import Family, Units, scored
from heedful.metrics.rates import measure
from heedful.metrics.rubrics import RubricScore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heedful.core.nouns import Critique, Sample, Scoring
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rates import RateEstimate, Share
    from heedful.metrics.rubrics import Points

    Rates = Callable[[RowOutcome, Scoring], Mapping[str, Share]]

WEIGHTS = {
    "Creative Tasks": 0.5,
    "Planning & Reasoning": 1.25,
    "Math & Data Analysis": 1.0,
    "Information/Advice seeking": 0.75,
    "Coding & Debugging": 1.25,
}
EMPTY, CUT = "[This model response is empty.]", "... (truncated)"


def passed_over(sample: Sample) -> bool:
    """Tell whether a response, or the one that it is compared with, is empty or was cut."""
    texts = [sample.response, *([] if sample.reference is None else [sample.reference])]
    return any(not text or text == EMPTY or text.endswith(CUT) for text in texts)


class KindsOfTasks(Units):
    """The mean of a rate over kinds of tasks."""

    def __init__(self, scoring: Scoring, rate: str, rates: Rates) -> None:
        self._scoring, self._rate, self._rates = scoring, rate, rates
        self._kinds: dict[str, Counter[Share]] = defaultdict(Counter)

    def add(
        self, sample: Sample, _critique: Critique, row: RowOutcome, _states: Sequence[int]
    ) -> None:
        """Take in a response."""
        share = self._rates(row, self._scoring).get(self._rate)
        if share is None or (self._scoring == "faithful" and passed_over(sample)):
            return
        for tag, kind in constraint_tags(sample.checklist[0]):
            if tag == "task" and kind in WEIGHTS:
                self._kinds[kind][share] += 1

    def metrics(self, *, readable: float) -> dict[str, RateEstimate]:
        """Measure; there is no interval, since a task may be of several kinds."""
        lacks = len(self._kinds) < len(WEIGHTS)
        if not self._kinds or (lacks and self._scoring != "faithful"):
            return {}
        pooled: Counter[Share] = Counter()
        for shares in self._kinds.values():
            pooled.update(shares)
        estimate = measure(pooled, readable=readable, span=(-1, 1))
        bounds = [0.0, 0.0]
        for kind, shares in self._kinds.items():
            ends = measure(shares, readable=readable, span=(-1, 1))["bounds"] or bounds
            weight = WEIGHTS[kind] / math.fsum(WEIGHTS.values())
            bounds = [bound + weight * end for bound, end in zip(bounds, ends, strict=True)]
        value = None if estimate["value"] is None else bounds[0]
        return {
            f"task_{self._rate}": {**estimate, "value": value, "bounds": bounds, "interval": None}
        }


def _rescaled(points: Points) -> float | None:
    """Turn the share of the way from 1 to 10 into (score - 5) / 5."""
    return (9 * points.scored / points.positive - 4) / 5 if points.positive else None


SCORE = RubricScore("score", _rescaled)
rates = scored("wildbench", SCORE)

FAMILY = Family(
    "wildbench",
    "WildBench",
    rates,
    labels={"score": "WB-Score", "task_score": "WB-Score, weighted by kind of task"},
    order=16,
    score=SCORE,
    units=lambda scoring: KindsOfTasks(scoring, "score", rates),
)
