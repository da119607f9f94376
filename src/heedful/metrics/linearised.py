"""Totals over clusters, and the part that each cluster has in a statistic of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


Numbers = TypeVar("Numbers", bound=tuple[float, ...])
"""The contribution of a cluster."""

STEP = 1e-6
"""Share of the greatest total by which each is changed to see what a statistic makes of it."""


def totals(counts: Mapping[Numbers, int]) -> Floats:
    """Add up what clusters contributed."""
    import numpy as np

    sums: Floats = np.array(list(counts.values())) @ np.array(list(counts), dtype=np.float64)
    return sums


def variance_between(statistic: Callable[[Floats], Floats], counts: Mapping[Numbers, int]) -> float:
    """Compute the variance of a statistic of totals, by linearisation."""
    import numpy as np

    sums = totals(counts)
    step = STEP * float(np.abs(sums).max())
    gradient = (statistic(sums + step * np.eye(len(sums))) - statistic(sums)) / step
    gradient = np.nan_to_num(gradient)
    n = sum(counts.values())
    squares = (count * float(gradient @ np.array(sums_)) ** 2 for sums_, count in counts.items())
    return math.fsum(squares) * n / (n - 1)
