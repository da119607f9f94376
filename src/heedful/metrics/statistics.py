"""Rank correlation, of pairs and of clusters of pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypedDict

from heedful.metrics.agreement import IntervalEstimate, estimate
from heedful.metrics.proportions import CORRELATION, NORMAL_QUANTILE, WEIGHT, student

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


class Correlation(TypedDict):
    """A rank correlation: rho (``None`` where one side is constant), pairs, 95 % interval."""

    rho: float | None
    n: int
    interval: list[float] | None


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
        return estimate(None)
    # As shares of the ranks, centred.
    x, y = ((ranks(side) - 0.5) / len(pairs) - 0.5 for side in pairs.T)
    norms = x @ x, y @ y
    rho = min(1.0, max(-1.0, float(x @ y / np.sqrt(norms[0] * norms[1]))))
    n = len(sizes)
    if n <= 3 or abs(rho) == 1:  # noqa: PLR2004 - the expected variance divides by n - 3
        return estimate(rho, None if n <= 3 else (rho, rho))  # noqa: PLR2004
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
    return estimate(rho, (math.tanh(z - margin), math.tanh(z + margin)))


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
