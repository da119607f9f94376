"""Random numbers: the randomization test of paired sides, and the generator of a run."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from heedful.metrics.linearised import Numbers

    Floats = NDArray[np.float64]


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
