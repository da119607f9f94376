"""Paired differences of rates: added up cluster by cluster, then resampled."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from heedful.metrics.contrasts import Contrast, contrast
from heedful.metrics.family import all_families
from heedful.metrics.gathering import GROUPS
from heedful.metrics.outcomes import pooled, unpack
from heedful.metrics.summary import contributions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Scoring
    from heedful.metrics.contrasts import Sums
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rates import Share

    Rate = tuple[str, str]
    """A family and the name of one of its rates."""

    Four = tuple[float, float, float, float]
    """Numerator and denominator of the first side, then of the second."""

    Key = tuple[str, str, str, str]
    """A dimension and a group, empty for all, then a family and the name of a rate."""

NOTHING = (0.0, 0.0, 0.0, 0.0)


class Difference(Contrast):
    """A contrast, and what it rests on.

    Attributes:
        compared: samples that are in it; of SysBench's SSR systems, of FollowBench's CSL examples.
        coverage: share of the paired samples' units that were decided on both sides.
        bounds: the difference if all that is undecided were unmet on the first side and met on the
            second, and the other way round.
    """

    compared: int
    coverage: float
    bounds: list[float] | None


class Part(NamedTuple):
    """Contribution of a pair to a rate.

    Attributes:
        sums: numerator and denominator of both sides.
        units: of the side that has more.
        covered: units decided on both sides.
        extremes: of both sides the units that count if all that isn't decided is unmet, those that
            count if it is met, and all units.
    """

    sums: Four
    units: int
    covered: float
    extremes: tuple[float, ...]
    known: Four | None
    """The sums where the rate of both sides is known, whatever the undecided verdicts are."""


class PairRows(NamedTuple):
    """The outcomes of a pair.

    Attributes:
        alone: of both sides as each judged its row.
        shared: the same without the constraints that only one side decided, or neither.
    """

    alone: tuple[RowOutcome, RowOutcome]
    shared: tuple[RowOutcome, RowOutcome]

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
    """Adds up four numbers by key and cluster, and counts the clusters that came to the same."""

    def __init__(self) -> None:
        self._cluster: int | None = None
        self._open: dict[Key, Four] = {}
        self._closed: dict[Key, Counter[Sums]] = {}

    def begin(self, cluster: int) -> None:
        """Begin a cluster; all that belongs to it must follow before the next."""
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


class Differences:
    """The rates of both sides by group; memory grows with groups and distinct sums only.

    Attributes:
        dropped: dimensions with more than :data:`GROUPS` groups, which are left out.
    """

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self._compared: Counter[Key] = Counter()
        self._units: Counter[Key] = Counter()
        self._covered: dict[Key, float] = {}
        self._extremes: dict[Key, tuple[float, ...]] = {}
        self._open: set[Key] = set()
        self._groups: dict[str, set[str]] = {}
        self.dropped: set[str] = set()

    def add(self, rate: Rate, part: Part, dimension: str = "", group: str = "") -> None:
        """Add a pair's part of a rate, of all pairs or of a group."""
        if dimension and not self._room(dimension, group):
            return
        key = (dimension, group, *rate)
        self._units[key] += part.units
        self._covered[key] = self._covered.get(key, 0.0) + part.covered
        before = self._extremes.get(key, (0.0,) * len(part.extremes))
        self._extremes[key] = tuple(map(add, before, part.extremes))
        if part.sums[1]:
            self._compared[key] += 1
            self._clusters.add(key, part.sums)
        if part.known is None:
            self._open.add(key)
        elif key not in self._open and part.known[1]:
            self._compared[_known(key)] += 1
            self._clusters.add(_known(key), part.known)

    def rates(self, dimension: str = "", group: str = "") -> list[Rate]:
        """Return the rates that were compared, over all pairs or those of a group."""
        compared = (self._chosen(key) for key in self._units if key[:2] == (dimension, group))
        return [key[2:] for key in compared if self._compared[key]]

    def groups(self, dimension: str) -> list[str]:
        """Return the groups of a dimension, by name."""
        return sorted(self._groups.get(dimension, ()))

    def result(self, rate: Rate, dimension: str = "", group: str = "", *, seed: int) -> Difference:
        """Compute a difference of one rate."""
        key = (dimension, group, *rate)
        return self._difference({"": key}, seed=seed)

    def macro(self, rate: Rate, dimension: str, *, seed: int) -> Difference:
        """Compute a difference of the mean of a rate over groups, each weighing the same.

        Groups of which nothing was compared are left out of the mean, not of the coverage.
        """
        keys = {group: (dimension, group, *rate) for group in self.groups(dimension)}
        return self._difference(keys, seed=seed)

    def _difference(self, keys: Mapping[str, Key], *, seed: int) -> Difference:
        chosen = {group: self._chosen(key) for group, key in keys.items()}
        compared = {group: key for group, key in chosen.items() if self._compared[key]}
        contrasted = contrast(
            {group: self._clusters.counted(key) for group, key in compared.items()}, seed=seed
        )
        units = [
            (
                self._units[key] if chosen[group] != key else self._covered.get(key, 0.0),
                self._units[key],
            )
            for group, key in keys.items()
        ]
        return Difference(
            **contrasted,
            compared=sum(self._compared[key] for key in compared.values()),
            coverage=sum(part / of for part, of in units if of) / max(1, len(units)),
            bounds=bounds([self._extremes[key] for key in keys.values() if key in self._extremes]),
        )

    def _chosen(self, key: Key) -> Key:
        """Choose all pairs where their rates are known, else those of which all is decided."""
        known = _known(key)
        return (
            known if key not in self._open and self._compared[known] > self._compared[key] else key
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


def bounds(strata: Sequence[tuple[float, ...]]) -> list[float] | None:
    """Compute the bounds of a difference, averaged over strata."""
    ends = [
        (low / units - other_high / other_units, high / units - other_low / other_units)
        for low, high, units, other_low, other_high, other_units in strata
        if units and other_units
    ]
    return [sum(side) / len(ends) for side in zip(*ends, strict=True)] if ends else None
