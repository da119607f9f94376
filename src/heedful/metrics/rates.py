"""Rates: a number where everything they need is decided, and a range where it isn't.

A rate is a ratio of sums over clusters (samples, as a rule), and a cluster enters it only through
its contribution: what counts whatever its undecided verdicts are, what would count if all of them
were met, and how many units it has. Clusters that contribute the same are counted, not stored: a
million samples have a few hundred distinct contributions.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict

from heedful.metrics.proportions import Spread, mean_interval, rate_interval, stratified_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from heedful.metrics.proportions import Interval, Pair


class Share(NamedTuple):
    """Contribution of one cluster to a rate.

    Attributes:
        low: its units that count if every undecided verdict were unmet.
        high: the same if every undecided verdict were met.
        units: all of its units.
    """

    low: float
    high: float
    units: int

    @classmethod
    def known(cls, counted: float, units: int = 1) -> Share:
        """Return a contribution that nothing undecided can change."""
        return cls(counted, counted, units)

    @classmethod
    def of(cls, values: Sequence[bool | None]) -> Share:
        """Contribute units that count or don't; ``None`` where that isn't decided."""
        counted = values.count(True)
        return cls(counted, counted + values.count(None), len(values))

    @property
    def undecided(self) -> int:
        """Its units that may count or not."""
        return min(self.units, math.ceil(self.high - self.low))

    def __add__(self, other: object) -> Share:
        """Add two up (a plain tuple would concatenate)."""
        if not isinstance(other, Share):
            return NotImplemented
        return Share(self.low + other.low, self.high + other.high, self.units + other.units)


class RateEstimate(TypedDict):
    """A rate as it is reported, see ``docs/reference/summary.md``.

    The value is ``None`` where something undecided can change it. A range's interval goes from the
    lower limit of its lower end to the upper limit of its upper end. A row that could not be read
    is taken to hold as many units as the others do.
    """

    value: float | None
    bounds: list[float] | None
    interval: list[float] | None
    numerator: float
    denominator: int
    undecided: int
    coverage: float
    rates: NotRequired[int]


NO_SPREAD = Spread()


class EndSpreads(NamedTuple):
    """How the two ends of a rate vary between clusters."""

    low: Spread = NO_SPREAD
    high: Spread = NO_SPREAD

    @classmethod
    def of(cls, shares: Iterable[tuple[Share, int]]) -> EndSpreads:
        """Add up clusters."""
        counted = list(shares)
        low = Spread.of(((share.low, share.units), count) for share, count in counted)
        high = Spread.of(((share.high, share.units), count) for share, count in counted)
        return cls(low, high)

    @classmethod
    def together(cls, rows: Sequence[Share]) -> EndSpreads:
        """Return the change when rows that were added one by one are a single cluster."""
        low = Spread.together([(share.low, share.units) for share in rows])
        if all(share.low == share.high for share in rows):  # nearly always: half the work
            return cls(low, low)
        return cls(low, Spread.together([(share.high, share.units) for share in rows]))

    @classmethod
    def of_clusters(cls, clusters: Iterable[Sequence[Share]]) -> EndSpreads:
        """Add up the changes of clusters."""
        together = cls()
        for rows in clusters:
            if len(rows) > 1:
                together = together.plus(cls.together(rows))
        return together

    def plus(self, other: EndSpreads | None) -> EndSpreads:
        """Add two up."""
        if other is None:
            return self
        return EndSpreads(self.low.plus(other.low), self.high.plus(other.high))

    def interval(self, of: Callable[[Spread], Interval | None]) -> Interval | None:
        """Reach from the lower limit of the lower end to the upper limit of the upper end."""
        low = of(self.low)
        high = low if self.low == self.high else of(self.high)
        return None if low is None or high is None else (low[0], high[1])


def known_value(share: Share) -> float | None:
    """Compute the rate of one contribution; ``None`` where something undecided can change it."""
    return share.low / share.units if share.units and share.low == share.high else None


def measure(
    shares: Mapping[Share, int],
    *,
    readable: float = 1.0,
    together: EndSpreads | None = None,
    span: tuple[int, int] = (0, 1),
) -> RateEstimate:
    """Turn counted contributions into a reported rate.

    ``readable`` is the share of the rows that could be read; ``together`` what changes because rows
    vary together (:class:`heedful.metrics.clusters.ClusterStore`); ``span`` the whole numbers
    between which a unit's value lies: scores can be below 0 or above 1.
    """
    rate = _point(shares, readable, span)
    if rate["bounds"] is None:
        return rate
    least, most = span
    spreads = EndSpreads.of(shares.items()).plus(together)
    values = span != (0, 1)
    ends = spreads.interval(
        lambda spread: rate_interval(_scaled(spread, least, most), values=values)
    )
    if ends is not None:
        low, high = (least + end * (most - least) for end in ends)
        rate["interval"] = _with_unread(low, high, readable, span)
    return rate


def macro_measure(
    strata: Mapping[str, Mapping[Share, int]],
    *,
    readable: float = 1.0,
    together: Mapping[str, EndSpreads] | None = None,
    digits: int | None = None,
) -> RateEstimate:
    """Average a rate over strata (tasks), each weighing the same.

    For the interval, clusters vary within each stratum: the strata are given, not sampled.
    """
    keys = [key for key in sorted(strata) if any(share.units for share in strata[key])]
    parts = [_point(strata[key], readable) for key in keys]
    spreads = [EndSpreads.of(strata[key].items()).plus((together or {}).get(key)) for key in keys]
    ends = [stratified_interval([each[at] for each in spreads]) for at in (0, 1)]
    return _averaged(parts, ends, readable, digits)


def mean_measure(
    strata: Mapping[str, Mapping[tuple[Share, ...], int]], *, readable: float = 1.0
) -> RateEstimate:
    """Average rates that the same clusters contribute to, then average that over strata.

    A cluster has its part in every rate, so the interval knows that the rates go together. The
    strata are given, not sampled. Where one of the rates has no units, there is no mean: to average
    the others would be another quantity.
    """
    parts = [
        _point(_column(clusters, place), readable)
        for clusters in strata.values()
        for place in range(len(next(iter(clusters))))
    ]
    ends = [mean_interval([_pairs(each, at) for each in strata.values()]) for at in (0, 1)]
    return _averaged(parts, ends, readable)


def _averaged(
    parts: Sequence[RateEstimate],
    ends: Sequence[Interval | None],
    readable: float,
    digits: int | None = None,
) -> RateEstimate:
    """Average rates, given the intervals of the means of their lower and their upper ends."""
    known = [part["bounds"] for part in parts if part["bounds"] is not None]
    if digits is not None:
        known = [[round(end, digits) for end in bounds] for bounds in known]
    bounds = [math.fsum(side) / len(known) for side in zip(*known, strict=True)] if known else None
    decided = len(known) == len(parts) and all(part["value"] is not None for part in parts)
    low, high = ends
    return RateEstimate(
        value=bounds[0] if bounds and decided else None,
        bounds=bounds,
        interval=_with_unread(low[0], high[1], readable) if low and high else None,
        numerator=math.fsum(low for low, _ in known),
        denominator=len(parts),
        undecided=sum(part["value"] is None for part in parts),
        coverage=math.fsum(part["coverage"] for part in parts) / max(1, len(parts)),
        rates=len(parts),
    )


def _point(
    shares: Mapping[Share, int], readable: float, span: tuple[int, int] = (0, 1)
) -> RateEstimate:
    """Turn counted contributions into a rate without its interval."""
    units = sum(share.units * count for share, count in shares.items())
    undecided = sum(share.undecided * count for share, count in shares.items())
    low, high = (_total(shares, side) for side in ("low", "high"))
    bounds = _with_unread(low / units, high / units, readable, span) if units else None
    decided = readable == 1 and all(share.low == share.high for share in shares)
    return RateEstimate(
        value=bounds[0] if bounds and decided else None,
        bounds=bounds,
        interval=None,
        numerator=low,
        denominator=units,
        undecided=undecided,
        coverage=(1 - undecided / units) * readable if units else 0.0,
    )


def _with_unread(
    low: float, high: float, readable: float, span: tuple[int, int] = (0, 1)
) -> list[float]:
    """Take the rows that could not be read at their worst, and at their best."""
    least, most = span
    return [low * readable + least * (1 - readable), high * readable + most * (1 - readable)]


def _total(shares: Mapping[Share, int], field: str) -> float:
    """Sum a field over all clusters: exact for whole numbers, else not dependent on the order."""
    products = [getattr(share, field) * count for share, count in shares.items()]
    whole = all(isinstance(product, int) for product in products)
    return sum(products) if whole else math.fsum(products)


def _scaled(spread: Spread, least: int, most: int) -> Spread:
    """Return the sums of (numerator - least x denominator) / (most - least)."""
    if (least, most) == (0, 1):
        return spread
    width = most - least
    return spread._replace(
        y=(spread.y - least * spread.m) // width,
        yy=(spread.yy - 2 * least * spread.ym + least**2 * spread.mm) // width**2,
        ym=(spread.ym - least * spread.mm) // width,
    )


def _column(clusters: Mapping[tuple[Share, ...], int], place: int) -> Counter[Share]:
    """Count the contributions to one of the rates."""
    counts: Counter[Share] = Counter()
    for shares, count in clusters.items():
        counts[shares[place]] += count
    return counts


def _pairs(clusters: Mapping[tuple[Share, ...], int], side: int) -> Counter[tuple[Pair, ...]]:
    """Count the clusters by one end of their parts, and their units."""
    counts: Counter[tuple[Pair, ...]] = Counter()
    for shares, count in clusters.items():
        counts[tuple((share[side], share.units) for share in shares)] += count
    return counts
