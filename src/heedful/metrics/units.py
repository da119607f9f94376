"""Rates of benchmarks over units of several rows: conversations, examples, questions, groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.metrics.coherence import Coherence
from heedful.metrics.gathering import SessionStability
from heedful.metrics.outcomes import NOT_APPLICABLE
from heedful.metrics.reliability import Reliability, any_attempt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Sample, Scoring
    from heedful.metrics.expectation import Prediction
    from heedful.metrics.outcomes import RowOutcome


class RowUnits:
    """Accumulator of rows by what they belong to.

    Attributes:
        systems: SysBench's conversations.
    """

    def __init__(self, scoring: Scoring) -> None:
        self._scoring = scoring
        self.systems = SessionStability(scoring)
        self._examples = SessionStability(scoring, "conversation_id", "level")  # FollowBench's
        self._coherence = Coherence(scoring)
        self._axes: dict[str, Reliability] = {}  # MultiChallenge's attempts

    def add(self, sample: Sample, row: RowOutcome, states: Sequence[int]) -> None:
        """Take in a row and the states of its verdicts."""
        judged = [state for state in states if state != NOT_APPLICABLE]
        if row.benchmark == "sysbench":
            self.systems.add(sample, judged, row.all_ok)
        elif row.benchmark == "followbench" and row.verdicts.total:
            self._examples.add(sample, judged, None)
        elif row.benchmark == "multichallenge":
            axis = str(sample.tags.get("axis", ""))
            self._axes.setdefault(axis, Reliability(self._scoring)).add(sample, row)
        elif sample.tags.get("benchmark") == "complexbench":
            self._coherence.add(sample, row)

    def metrics(self, verdicts: Prediction | None, *, readable: float) -> dict[str, dict[str, Any]]:
        """Measure, by family; families without rows have no rates.

        Args:
            verdicts: how undecided verdicts are predicted.
            readable: share of the rows that could be read.
        """
        ssr = self.systems.ssr(readable=readable)
        csl = self._examples.ssr(readable=readable)
        families = {
            "sysbench": {} if ssr is None else {"ssr": ssr},
            "followbench": {} if csl is None else {"csl": csl},
            "multichallenge": any_attempt(self._axes, verdicts, readable=readable),
            "complexbench": self._coherence.metrics(verdicts, readable=readable),
        }
        return {family: rates for family, rates in families.items() if rates}
