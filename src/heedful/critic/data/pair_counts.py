"""Counts of making pairs: items with and without pairs, critiques, segments, agreement."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Status
from heedful.critic.data.agreement import Agreement
from heedful.jobs.results import PROBLEMS_LISTED

if TYPE_CHECKING:
    from heedful.critic.data.candidates import CritiqueComparison, NoPairsError
    from heedful.critic.data.preferences import PreferencePair


class PairCounts:
    """Counts one pass over the items."""

    def __init__(self) -> None:
        self._with_pairs = 0
        self._reasons: Counter[str] = Counter()
        self._problems: list[dict[str, Any]] = []
        self._broken = 0
        self._critiques: Counter[str] = Counter(compared=0, unparsed=0, other_constraints=0)
        self._pairs = 0
        self._loose = 0
        self._chosen: Counter[Status] = Counter()
        self._agreement = Agreement()

    def without(self, line: int, name: str | None, error: NoPairsError) -> None:
        """Count an item without pairs; name it where something is wrong with it."""
        self._reasons[error.reason.value] += 1
        if error.reason.normal:
            return
        self._broken += 1
        if len(self._problems) < PROBLEMS_LISTED:
            self._problems.append({"line": line, "id": name, "problem": str(error)})

    def compared(self, comparison: CritiqueComparison) -> None:
        """Count an item's sampled critiques, and how they agree with the expert's."""
        self._critiques["compared"] += len(comparison.samples)
        self._critiques["unparsed"] += comparison.unparsed
        self._critiques["other_constraints"] += comparison.other_constraints
        for sampled in comparison.samples:
            self._agreement.add(comparison.expert, sampled.critique)

    def item(self) -> None:
        """Count an item with pairs."""
        self._with_pairs += 1

    def pair(self, pair: PreferencePair) -> None:
        """Count a pair, and the verdicts that its segments teach."""
        self._pairs += 1
        self._loose += not pair.strict
        self._chosen.update(segment.verdict for segment in pair.segments)

    def result(self) -> dict[str, Any]:
        """Lay out the counts."""
        return {
            "items": {
                "all": self._with_pairs + self._reasons.total(),
                "with_pairs": self._with_pairs,
                "broken": self._broken,
            },
            "pairs": self._pairs,
            "pairs_not_strict": self._loose,
            "segments": {
                "chosen_met": self._chosen[Status.MET],
                "chosen_unmet": self._chosen[Status.UNMET],
            },
            "without_pairs": dict(self._reasons.most_common()),
            "critiques": {"sampled": self._critiques.total(), **self._critiques},
            "agreement": self._agreement.result(),
            "problems": self._problems,
        }
