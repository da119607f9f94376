"""Paired differences of rates, summed by cluster."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.metrics.contrasts import Contrast, adjust_p, contrast
from heedful.metrics.family import all_families
from heedful.metrics.gathering import GROUPS
from heedful.metrics.outcomes import pooled, unpack
from heedful.metrics.summary import contributions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from heedful.core.nouns import Scoring
    from heedful.metrics.contrasts import Sums
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rates import Share

    Rate = tuple[str, str]
    """A family and the name of one of its rates."""

    Four = tuple[float, float, float, float]
    """Numerator and denominator of the first side, then of the second."""

    Extremes = tuple[float, ...]
    """Of either side the units that count if all that isn't decided is unmet, those that count if
    it is met, and all units."""

    Key = tuple[str, str, str, str]
    """A dimension and a group, empty for all, then a family and the name of a rate."""

NOTHING = (0.0, 0.0, 0.0, 0.0)


class Difference(Contrast):
    """A contrast, and what it rests on."""

    compared: int
    """Samples; of a rate over units of several rows, such as SysBench's SSR, these units."""

    coverage: float
    """Share of the paired samples' units that were decided on both sides."""

    bounds: list[float] | None
    """The difference if all that is undecided were unmet on the first side and met on the second,
    and the other way round."""


class Part(NamedTuple):
    """Contribution of a pair to a rate."""

    sums: Four
    units: int  # of the side that has more
    covered: float  # units decided on both sides
    extremes: Extremes
    known: Four | None
    """The sums where the rate of both sides is known, whatever the undecided verdicts are."""


class PairRows(NamedTuple):
    """The outcomes of a pair."""

    alone: tuple[RowOutcome, RowOutcome]
    shared: tuple[RowOutcome, RowOutcome]
    """The same without the constraints that only one side decided, or neither."""

    @property
    def covered(self) -> float:
        """Share of the verdicts that both sides decided."""
        return shared_part(
            [row.verdicts.total for row in self.alone], [row.verdicts.total for row in self.shared]
        )


@lru_cache(maxsize=1 << 16)
def parts(rows: PairRows, scorings: tuple[Scoring, Scoring]) -> tuple[tuple[Rate, Part], ...]:
    """Pair two rows' contributions to every rate that both have a part in.

    A row of which anything is undecided has no part in rates over rows as long as some row can
    still pass: taking in only those that are known to fail would make the difference too small.

    Cached, because a million rows come to a few thousand distinct pairs of outcomes.
    """
    alone, shared = (
        [
            contributions([row], scoring, every=True)[0]
            for row, scoring in zip(pair, scorings, strict=True)
        ]
        for pair in rows
    )
    families = all_families(rows.alone[0].benchmark)
    found = []
    for rate in alone[0]:
        if rate not in alone[1]:
            continue
        family = families[rate[0]]
        ends = alone[0][rate], alone[1][rate]
        if rate[1] in family.of_judge:
            found.append((rate, joint(ends, ends, 1.0)))
            continue
        whole = rows.covered == 1 or rate[1] not in family.over_rows
        both = (shared[0].get(rate), shared[1].get(rate)) if whole else None
        found.append((rate, joint(ends, both, rows.covered)))
    return tuple(found)


@lru_cache(maxsize=1 << 16)
def pooled_part(alone: tuple[int, int], shared: tuple[int, int]) -> Part:
    """Pair packed counts as parts of the rate over constraints."""
    whole = pooled(unpack(alone[0])), pooled(unpack(alone[1]))
    both = pooled(unpack(shared[0])), pooled(unpack(shared[1]))
    covered = shared_part([share.units for share in whole], [share.units for share in both])
    return joint(whole, both, covered)


def shared_part(alone: Sequence[int], shared: Sequence[int]) -> float:
    """Compute what share both sides decided; what applies on one side only is decided."""
    return min(part / whole if whole else 1.0 for whole, part in zip(alone, shared, strict=True))


def joint(
    alone: tuple[Share, Share], shared: tuple[Share | None, Share | None] | None, covered: float
) -> Part:
    """Pair two contributions: what both sides decided, and what either can come to."""
    extremes = (*alone[0], *alone[1])
    units = max(share.units for share in alone)
    known = None if any(share.undecided for share in alone) else _sums(*alone)
    sums = NOTHING
    if shared is not None and all(share and not share.undecided for share in shared):
        sums = _sums(shared[0] or alone[0], shared[1] or alone[1])
    return Part(sums, units, covered * units if sums[1] else 0.0, extremes, known)


def _sums(first: Share, second: Share) -> Four:
    if not first.units or not second.units:
        return NOTHING
    return (first.low, first.units, second.low, second.units)


class Clusters:
    """Sums of four numbers by key and cluster, and how many clusters have equal sums."""

    def __init__(self) -> None:
        self._cluster: int | None = None
        self._open: dict[Key, Four] = {}
        self._closed: dict[Key, Counter[Sums]] = {}

    def begin(self, cluster: int) -> None:
        """Begin a cluster; all of its pairs must follow before the next begins."""
        if cluster != self._cluster:
            self._close()
            self._cluster = cluster

    def add(self, key: Key, numbers: Four) -> None:
        """Add to the sums of the cluster that was begun."""
        before = self._open.get(key)
        if before is None:
            self._open[key] = numbers
        else:
            a, b, c, d = before
            self._open[key] = (a + numbers[0], b + numbers[1], c + numbers[2], d + numbers[3])

    def counted(self, key: Key) -> Counter[Sums]:
        """Count the clusters by their sums."""
        self._close()
        return self._closed.get(key, Counter())

    def _close(self) -> None:
        for key, numbers in self._open.items():
            counts = self._closed.get(key)
            if counts is None:
                counts = self._closed[key] = Counter()
            counts[numbers] += 1
        self._open.clear()


class Total:
    """Sums of the parts that pairs have in one rate."""

    def __init__(self) -> None:
        self.units = 0
        self.covered = 0.0
        self.extremes: Extremes = (0.0,) * 6
        self.compared = 0  # pairs decided on both sides
        self._known = 0  # pairs of which the rate of both sides is known
        self._open = False

    def add(self, part: Part) -> None:
        """Add a pair's part."""
        self.units += part.units
        self.covered += part.covered
        self.extremes = tuple(map(add, self.extremes, part.extremes))
        self.compared += part.sums[1] > 0
        if part.known is None:
            self._open = True
        else:
            self._known += part.known[1] > 0

    @property
    def known(self) -> int:
        """The pairs whose rates are known, if all are and more than were decided; otherwise 0."""
        return self._known if not self._open and self._known > self.compared else 0


class Differences:
    """The rates of both sides by group; memory grows with groups and distinct sums only."""

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self._totals: dict[Key, Total] = {}
        self._groups: dict[str, set[str]] = {}
        self.dropped: set[str] = set()  # dimensions with more than GROUPS groups

    def add(self, rate: Rate, part: Part, dimension: str = "", group: str = "") -> None:
        """Add a pair's part of a rate, of all pairs or of a group."""
        if dimension and not self._room(dimension, group):
            return
        key = (dimension, group, *rate)
        total = self._totals.get(key)
        if total is None:
            total = self._totals[key] = Total()
        total.add(part)
        if part.sums[1]:
            self._clusters.add(key, part.sums)
        if part.known is not None and part.known[1]:
            self._clusters.add(_known(key), part.known)

    def rates(self, dimension: str = "", group: str = "") -> list[Rate]:
        """Return the rates that were compared, over all pairs or those of a group."""
        return [
            key[2:]
            for key, total in self._totals.items()
            if key[:2] == (dimension, group) and (total.known or total.compared)
        ]

    def groups(self, dimension: str) -> list[str]:
        """Return the groups of a dimension, by name."""
        return sorted(self._groups.get(dimension, ()))

    def result(self, rate: Rate, dimension: str = "", group: str = "", *, seed: int) -> Difference:
        """Compute a difference of one rate."""
        return self._difference([(dimension, group, *rate)], seed)

    def macro(self, rate: Rate, dimension: str, *, seed: int) -> Difference:
        """Compute a difference of the mean of a rate over groups, each weighing the same.

        Groups of which nothing was compared are left out of the mean, not of the coverage.
        """
        return self._difference(
            [(dimension, group, *rate) for group in self.groups(dimension)], seed
        )

    def _difference(self, keys: Sequence[Key], seed: int) -> Difference:
        """Average over keys: of all pairs if all are known, else of those that both decided."""
        totals = {key: self._totals.get(key, Total()) for key in keys}
        strata = {
            key[1]: self._clusters.counted(_known(key) if total.known else key)
            for key, total in totals.items()
            if total.known or total.compared
        }
        shares = [
            1.0 if total.known else total.covered / total.units
            for total in totals.values()
            if total.units
        ]
        return Difference(
            **contrast(strata, seed=seed),
            compared=sum(total.known or total.compared for total in totals.values()),
            coverage=sum(shares) / max(1, len(totals)),
            bounds=bounds([total.extremes for total in totals.values()]),
        )

    def _room(self, dimension: str, group: str) -> bool:
        """Check whether there is room for a group: a breakdown by too many values helps nobody."""
        known = self._groups.setdefault(dimension, set())
        if dimension not in self.dropped:
            known.add(group)
            if len(known) > GROUPS:
                self.dropped.add(dimension)
                known.clear()
        return dimension not in self.dropped


def _known(key: Key) -> Key:
    return (f"known {key[0]}", key[1], key[2], key[3])


def bounds(strata: Iterable[Extremes]) -> list[float] | None:
    """Compute the bounds of a difference, averaged over strata."""
    ends = [
        (low / units - other_high / other_units, high / units - other_low / other_units)
        for low, high, units, other_low, other_high, other_units in strata
        if units and other_units
    ]
    return [sum(side) / len(ends) for side in zip(*ends, strict=True)] if ends else None


def adjust_rates(shown: Iterable[Mapping[str, Mapping[str, Any]]]) -> None:
    """Adjust the p-values of each rate for how often it is shown (Holm), in place."""
    together: dict[Rate, list[dict[str, Any]]] = {}
    for metrics in shown:
        for family, rates in metrics.items():
            for name, measured in rates.items():
                together.setdefault((family, name), []).append(measured)
    for measures in together.values():
        adjust_p(measures)
