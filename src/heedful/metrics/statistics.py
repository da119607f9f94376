"""Rates with their intervals and bounds, and rank correlation.

A rate is a ratio of sums over clusters (samples, as a rule), and a cluster enters it only through
its contribution. Clusters that contribute the same are counted, not stored: a million samples have
a few hundred distinct contributions.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict

from heedful.metrics.agreement import IntervalEstimate
from heedful.metrics.proportions import (
    CORRELATION,
    NORMAL_QUANTILE,
    SCALE,
    WEIGHT,
    Spread,
    mean_interval,
    rate_interval,
    stratified_interval,
    student,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from heedful.metrics.expectation import OpenOutcome, Prediction

    Floats = NDArray[np.float64]

__all__ = ["ClusterShare", "RateEstimate", "macro_measure", "measure"]


class ClusterShare(NamedTuple):
    """Contribution of one cluster to a rate.

    Attributes:
        numerator: its part of the rate's numerator.
        denominator: its part of the denominator; 0 leaves the cluster out of the rate.
        low: its units that count if every undecided verdict were unmet.
        high: the same if every undecided verdict were met.
        units: all of its units, decided or not.
        covered: how much of ``units`` rests on decided verdicts.
        open: what decides about a unit that can still pass or fail, see :meth:`settled`. A rate
            that rests on such units alone rests on nothing: it has no value.
    """

    numerator: float
    denominator: int
    low: float
    high: float
    units: int
    covered: float
    open: OpenOutcome | None = None

    def settled(self, prediction: Prediction | None) -> ClusterShare:
        """Return the share with an open outcome taken at its expectation.

        Samples that are known to fail are in the rate whatever is undecided in them. To leave out
        only those that may still pass would bias the rate downwards.
        """
        if self.open is None or prediction is None:
            return self
        return self._replace(numerator=prediction.chance(self.open), denominator=1)


class RateEstimate(TypedDict):
    """A rate as it is reported.

    Attributes:
        value: the rate, ``None`` where nothing was decided.
        interval: 95 % interval, see :func:`heedful.metrics.proportions.rate_interval`; ``None``
            where fewer than two clusters were decided.
        numerator: the sum behind the rate.
        denominator: what it was divided by.
        undecided: units that were not decided.
        coverage: share of the units that rest on decided verdicts, times the share of rows that
            could be read: a row that could not is taken to hold as many units as the others do.
        bounds: the rate if every undecided verdict were unmet and every row that could not be read
            failed, and if all were met and passed. The value lies between them.
        rates: of a mean of rates, how many there are.
    """

    value: float | None
    interval: list[float] | None
    numerator: float
    denominator: float
    undecided: int
    coverage: float
    bounds: list[float] | None
    rates: NotRequired[int]


class Correlation(TypedDict):
    """A rank correlation: rho (``None`` where one side is constant), pairs, 95 % interval."""

    rho: float | None
    n: int
    interval: list[float] | None


def measure(
    shares: Mapping[ClusterShare, int],
    *,
    readable: float = 1.0,
    together: Spread | None = None,
    known: float | None = None,
) -> RateEstimate:
    """Turn counted contributions into a reported rate.

    Args:
        shares: how many rows made each contribution.
        readable: share of the rows that could be read, 0 to 1.
        together: what changes because rows are not each a cluster by itself, see
            :class:`heedful.metrics.clusters.ClusterStore`.
        known: share of the units that was observed; by default those without an open outcome.
    """
    point = _point(shares, readable)
    interval = None
    if point["value"] is not None:
        known = _known(shares) if known is None else known
        interval = rate_interval(_spread(shares, together), known=known)
    return {**point, "interval": list(interval) if interval else None}


def macro_measure(
    strata: Mapping[str, Mapping[ClusterShare, int]],
    *,
    readable: float = 1.0,
    together: Mapping[str, Spread] | None = None,
    digits: int | None = None,
) -> RateEstimate:
    """Average a rate over strata (tasks), each weighing the same.

    Strata in which nothing was decided are left out of the value, not of coverage and bounds. For
    the interval, clusters vary within each stratum: the strata are given, not sampled.
    """
    parts = {key: _point(strata[key], readable) for key in sorted(strata)}
    values = [part["value"] for part in parts.values() if part["value"] is not None]
    values = values if digits is None else [round(value, digits) for value in values]
    bounds = [part["bounds"] for part in parts.values() if part["bounds"] is not None]
    interval = stratified_interval(
        [
            _spread(strata[key], (together or {}).get(key))
            for key, part in parts.items()
            if part["value"] is not None
        ],
        [_known(strata[key]) for key, part in parts.items() if part["value"] is not None],
    )
    return RateEstimate(
        value=math.fsum(values) / len(values) if values else None,
        interval=list(interval) if interval else None,
        numerator=math.fsum(values),
        denominator=len(values),
        undecided=sum(part["undecided"] for part in parts.values()),
        coverage=math.fsum(part["coverage"] for part in parts.values()) / max(1, len(parts)),
        bounds=[math.fsum(side) / len(bounds) for side in zip(*bounds, strict=True)]
        if bounds
        else None,
        rates=len(values),
    )


def mean_measure(
    strata: Mapping[str, Mapping[tuple[ClusterShare, ...], int]], *, readable: float = 1.0
) -> RateEstimate:
    """Average rates that the same clusters contribute to, then average that over strata.

    A cluster has its part in every rate, so the interval knows that the rates go together. The
    strata are given, not sampled. Where one of the rates isn't decided, neither is the mean: to
    average the others would be another quantity.
    """
    parts = [
        _point(_column(clusters, place), readable)
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
        coverage=math.fsum(part["coverage"] for part in parts) / max(1, len(parts)),
        bounds=[math.fsum(side) / len(bounds) for side in zip(*bounds, strict=True)]
        if bounds
        else None,
        rates=len(parts),
    )


def spearman(x: ArrayLike, y: ArrayLike, counts: ArrayLike | None = None) -> Correlation:
    """Compute Spearman's rank correlation, ties given their average rank.

    The interval is Fisher's z with the variance (1 + rho²/2) / (n - 3) of Bonett and Wright
    (2000, Psychometrika 65), which suits ranks better than Fisher's own 1 / (n - 3).
    """
    import numpy as np

    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    times = np.ones(len(left), dtype=np.int64) if counts is None else np.asarray(counts)
    known = ~(np.isnan(left) | np.isnan(right)) & (times > 0)
    left, right, times = left[known], right[known], times[known]
    n = int(times.sum())
    if n < 2 or np.ptp(left) == 0 or np.ptp(right) == 0:  # noqa: PLR2004 - a pair at least
        return Correlation(rho=None, n=n, interval=None)
    # The mean of ranks from 1 to n, ties or none, is (n + 1) / 2.
    deviations = [ranks(side, times) - (n + 1) / 2 for side in (left, right)]
    squares = [float((deviation**2) @ times) for deviation in deviations]
    product = float((deviations[0] * deviations[1]) @ times)
    rho = min(1.0, max(-1.0, product / math.sqrt(squares[0] * squares[1])))
    return Correlation(rho=rho, n=n, interval=_fisher_interval(rho, n))


def clustered_spearman(clusters: Sequence[Sequence[tuple[float, float]]]) -> IntervalEstimate:
    """Compute Spearman's rank correlation over clusters of pairs, with its 95 % interval.

    The interval is Fisher's z with the variance between clusters (by linearisation), shrunk
    towards the one that :func:`spearman` has for as many pairs as they are worth (see
    :mod:`heedful.metrics.proportions`). There is none for fewer than four clusters.
    """
    import numpy as np

    sizes = [len(cluster) for cluster in clusters if cluster]
    pairs = np.array([pair for cluster in clusters for pair in cluster], dtype=np.float64)
    if len(pairs) < 2 or not np.ptp(pairs, axis=0).all():  # noqa: PLR2004 - a pair at least
        return IntervalEstimate(value=None, interval=None)
    # As shares of the ranks, centred.
    x, y = ((ranks(side) - 0.5) / len(pairs) - 0.5 for side in pairs.T)
    norms = x @ x, y @ y
    rho = min(1.0, max(-1.0, float(x @ y / np.sqrt(norms[0] * norms[1]))))
    n = len(sizes)
    if n <= 3 or abs(rho) == 1:  # noqa: PLR2004 - the expected variance divides by n - 3
        return IntervalEstimate(value=rho, interval=None if n <= 3 else [rho, rho])  # noqa: PLR2004
    own = (x * y + _above(x, y) + _above(y, x)) / np.sqrt(norms[0] * norms[1])
    scales = (
        (side * side + 2 * _above(side, side)) / norm
        for side, norm in zip((x, y), norms, strict=True)
    )
    influence = own - rho / 2 * sum(scales)
    by_cluster = np.add.reduceat(influence - influence.mean(), np.cumsum([0, *sizes[:-1]]))
    observed = float(by_cluster @ by_cluster) * n / (n - 1) / (1 - rho * rho) ** 2
    design = 1 + (sum(size * size for size in sizes) / len(pairs) - 1) * CORRELATION
    expected = (1 + rho * rho / 2) / (len(pairs) / design - 3)
    variance = (WEIGHT * expected + (n - 1) * observed) / (WEIGHT + n - 1)
    margin = student(n - 1 + WEIGHT) * math.sqrt(variance)
    z = math.atanh(rho)
    return IntervalEstimate(value=rho, interval=[math.tanh(z - margin), math.tanh(z + margin)])


def _above(values: Floats, weights: Floats) -> Floats:
    """Compute for each value the mean of the weights of greater values; equal ones count half."""
    import numpy as np

    _, inverse = np.unique(values, return_inverse=True)
    sums = np.bincount(inverse, weights)
    above: Floats = (weights.sum() - np.cumsum(sums) + sums / 2) / len(values)
    return above[inverse]


def _fisher_interval(rho: float, n: int) -> list[float] | None:
    if n <= 3:  # noqa: PLR2004 - the variance divides by n - 3
        return None
    if abs(rho) == 1:
        return [rho, rho]
    z = math.atanh(rho)
    margin = NORMAL_QUANTILE * math.sqrt((1 + rho * rho / 2) / (n - 3))
    return [math.tanh(z - margin), math.tanh(z + margin)]


def ranks(values: Floats, times: ArrayLike | None = None) -> Floats:
    """Rank numbers from 1, ties given their average rank; each may be there several times."""
    import numpy as np

    _, inverse = np.unique(values, return_inverse=True)
    counts = np.bincount(inverse, weights=times)
    ranks: Floats = np.cumsum(counts) - (counts - 1) / 2
    return ranks[inverse]


def _point(shares: Mapping[ClusterShare, int], readable: float = 1.0) -> RateEstimate:
    """Turn counted contributions into a rate without its interval."""
    numerator, denominator = _total(shares, "numerator"), _total(shares, "denominator")
    if all(share.open is not None for share in shares if share.denominator):
        numerator = denominator = 0
    units = _total(shares, "units")
    return RateEstimate(
        value=numerator / denominator if denominator else None,
        interval=None,
        numerator=numerator,
        denominator=denominator,
        undecided=_undecided(shares),
        coverage=_total(shares, "covered") / units * readable if units else 0.0,
        bounds=_bounds(shares, readable),
    )


def _total(shares: Mapping[ClusterShare, int], field: str) -> float:
    """Sum a field over all clusters: exact for whole numbers, else not dependent on the order."""
    products = [getattr(share, field) * count for share, count in shares.items()]
    whole = all(isinstance(product, int) for product in products)
    return sum(products) if whole else math.fsum(products)


def _undecided(shares: Mapping[ClusterShare, int]) -> int:
    # Rounding down keeps a sample whose verdicts are decided in part from counting as undecided.
    return sum(int(share.units - share.covered) * count for share, count in shares.items())


def _bounds(shares: Mapping[ClusterShare, int], readable: float) -> list[float] | None:
    units = _total(shares, "units")
    if not units:
        return None
    low, high = (_total(shares, side) / units * readable for side in ("low", "high"))
    return [low, min(1.0, high + (1 - readable))]


def _spread(shares: Mapping[ClusterShare, int], together: Spread | None) -> Spread:
    """Add up clusters; open outcomes vary as much as outcomes do that pass or fail."""
    spread = Spread.of((share[:2], count) for share, count in shares.items())
    for share, count in shares.items():
        if share.open is not None and share.denominator:
            part = round(share.numerator * SCALE)
            spread = spread._replace(yy=spread.yy + (part * SCALE - part * part) * count)
    return spread if together is None else spread.plus(together)


def _known(shares: Mapping[ClusterShare, int]) -> float:
    """Compute the share of the units in a rate that is not an expectation."""
    units = sum(share.denominator * count for share, count in shares.items())
    left = sum(
        share.denominator * count for share, count in shares.items() if share.open is not None
    )
    return 1 - left / units if units else 1.0


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
