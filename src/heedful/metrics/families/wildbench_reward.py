"""WildBench's comparisons with a reference model: the WB-Reward.

Much better counts 1, better 1/2, a tie 0, worse -1/2 and much worse -1; the mean over kinds of
tasks is as in :mod:`.wildbench`. Pairs with an empty response, or one that was cut for the judge,
count 0 in faithful scoring, as in the published code, and as judged in strict scoring.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.metrics.families.wildbench import KindsOfTasks, passed_over
from heedful.metrics.family import Family, scored
from heedful.metrics.rates import Share
from heedful.metrics.rubrics import RubricScore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Sample, Scoring
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rubrics import Points


def _reward(points: Points) -> float | None:
    return 2 * points.scored / points.positive - 1 if points.positive else None


SCORE = RubricScore("reward", _reward)


def rates(row: RowOutcome, scoring: Scoring) -> dict[str, Share]:
    """Compute a pair's part."""
    if scoring == "faithful" and row.said("wildbench_reward"):
        return {"reward": Share.known(0.0)}
    return scored("wildbench_reward", SCORE)(row, scoring)


def declared(_said: Mapping[str, Any], sample: Sample, _scoring: Scoring) -> bool:
    """Read whether the published code passes over the pair."""
    return passed_over(sample)


FAMILY = Family(
    "wildbench_reward",
    "WildBench",
    rates,
    labels={"reward": "WB-Reward", "task_reward": "WB-Reward, weighted by kind of task"},
    order=17,
    declared=declared,
    score=SCORE,
    units=lambda scoring: KindsOfTasks(scoring, "reward", rates),
)
