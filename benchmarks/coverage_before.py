"""The intervals that heedful had before, for ``coverage.py``: percentiles of a bootstrap."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from heedful.metrics.agreement import recall_met, recall_unmet
from heedful.metrics.correction import rogan_gladen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from heedful.metrics.linearised import Numbers

    Floats = NDArray[np.float64]

REPLICATES = 500


def percentile_bootstrap(
    random: np.random.Generator, pairs: Iterable[tuple[float, float]]
) -> list[float] | None:
    """Compute the percentile interval of a ratio of sums, resampling clusters."""
    return statistic_bootstrap(
        random, Counter(pairs), lambda totals: totals[..., 0] / totals[..., 1]
    )


def statistic_bootstrap(
    random: np.random.Generator,
    counts: Mapping[Numbers, int],
    statistic: Callable[[Floats], Floats],
) -> list[float] | None:
    """Compute the percentile interval of a statistic of totals over clusters."""
    values = statistic(_totals(random, counts))
    values = values[~np.isnan(values)]
    if len(values) < 0.95 * REPLICATES:
        return None
    low, high = np.quantile(values, [0.025, 0.975])
    return [float(low), float(high)]


def corrected_bootstrap(
    random: np.random.Generator,
    judged: Mapping[tuple[float, float], int],
    labelled: Mapping[tuple[float, ...], int],
) -> list[float]:
    """Compute the percentile interval of a rate corrected for its judge's errors."""
    run, cells = _totals(random, judged), _totals(random, labelled)
    rates: ArrayLike = run[:, 0] / run[:, 1]
    values = rogan_gladen(rates, recall_met(cells), recall_unmet(cells))
    low, high = (np.where(np.isnan(values), bound, values) for bound in (0.0, 1.0))
    return [float(np.quantile(low, 0.025)), float(np.quantile(high, 0.975))]


def _totals(random: np.random.Generator, counts: Mapping[Numbers, int]) -> Floats:
    weights = np.array(list(counts.values()))
    n = int(weights.sum())
    sums: Floats = random.multinomial(n, weights / n, REPLICATES) @ np.array(list(counts))
    return sums
