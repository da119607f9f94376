"""WildBench: the WB-Score, (score - 5) / 5 of scores from 1 to 10.

Source: WildBench (arXiv 2406.04770, and its code). In percent the mean is the leaderboard's
number, from -80 to 100. ``task_score`` is the mean over five kinds of tasks with its weights; a
task may be of several kinds. For that mean its code passes over responses that are empty or were
cut for the judge, and a kind without tasks counts 0: so does faithful scoring. In strict scoring
all responses count, and without a kind there is no mean.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from heedful.core.rubric import constraint_tags
from heedful.metrics.family import Family, Units, scored
from heedful.metrics.rates import measure
from heedful.metrics.rubrics import RubricScore, score_share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heedful.core.nouns import Critique, Sample, Scoring
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rates import RateEstimate, Share
    from heedful.metrics.rubrics import Points

WEIGHTS = {
    "Creative Tasks": 0.5,
    "Planning & Reasoning": 1.25,
    "Math & Data Analysis": 1.0,
    "Information/Advice seeking": 0.75,
    "Coding & Debugging": 1.25,
}
EMPTY = "[This model response is empty.]"
CUT = "... (truncated)"
SPAN = (-1, 1)


def _rescaled(points: Points) -> float | None:
    """Turn the share of the way from 1 to 10 into (score - 5) / 5."""
    return 1.8 * points.scored / points.positive - 0.8 if points.positive else None


SCORE = RubricScore("score", _rescaled)


def passed_over(sample: Sample) -> bool:
    """Tell whether a response, or the one that it is compared with, is empty or was cut."""
    texts = [sample.response, *([] if sample.reference is None else [sample.reference])]
    return any(not text or text == EMPTY or text.endswith(CUT) for text in texts)


class KindsOfTasks(Units):
    """Means over the kinds of tasks, and plain ones of rates that no row's part is kept of."""

    def __init__(
        self,
        scoring: Scoring,
        shares: Callable[[Sample, RowOutcome, Scoring], Mapping[str, Share]],
        plain: Sequence[str] = (),
    ) -> None:
        self._scoring, self._shares, self._plain = scoring, shares, plain
        self._all: dict[str, Counter[Share]] = {}
        self._tasks: dict[str, dict[str, Counter[Share]]] = {}

    def add(
        self, sample: Sample, _critique: Critique, row: RowOutcome, _states: Sequence[int]
    ) -> None:
        """Take in a response."""
        tags = constraint_tags(sample.checklist[0]) if sample.checklist else []
        if self._scoring == "faithful" and passed_over(sample):
            tags = []
        for name, share in self._shares(sample, row, self._scoring).items():
            self._all.setdefault(name, Counter())[share] += 1
            tasks = self._tasks.setdefault(name, {})
            for kind, task in tags:
                if kind == "task" and task in WEIGHTS:
                    tasks.setdefault(task, Counter())[share] += 1

    def metrics(self, *, readable: float) -> dict[str, RateEstimate]:
        """Measure."""
        measured = {
            name: measure(self._all[name], readable=readable, span=SPAN)
            for name in self._plain
            if name in self._all
        }
        for name, tasks in self._tasks.items():
            if len(tasks) == len(WEIGHTS) or (tasks and self._scoring == "faithful"):
                measured[f"task_{name}"] = _weighted(tasks, readable)
        return measured


def _weighted(tasks: Mapping[str, Counter[Share]], readable: float) -> RateEstimate:
    """Average over kinds of tasks; a task of several kinds keeps them from having an interval."""
    of_all = measure(sum(tasks.values(), Counter()), readable=readable, span=SPAN)
    bounds = [0.0, 0.0]
    for task, shares in tasks.items():
        ends = measure(shares, readable=readable, span=SPAN)["bounds"] or [0.0, 0.0]
        bounds = [bound + WEIGHTS[task] * end for bound, end in zip(bounds, ends, strict=True)]
    bounds = [bound / math.fsum(WEIGHTS.values()) for bound in bounds]
    known = bounds[0] if of_all["value"] is not None else None
    return {**of_all, "value": known, "bounds": bounds, "interval": None}


def _shares(_sample: Sample, row: RowOutcome, scoring: Scoring) -> dict[str, Share]:
    share = score_share(SCORE, row.rubric, scoring)
    return {} if share is None else {"score": share}


FAMILY = Family(
    "wildbench",
    "WildBench",
    scored("wildbench", SCORE),
    labels={"score": "WB-Score", "task_score": "WB-Score, weighted by kind of task"},
    order=16,
    score=SCORE,
    units=lambda scoring: KindsOfTasks(scoring, _shares),
)
