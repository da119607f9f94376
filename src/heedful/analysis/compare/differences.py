"""Paired differences of rates: added up cluster by cluster, then resampled."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from heedful.metrics.contrasts import Contrast, contrast
from heedful.metrics.gathering import GROUPS
from heedful.metrics.outcomes import unpack
from heedful.metrics.satisfaction import BASES, FAMILIES
from heedful.metrics.shares import pooled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Scoring
    from heedful.metrics.contrasts import Sums
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.statistics import ClusterShare

    Rate = tuple[str, str]
    """A family and the name of one of its rates."""

    Four = tuple[float, float, float, float]
    """Numerator and denominator of the first side, then of the second."""

    Key = tuple[str, str, str, str]
    """A dimension and a group, empty for all, then a family and the name of a rate."""

NOT_ROW_BY_ROW = {("advancedif", "success")}
"""Rates of each judge's own results, which undecided verdicts of the other side don't change."""

NOTHING = (0.0, 0.0, 0.0, 0.0)


class Difference(Contrast):
    """A contrast, and what it rests on.

    Attributes:
        compared: samples that are in it; of SysBench's SSR systems, of FollowBench's CSL examples.
        coverage: share of the paired samples' units that were decided on both sides.
        bounds: the difference if all else were unmet on the first side and met on the second, and
            the other way round.
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
        extremes: of both sides the units that count if all that isn't compared is unmet, those that
            count if it is met, and all units.
    """

    sums: Four
    units: int
    covered: float
    extremes: tuple[float, ...]


@lru_cache(maxsize=1 << 16)
def parts(
    first_row: RowOutcome,
    second_row: RowOutcome,
    scorings: tuple[Scoring, Scoring],
) -> tuple[tuple[Rate, Part], ...]:
    """Pair two rows' contributions to every rate that both have a part in.

    Under strict scoring a row of which anything is undecided has no part in rates over rows. An
    estimate for those that can still pass would be evidence in a test of the difference. Taking in
    those that are known to fail, but not these, would make the difference too small.

    Cached, because a million rows come to a few thousand distinct pairs of outcomes.
    """
    first, second = (
        {
            (family, name): share
            for family, contribute in FAMILIES.items()
            for name, share in contribute(row, scoring).items()
        }
        for row, scoring in zip((first_row, second_row), scorings, strict=True)
    )
    strict = scorings == ("strict", "strict")
    return tuple(
        (
            rate,
            joint(
                share,
                second[rate],
                whole=not strict
                or rate not in BASES
                or all(_whole(side.get(BASES[rate])) for side in (first, second)),
            ),
        )
        for rate, share in first.items()
        if rate in second and rate not in NOT_ROW_BY_ROW
    )


def _whole(verdicts: ClusterShare | None) -> bool:
    """Check whether all verdicts behind a row's rate are decided, as far as it is over rows."""
    return verdicts is None or verdicts.covered == verdicts.units


@lru_cache(maxsize=1 << 16)
def pooled_part(first: int, second: int) -> Part:
    """Pair two packed counts as parts of the rate over constraints."""
    return joint(pooled(unpack(first)), pooled(unpack(second)))


def joint(first: ClusterShare, second: ClusterShare, *, whole: bool = True) -> Part:
    """Pair two contributions; what either side leaves out is in neither."""
    units = max(first.units, second.units)
    # They have as many units unless something applies on one side only, which is decided.
    decided = min(side.covered / side.units if side.units else 1.0 for side in (first, second))
    covered = decided * units
    if not (whole and first.denominator and second.denominator):
        # Whatever is known of it, so that the difference lies between its bounds.
        ends = [
            end
            for side in (first, second)
            for end in (min(0.0, side.low), max(side.units, side.high), side.units)
        ]
        return Part(NOTHING, units, 0.0, tuple(ends))
    extremes = (first.low, first.high, first.units, second.low, second.high, second.units)
    sums = (first.numerator, first.denominator, second.numerator, second.denominator)
    return Part(sums, units, covered, extremes)


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

    def rates(self, dimension: str = "", group: str = "") -> list[Rate]:
        """Return the rates that were compared, over all pairs or those of a group."""
        return [key[2:] for key in self._compared if key[:2] == (dimension, group)]

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
        compared = {group: key for group, key in keys.items() if self._compared[key]}
        contrasted = contrast(
            {group: self._clusters.counted(key) for group, key in compared.items()}, seed=seed
        )
        units = [(self._covered.get(key, 0.0), self._units[key]) for key in keys.values()]
        return Difference(
            **contrasted,
            compared=sum(self._compared[key] for key in compared.values()),
            coverage=sum(part / of for part, of in units if of) / max(1, len(units)),
            bounds=bounds([self._extremes[key] for key in keys.values() if key in self._extremes]),
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


def bounds(strata: Sequence[tuple[float, ...]]) -> list[float] | None:
    """Compute the bounds of a difference, averaged over strata."""
    ends = [
        (low / units - other_high / other_units, high / units - other_low / other_units)
        for low, high, units, other_low, other_high, other_units in strata
        if units and other_units
    ]
    return [sum(side) / len(ends) for side in zip(*ends, strict=True)] if ends else None
