"""Totals over clusters: added up, linearised, and with the sides of pairs swapped at random."""

from __future__ import annotations

import math
from hashlib import blake2b
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


SAMPLES = 10_000
"""Number of random samples wherever there are any; in a test they include the observed data."""

CELLS = 1_000_000
"""Numbers that one block of random samples may hold (8 MB)."""


def swapped_totals(
    counts: Mapping[Numbers, int], *, seed: int = 0, swaps: int = SAMPLES - 1
) -> Floats:
    """Sample the totals of paired clusters when chance determines which side is the first.

    The paired randomization test (Fisher 1935; for language technology Noreen 1989 and Yeh,
    COLING 2000): if the sides were alike, either could have come first in each cluster. Of equal
    clusters, how many are swapped is binomial, so the cost doesn't grow with the clusters.
    """
    import numpy as np

    rows = sorted(counts)
    weights = np.array([counts[row] for row in rows], dtype=np.int64)
    values: Floats = np.array(rows, dtype=np.float64)
    whole = weights @ values
    fours = values.reshape(len(values), -1, 4)
    changes = np.roll(fours, 2, axis=2).reshape(values.shape) - values
    matters = changes.any(axis=1)
    weights, changes = weights[matters], changes[matters]
    totals = np.tile(whole, (swaps, 1))
    block = max(1, CELLS // max(1, len(weights)))
    random = generator(seed)
    for start in range(0, swaps, block):
        size = (min(block, swaps - start), len(weights))
        totals[start : start + block] += random.binomial(weights, 0.5, size) @ changes
    return totals


def generator(seed: int) -> np.random.Generator:
    """Return the random numbers of a run, the same for the same seed, which may be negative."""
    import numpy as np

    return np.random.default_rng(int.from_bytes(blake2b(str(seed).encode()).digest()[:16]))
