"""Rates with their intervals and bounds, and rank correlation.

A rate is a ratio of sums over clusters (samples, as a rule), and a cluster enters it only through
its contribution. Clusters that contribute the same are therefore counted, never kept: a million
samples have a few hundred distinct contributions.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypedDict, TypeVar

from heedful.metrics.proportions import (
    NORMAL_QUANTILE,
    Spread,
    mean_interval,
    rate_interval,
    stratified_interval,
)
from heedful.metrics.resampling import CELLS, LEVEL, REPLICATES, generator, percentiles

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "ClusterShare",
    "RateEstimate",
    "bootstrap_interval",
    "macro_measure",
    "measure",
    "ranks",
]

Pair = TypeVar("Pair", bound=tuple[float, float])


class ClusterShare(NamedTuple):
    """Contribution of one cluster to a rate.

    Attributes:
        numerator: its part of the rate's numerator.
        denominator: its part of the denominator; 0 leaves the cluster out of the rate.
        low: its units that count if every undecided verdict were unmet.
        high: the same if every undecided verdict were met.
        units: all of its units, decided or not.
        covered: how much of ``units`` rests on decided verdicts.
    """

    numerator: float
    denominator: int
    low: float
    high: float
    units: int
    covered: float


class RateEstimate(TypedDict):
    """A rate as it is reported.

    Attributes:
        value: the rate, ``None`` where nothing was decided.
        interval: 95 % interval, see :func:`heedful.metrics.proportions.rate_interval`; ``None``
            where fewer than two clusters were decided.
        numerator: the sum behind the rate.
        denominator: what it was divided by.
        undecided: units of which nothing was decided. Strict rates leave them out.
        coverage: share of the units that rest on decided verdicts, times the share of rows that
            could be read: a row that could not is taken to hold as many units as the others do.
        bounds: the rate if every undecided verdict were unmet, and if every one were met. The
            value lies between them.
    """

    value: float | None
    interval: list[float] | None
    numerator: float
    denominator: float
    undecided: int
    coverage: float
    bounds: list[float] | None


class Correlation(TypedDict):
    """A rank correlation: rho (``None`` where one side is constant), pairs, 95 % interval."""

    rho: float | None
    n: int
    interval: list[float] | None


def measure(
    shares: Mapping[ClusterShare, int], *, readable: float = 1.0, together: Spread | None = None
) -> RateEstimate:
    """Turn counted contributions into a reported rate.

    Args:
        shares: how many rows made each contribution.
        readable: share of the rows that could be read, 0 to 1.
        together: what changes because rows are not each a cluster by itself, see
            :class:`heedful.metrics.clusters.ClusterStore`.
    """
    interval = rate_interval(_spread(shares, together))
    return {**_point(shares, readable), "interval": list(interval) if interval else None}


def macro_measure(
    strata: Mapping[str, Mapping[ClusterShare, int]],
    *,
    readable: float = 1.0,
    together: Mapping[str, Spread] | None = None,
) -> RateEstimate:
    """Average a rate over strata (tasks), each weighing the same.

    Strata in which nothing was decided are left out of the value, not of coverage and bounds. For
    the interval, clusters vary within each stratum: the strata are given, not sampled.

    Args:
        strata: for each stratum what :func:`measure` takes.
        readable: as for :func:`measure`.
        together: for each stratum what :func:`measure` takes.

    Returns:
        The mean; ``numerator`` is the sum of the strata's rates, ``denominator`` their number.
    """
    parts = {key: _point(strata[key]) for key in sorted(strata)}
    values = [part["value"] for part in parts.values() if part["value"] is not None]
    bounds = [part["bounds"] for part in parts.values() if part["bounds"] is not None]
    interval = stratified_interval(
        [_spread(strata[key], (together or {}).get(key)) for key in sorted(strata)]
    )
    return RateEstimate(
        value=math.fsum(values) / len(values) if values else None,
        interval=list(interval) if interval else None,
        numerator=math.fsum(values),
        denominator=len(values),
        undecided=sum(part["undecided"] for part in parts.values()),
        coverage=readable * math.fsum(part["coverage"] for part in parts.values()) / len(parts)
        if parts
        else 0.0,
        bounds=[math.fsum(side) / len(bounds) for side in zip(*bounds, strict=True)]
        if bounds
        else None,
    )


def mean_measure(
    strata: Mapping[str, Mapping[tuple[ClusterShare, ...], int]], *, readable: float = 1.0
) -> RateEstimate:
    """Average rates that the same clusters contribute to, then average that over strata.

    A cluster has its part in every rate, so the interval knows that the rates go together. The
    strata are given, not sampled. Where one of the rates is not decided, neither is the mean: to
    average the others would be another quantity.

    Args:
        strata: for each stratum how many clusters contributed each tuple of k shares, one a rate.
        readable: as for :func:`measure`.

    Returns:
        The mean; ``numerator`` is the sum of the rates, ``denominator`` their number.
    """
    parts = [
        _point(_column(clusters, place))
        for clusters in strata.values()
        for place in range(len(next(iter(clusters))))
    ]
    values = [part["value"] for part in parts if part["value"] is not None]
    bounds = [part["bounds"] for part in parts if part["bounds"] is not None]
    decided = len(values) == len(parts) > 0
    interval = mean_interval([_pairs(clusters) for clusters in strata.values()])
    return RateEstimate(
        value=math.fsum(values) / len(values) if decided else None,
        interval=list(interval) if decided and interval else None,
        numerator=math.fsum(values),
        denominator=len(parts),
        undecided=sum(part["undecided"] for part in parts),
        coverage=readable * math.fsum(part["coverage"] for part in parts) / max(1, len(parts)),
        bounds=[math.fsum(side) / len(bounds) for side in zip(*bounds, strict=True)]
        if bounds
        else None,
    )


def bootstrap_interval(
    counts: Mapping[Pair, int],
    *,
    name: str,
    seed: int = 0,
    replicates: int = REPLICATES,
    level: float = LEVEL,
) -> tuple[float, float] | None:
    """Compute the percentile interval of a ratio of sums, resampling whole clusters.

    Drawing n clusters with replacement matters only through how often each distinct contribution
    is drawn, and those counts are multinomial. Drawing them directly is the clustered bootstrap
    itself, at a cost that does not grow with n.

    Args:
        counts: how many clusters contributed each (numerator, denominator).
        name: what is measured; it keeps the streams of different measures apart, so that none
            depends on which others are computed, or in which order.
        seed: any integer.
        replicates: number of resamples.
        level: coverage of the interval.

    Returns:
        Low and high; ``None`` where fewer than two clusters have a denominator: one says nothing
        of how they vary. Where all clusters are the same both are the rate itself.
    """
    counts = {pair: count for pair, count in counts.items() if pair[1] and count}
    if sum(counts.values()) < 2:  # noqa: PLR2004 - as above
        return None
    if len(counts) == 1:
        numerator, denominator = next(iter(counts))
        return (numerator / denominator,) * 2
    return percentiles(_replicates(counts, f"{seed}:{name}", replicates), level)


def spearman(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Compute Spearman's rank correlation, ties given their average rank.

    The interval is Fisher's z with the variance (1 + rho²/2) / (n - 3) of Bonett and Wright
    (2000, Psychometrika 65), which suits ranks better than Fisher's own 1 / (n - 3).

    Args:
        x: n numbers.
        y: n numbers, in the same order; a pair with a NaN on either side is left out.

    Returns:
        The correlation; no interval for fewer than four pairs.
    """
    import numpy as np

    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    known = ~(np.isnan(left) | np.isnan(right))
    left, right = left[known], right[known]
    n = len(left)
    if n < 2 or np.ptp(left) == 0 or np.ptp(right) == 0:  # noqa: PLR2004 - a pair at least
        return Correlation(rho=None, n=n, interval=None)
    deviations = [rank - rank.mean() for rank in (ranks(left), ranks(right))]
    norm = math.sqrt(float(deviations[0] @ deviations[0]) * float(deviations[1] @ deviations[1]))
    rho = min(1.0, max(-1.0, float(deviations[0] @ deviations[1]) / norm))
    return Correlation(rho=rho, n=n, interval=_fisher_interval(rho, n))


def _fisher_interval(rho: float, n: int) -> list[float] | None:
    if n <= 3:  # noqa: PLR2004 - the variance divides by n - 3
        return None
    if abs(rho) == 1:
        return [rho, rho]
    z = math.atanh(rho)
    margin = NORMAL_QUANTILE * math.sqrt((1 + rho * rho / 2) / (n - 3))
    return [math.tanh(z - margin), math.tanh(z + margin)]


def ranks(values: Floats) -> Floats:
    """Rank numbers from 1, ties given their average rank."""
    import numpy as np

    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = np.cumsum(counts) - (counts - 1) / 2
    return ranks[inverse]


def _point(shares: Mapping[ClusterShare, int], readable: float = 1.0) -> RateEstimate:
    """Turn counted contributions into a rate without its interval."""
    numerator, denominator = _total(shares, "numerator"), _total(shares, "denominator")
    units = _total(shares, "units")
    return RateEstimate(
        value=numerator / denominator if denominator else None,
        interval=None,
        numerator=numerator,
        denominator=denominator,
        undecided=_undecided(shares),
        coverage=_total(shares, "covered") / units * readable if units else 0.0,
        bounds=_bounds(shares),
    )


def _total(shares: Mapping[ClusterShare, int], field: str) -> float:
    """Sum a field over all clusters: exact for whole numbers, else not dependent on the order."""
    products = [getattr(share, field) * count for share, count in shares.items()]
    whole = all(isinstance(product, int) for product in products)
    return sum(products) if whole else math.fsum(products)


def _undecided(shares: Mapping[ClusterShare, int]) -> int:
    # Rounding down keeps a sample whose verdicts are decided in part from counting as undecided.
    return sum(int(share.units - share.covered) * count for share, count in shares.items())


def _bounds(shares: Mapping[ClusterShare, int]) -> list[float] | None:
    units = _total(shares, "units")
    return [_total(shares, side) / units for side in ("low", "high")] if units else None


def _spread(shares: Mapping[ClusterShare, int], together: Spread | None) -> Spread:
    spread = Spread.of((share[:2], count) for share, count in shares.items())
    return spread if together is None else spread.plus(together)


def _column(
    clusters: Mapping[tuple[ClusterShare, ...], int], place: int
) -> dict[ClusterShare, int]:
    """Count the contributions to one of the rates."""
    counts: dict[ClusterShare, int] = {}
    for shares, count in clusters.items():
        counts[shares[place]] = counts.get(shares[place], 0) + count
    return counts


def _pairs(
    clusters: Mapping[tuple[ClusterShare, ...], int],
) -> Counter[tuple[tuple[float, float], ...]]:
    """Count the clusters by numerators and denominators only."""
    counts: Counter[tuple[tuple[float, float], ...]] = Counter()
    for shares, count in clusters.items():
        counts[tuple(share[:2] for share in shares)] += count
    return counts


def _replicates(counts: Mapping[Pair, int], stream: str, size: int) -> Floats:
    """Sample the rate ``size`` times; contributions are sorted so that their order is no matter."""
    import numpy as np

    random = generator(stream)
    pairs = sorted(counts)
    weights = np.array([counts[pair] for pair in pairs], dtype=np.int64)
    n = int(weights.sum())
    if pairs == [(0, 1), (1, 1)]:  # the multinomial of two classes, drawn in one go
        return random.binomial(n, weights[1] / n, size) / n
    numerators, denominators = np.array(pairs, dtype=np.float64).T
    rates = np.empty(size)
    block = max(1, CELLS // len(pairs))
    for start in range(0, size, block):
        multiplicities = random.multinomial(n, weights / n, min(block, size - start))
        rates[start : start + block] = (multiplicities @ numerators) / (
            multiplicities @ denominators
        )
    return rates
