"""Votes of the members of a panel, and how often they disagreed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Status
from heedful.metrics.gathering import agreement
from heedful.metrics.rates import Share, measure

if TYPE_CHECKING:
    from heedful.core.nouns import Critique, Judgment
    from heedful.metrics.rates import EndSpreads

_STATUSES = tuple(status.value for status in Status)


class Votes:
    """Accumulator of votes. Several samples of one judge count together, under its name."""

    def __init__(self) -> None:
        self._split: Counter[Share] = Counter()
        self._judges: dict[str, Counter[str]] = {}

    def add(self, critique: Critique) -> Share | None:
        """Take in one row; judgments without votes are passed over."""
        split, comparable = [], []
        for judgment in critique.judgments:
            if judgment.votes is None:
                continue
            said = [vote["status"] for vote in judgment.votes]
            decided = [status for status in said if Status(status).decided]
            split.append(len({*decided}) > 1)
            comparable.append(len(decided) > 1)
            self._count(judgment)
        if not split:
            return None
        share = agreement(split, comparable)
        self._split[share] += 1
        return share

    def _count(self, judgment: Judgment) -> None:
        for vote in judgment.votes or ():
            counts = self._judges.setdefault(vote["judge"], Counter())
            counts[vote["status"]] += 1
            if judgment.status.decided and Status(vote["status"]).decided:
                counts["compared"] += 1
                counts["with the majority"] += vote["status"] == judgment.status

    def result(self, together: EndSpreads | None, *, readable: float) -> dict[str, Any]:
        """Sum up."""
        if not self._split:
            return {}
        return {
            "disagreement": measure(self._split, readable=readable, together=together),
            "judges": {judge: _laid_out(counts) for judge, counts in sorted(self._judges.items())},
        }


def _laid_out(counts: Counter[str]) -> dict[str, Any]:
    compared = counts["compared"]
    return {
        **{status: counts[status] for status in _STATUSES},
        "with_majority": counts["with the majority"] / compared if compared else None,
    }
