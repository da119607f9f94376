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
from heedful.metrics.family import Family, Units
from heedful.metrics.outcomes import VerdictCounts
from heedful.metrics.rates import measure
from heedful.metrics.reliability import Reliability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Critique, Sample, Scoring
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.reliability import Passes

SELECTION = ("composition", "Selection")


@dataclass
class SelectionGroup:
    """The items of a group: the place and the selections of its first one, and all verdicts."""

    first: float
    depth: int
    items: list[VerdictCounts] = field(default_factory=list)


class Coherence(Units):
    """Items by model and group."""

    def __init__(self, scoring: Scoring) -> None:
        self._scoring = scoring
        self._groups: dict[tuple[str, str], SelectionGroup] = {}

    def add(
        self, sample: Sample, _critique: Critique, row: RowOutcome, _states: Sequence[int]
    ) -> None:
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

    def metrics(self, *, readable: float) -> dict[str, Any]:
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
                    for counts, together in (groups.each(), groups.all_of_all())
                )
                measured |= {f"{kind}_origin": origin, f"{kind}_coherent": coherent}
                measured[f"{kind}_drop"] = {**coherent, "interval": None, **_drop(groups.passes)}
        return measured


def _drop(groups: Sequence[Passes]) -> dict[str, Any]:
    """Compute by how much coherent is below origin, as a share of it.

    The drop is least where the open items of a group are met that make all of it met, of the groups
    that lack fewest; it is greatest where all open items are met but one in each such group.
    """
    items = sum(map(sum, groups))
    all_met = sum(not failed and not left for _, failed, left in groups)
    met = sum(passed for passed, _, _ in groups)
    lacking = sorted(left for _, failed, left in groups if left and not failed)
    most = met + sum(left for _, _, left in groups) - len(lacking)

    def drop(coherent: int, origin: int) -> float:
        return 1 - coherent * items / (len(groups) * origin)

    least = [
        drop(all_met + number, met + sum(lacking[:number]))
        for number in range(len(lacking) + 1)
        if met + sum(lacking[:number])
    ]
    if not least or not most:
        return {"value": None, "bounds": None}
    bounds = [min(least), drop(all_met, most)]
    return {"value": bounds[0] if bounds[0] == bounds[1] else None, "bounds": bounds}


FAMILY = Family(
    "complexbench",
    "ComplexBench",
    lambda _row, _scoring: {},
    labels={
        **{
            f"{kind}_{name}": f"{name} test, {kind} selection"
            for kind in ("single", "multiple")
            for name in ("origin", "coherent")
        },
        "single_drop": "drop from origin to coherent, single selection",
        "multiple_drop": "drop from origin to coherent, multiple selection",
    },
    own=False,
    units=Coherence,
    asks_all=True,
)
