"""Resampling whole clusters: the bootstrap, and the randomization test of paired sides."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["percentiles", "resampled_totals", "swapped_totals"]

REPLICATES = 1000
LEVEL = 0.95

CELLS = 1_000_000
"""Numbers that one block of bootstrap replicates may hold (8 MB)."""

SWAPS = 9999
"""Random swaps of a test: the least p-value is one in ten thousand."""

Numbers = TypeVar("Numbers", bound=tuple[float, ...])


def resampled_totals(
    counts: Mapping[Numbers, int],
    *,
    name: str,
    seed: int = 0,
    replicates: int = REPLICATES,
) -> Floats:
    """Sample the totals of clusters that are resampled whole.

    As in :func:`heedful.metrics.statistics.bootstrap_interval`, only how often each distinct tuple
    is drawn matters, and those counts are multinomial. Any function of the totals can be computed
    on what is returned, and several of them on the same resamples.

    Args:
        counts: how many clusters contributed each tuple; all tuples are of one length.
        name: what is measured; it keeps the streams of different measures apart.
        seed: any integer.
        replicates: number of resamples.

    Returns:
        One row of totals for each resample: shape (replicates, length of the tuples).
    """
    import numpy as np

    random, weights, values = _drawing(counts, f"{seed}:{name}")
    n = int(weights.sum())
    totals = np.empty((replicates, values.shape[1]))
    block = max(1, CELLS // len(weights))
    for start in range(0, replicates, block):
        multiplicities = random.multinomial(n, weights / n, min(block, replicates - start))
        totals[start : start + block] = multiplicities @ values
    return totals


def swapped_totals(
    counts: Mapping[Numbers, int],
    *,
    name: str,
    seed: int = 0,
    replicates: int = SWAPS,
) -> Floats:
    """Sample the totals of paired clusters when chance says which side is the first.

    The paired randomization test (Fisher 1935; for language technology Noreen 1989 and Yeh,
    COLING 2000): were the sides alike, either could have come first in each cluster. Of the
    clusters that are the same, how many are swapped is binomial, so no cluster need be kept.

    Args:
        counts: how many clusters contributed each tuple. Of each four numbers in it, the first two
            are the first side's and the others the second's.
        name: as for :func:`resampled_totals`.
        seed: any integer.
        replicates: number of random swaps.

    Returns:
        One row of totals for each: shape (replicates, length of the tuples).
    """
    import numpy as np

    random, weights, values = _drawing(counts, f"{seed}:{name}.swapped")
    whole = weights @ values
    fours = values.reshape(len(values), -1, 4)
    changes = np.roll(fours, 2, axis=2).reshape(values.shape) - values
    matters = changes.any(axis=1)
    weights, changes = weights[matters], changes[matters]
    totals = np.tile(whole, (replicates, 1))
    block = max(1, CELLS // max(1, len(weights)))
    for start in range(0, replicates, block):
        size = (min(block, replicates - start), len(weights))
        totals[start : start + block] += random.binomial(weights, 0.5, size) @ changes
    return totals


def percentiles(draws: Floats, level: float = LEVEL) -> tuple[float, float]:
    """Compute the percentile interval of a statistic's bootstrap replicates.

    Args:
        draws: the replicates, at least one.
        level: coverage of the interval.

    Returns:
        Low and high.
    """
    import numpy as np

    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def generator(stream: str) -> np.random.Generator:
    """Return the random numbers of a stream, the same for the same name."""
    import numpy as np

    return np.random.default_rng(int.from_bytes(blake2b(stream.encode()).digest()[:16]))


def _drawing(
    counts: Mapping[Numbers, int], stream: str
) -> tuple[np.random.Generator, NDArray[np.int64], Floats]:
    """Seed a generator by a stream's name; sort the tuples, so that their order is no matter."""
    import numpy as np

    rows = sorted(counts)
    weights = np.array([counts[row] for row in rows], dtype=np.int64)
    return generator(stream), weights, np.array(rows, dtype=np.float64)
