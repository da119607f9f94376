"""ComplexBench's coherent test: is every branch of a selection followed, or only some?

The items of a group are one instruction under the conditions of each branch. Origin is the share of
items with all questions met, coherent the share of groups with all items so, and drop how much
smaller that is, (origin - coherent) / origin. Groups whose first item has one question on a
selection are *single*, with more *multiple*; others aren't tested. Source: ComplexBench (arXiv
2407.03978, section 5.2.3, and its code).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from heedful.core.rubric import constraint_tags
from heedful.metrics.clusters import cluster_digest
from heedful.metrics.outcomes import VerdictCounts
from heedful.metrics.reliability import Reliability
from heedful.metrics.statistics import RateEstimate, measure

if TYPE_CHECKING:
    from heedful.core.nouns import Sample, Scoring
    from heedful.metrics.expectation import Prediction
    from heedful.metrics.outcomes import RowOutcome

SELECTION = ("composition", "Selection")


@dataclass
class SelectionGroup:
    """The items of a group: the place and the selections of its first one, and all verdicts."""

    first: float
    depth: int
    items: list[VerdictCounts] = field(default_factory=list)


class Coherence:
    """Accumulator of ComplexBench's items by model and group."""

    def __init__(self, scoring: Scoring) -> None:
        self._scoring = scoring
        self._groups: dict[tuple[str, str], SelectionGroup] = {}

    def add(self, sample: Sample, row: RowOutcome) -> None:
        """Take in an item; one that is in no group is left out."""
        name = sample.tags.get("group")
        if name is None or not row.verdicts.total:
            return
        key = str(sample.tags.get("model", "")), str(name)
        at = sample.tags.get("idx_in_group")
        place = float(at) if isinstance(at, int | float) else float("inf")
        group = self._groups.get(key)
        if group is None or place < group.first:
            depth = sum(SELECTION in constraint_tags(each) for each in sample.checklist)
            items = [] if group is None else group.items
            group = self._groups[key] = SelectionGroup(place, depth, items)
        verdicts = row.verdicts
        if self._scoring == "faithful":  # a question that could not be judged is not met
            verdicts = VerdictCounts(verdicts.met, verdicts.unmet + verdicts.undecided, 0)
        group.items.append(verdicts)

    def metrics(self, verdicts: Prediction | None, *, readable: float) -> dict[str, Any]:
        """Measure; nothing where no group has a selection."""
        measured: dict[str, Any] = {}
        for kind, depths in (("single", range(1, 2)), ("multiple", range(2, 1 << 30))):
            groups = Reliability(self._scoring)
            for (model, name), group in self._groups.items():
                if group.depth in depths:
                    cluster = cluster_digest(name, {}, name, ())
                    for item in group.items:
                        groups.count((model, name), cluster, item)
            if groups.most:
                origin, coherent = (
                    measure(counts, readable=readable, together=together)
                    for counts, together in (groups.each(verdicts), groups.all_of_all(verdicts))
                )
                measured |= {f"{kind}_origin": origin, f"{kind}_coherent": coherent}
                measured[f"{kind}_drop"] = _drop(origin, coherent)
        return measured


def _drop(origin: RateEstimate, coherent: RateEstimate) -> RateEstimate:
    """Compute by how much coherent is below origin, as a share of it."""

    def share(whole: float | None, part: float | None) -> float | None:
        return None if not whole or part is None else 1 - part / whole

    wholes, parts = origin["bounds"] or [0.0, 1.0], coherent["bounds"] or [0.0, 1.0]
    ends = share(wholes[0], parts[1]), share(wholes[1], parts[0])
    return {
        **coherent,
        "value": share(origin["value"], coherent["value"]),
        "interval": None,
        "bounds": [end for end in ends if end is not None] if None not in ends else None,
    }
