"""Rank correlation of pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypedDict

from heedful.metrics.proportions import NORMAL_QUANTILE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


class Correlation(TypedDict):
    """A rank correlation: rho (``None`` where one side is constant), pairs, 95 % interval."""

    rho: float | None
    n: int
    interval: list[float] | None


def spearman(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Compute Spearman's rank correlation, ties given their average rank.

    The interval is Fisher's z with the variance (1 + rho²/2) / (n - 3) of Bonett and Wright
    (2000, Psychometrika 65), which suits ranks better than Fisher's own 1 / (n - 3).
    """
    import numpy as np

    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    known = ~(np.isnan(left) | np.isnan(right))
    left, right = left[known], right[known]
    n = len(left)
    if n < 2 or np.ptp(left) == 0 or np.ptp(right) == 0:  # noqa: PLR2004 - a pair at least
        return Correlation(rho=None, n=n, interval=None)
    # The mean of ranks from 1 to n, ties or none, is (n + 1) / 2.
    first, second = (_ranks(side) - (n + 1) / 2 for side in (left, right))
    product = float(first @ second)
    rho = min(1.0, max(-1.0, product / math.sqrt(float(first @ first) * float(second @ second))))
    return Correlation(rho=rho, n=n, interval=_fisher_interval(rho, n))


def _fisher_interval(rho: float, n: int) -> list[float] | None:
    if n <= 3:  # noqa: PLR2004 - the variance divides by n - 3
        return None
    if abs(rho) == 1:
        return [rho, rho]
    z = math.atanh(rho)
    margin = NORMAL_QUANTILE * math.sqrt((1 + rho * rho / 2) / (n - 3))
    return [math.tanh(z - margin), math.tanh(z + margin)]


def _ranks(values: Floats) -> Floats:
    """Rank numbers from 1, ties given their average rank."""
    import numpy as np

    _, inverse = np.unique(values, return_inverse=True)
    counts = np.bincount(inverse)
    ranks: Floats = np.cumsum(counts) - (counts - 1) / 2
    return ranks[inverse]
