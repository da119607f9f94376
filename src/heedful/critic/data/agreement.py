"""Agreement of sampled critiques with the expert's, verdict by verdict."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Status

if TYPE_CHECKING:
    from heedful.critic.data.segments import Segmented


class Agreement:
    """A 2×2 table of verdicts: the expert's by the sampled critique's."""

    def __init__(self) -> None:
        self._cells: Counter[tuple[Status, Status]] = Counter()

    def add(self, expert: Segmented, sampled: Segmented) -> None:
        """Count the verdicts of two critiques on the same constraints."""
        for truth, said in zip(expert.judgments, sampled.judgments, strict=True):
            self._cells[truth.status, said.status] += 1

    def result(self) -> dict[str, Any]:
        """Lay out the table and the two F1, as IF-Critic's meta-evaluation defines them.

        Positive F1 takes ``met`` for the positive class, negative F1 ``unmet``; the expert is the
        truth. ``None`` where neither side has the class.
        """
        table = {
            f"expert_{truth.value}": {
                f"sampled_{said.value}": self._cells[truth, said]
                for said in (Status.MET, Status.UNMET)
            }
            for truth in (Status.MET, Status.UNMET)
        }
        return {
            "verdicts": self._cells.total(),
            **table,
            "positive_f1": self._f1(Status.MET),
            "negative_f1": self._f1(Status.UNMET),
        }

    def _f1(self, positive: Status) -> float | None:
        """Compute 2 TP / (2 TP + FP + FN)."""
        hits = self._cells[positive, positive]
        misses = sum(
            count
            for (truth, said), count in self._cells.items()
            if truth is not said and positive in (truth, said)
        )
        return 2 * hits / (2 * hits + misses) if hits + misses else None
