"""MultiChallenge (arXiv 2501.17399): one question on the last turn of a conversation, by axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.metrics.family import Family, Mean, Units
from heedful.metrics.outcomes import all_met
from heedful.metrics.rates import macro_measure
from heedful.metrics.reliability import Reliability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Critique, Sample, Scoring
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rates import RateEstimate, Share


def rates(row: RowOutcome, _scoring: Scoring) -> dict[str, Share]:
    """Compute an attempt's part of the pass rate."""
    return {"passed": all_met(row.verdicts)}


class QuestionAttempts(Units):
    """Attempts by axis: a question passes if any of them does.

    The score is the mean over axes, each weighing the same, as its code computes it.
    """

    def __init__(self, scoring: Scoring) -> None:
        self._scoring = scoring
        self._axes: dict[str, Reliability] = {}

    def add(
        self, sample: Sample, _critique: Critique, row: RowOutcome, _states: Sequence[int]
    ) -> None:
        """Take in an attempt."""
        axis = str(sample.tags.get("axis", ""))
        self._axes.setdefault(axis, Reliability(self._scoring)).add(sample, row)

    def metrics(self, *, readable: float) -> dict[str, RateEstimate]:
        """Measure; nothing where no question has several attempts."""
        if all(each.most < 2 for each in self._axes.values()):  # noqa: PLR2004 - several attempts
            return {}
        parts = {axis: each.any_of_all() for axis, each in self._axes.items()}
        counts = {axis: counted for axis, (counted, _) in parts.items()}
        together = {axis: spread for axis, (_, spread) in parts.items()}
        return {"any_attempt": macro_measure(counts, readable=readable, together=together)}


FAMILY = Family(
    "multichallenge",
    "MultiChallenge",
    rates,
    labels={
        "overall": "overall pass rate",
        "any_attempt": "any attempt passes, mean of axes",
    },
    over_rows=frozenset({"passed"}),
    units=QuestionAttempts,
    means=(Mean("overall", "passed", "axis"),),
    attempts=True,
)
