"""Intervals of agreement: rates over verdicts and labels, their chance-corrected forms, and alpha.

All are Wilson's with the effective number of trials, as those of rates (see
:mod:`heedful.metrics.proportions`). Agreement beyond chance is 1 - disagreement / expected
disagreement: its interval is that of the disagreement, on its own scale.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from heedful.metrics.agreement import (
    MEANS,
    RATES,
    RATIOS,
    IntervalEstimate,
    krippendorff_alpha,
    number,
)
from heedful.metrics.linearised import Numbers, totals, variance_between
from heedful.metrics.proportions import (
    MIN_CLUSTERS,
    Spread,
    Variance,
    effective,
    mean_interval,
    rate_interval,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from heedful.metrics.proportions import Interval, Pair

    Floats = NDArray[np.float64]

__all__ = ["alpha_estimate", "mean_estimate", "rate_estimates", "ratio_estimate"]

NOTHING = IntervalEstimate(value=None, interval=None)


def rate_estimates(
    counts: Mapping[Numbers, int], names: Iterable[str] = RATES
) -> dict[str, IntervalEstimate]:
    """Compute rates over verdicts and labels, with their 95 % intervals."""
    counts = {cells: n for cells, n in counts.items() if any(cells)}
    if not counts:
        return dict.fromkeys(names, NOTHING)
    sums = totals(counts)
    estimates = {}
    for name in names:
        value = number(RATES[name](sums))
        interval = None if value is None else _interval(name, counts, value)
        estimates[name] = IntervalEstimate(value=value, interval=list(interval or ()) or None)
    return estimates


def alpha_estimate(counts: Mapping[Numbers, int]) -> IntervalEstimate:
    """Compute Krippendorff's alpha with its 95 % interval."""
    counts = {sums: n for sums, n in counts.items() if any(sums)}
    value = number(krippendorff_alpha(totals(counts))) if counts else None
    if value is None:
        return NOTHING
    # A unit with two annotators is one trial.
    pairs: Counter[Pair] = Counter()
    for (disagreeing, *values), n in counts.items():
        pairs[(sum(values) - disagreeing) / 2, sum(values) / 2] += n
    disagreeing, *values = totals(counts)
    size = sum(values)
    chance = (size * size - sum(v * v for v in values)) / size / max(1.0, size - 1)
    interval = _beyond_chance(krippendorff_alpha, counts, value, (Spread.of(pairs.items()), chance))
    return IntervalEstimate(value=value, interval=list(interval) if interval else None)


def ratio_estimate(counts: Mapping[Pair, int], scale: float = 1.0) -> IntervalEstimate:
    """Compute a ratio of sums over clusters with its 95 % interval."""
    spread = Spread.of(counts.items())
    interval = rate_interval(spread, scale)
    return IntervalEstimate(
        value=spread.rate if spread.m else None, interval=list(interval) if interval else None
    )


def mean_estimate(counts: Mapping[Pair, int]) -> IntervalEstimate:
    """Compute the mean of values over clusters with its 95 % interval.

    The interval is that of a rate, on a scale from the least of 0 and the clusters' means to the
    greatest of 1 and these.
    """
    means = [total / units for total, units in counts if units]
    if not means:
        return NOTHING
    low, high = min(0.0, *means), max(1.0, *means)
    scaled: Counter[Pair] = Counter()
    for (total, units), n in counts.items():
        scaled[(total - low * units) / (high - low), units] += n
    estimate = ratio_estimate(scaled)
    value = math.fsum(total * n for (total, _), n in counts.items()) / sum(
        units * n for (_, units), n in counts.items()
    )
    interval = estimate["interval"]
    return IntervalEstimate(
        value=value,
        interval=None if interval is None else [low + (high - low) * end for end in interval],
    )


def _interval(name: str, counts: Mapping[Numbers, int], value: float) -> Interval | None:
    if name in RATIOS:
        return rate_interval(Spread.of(_pairs(name, counts)))
    if name in MEANS:
        rows: Counter[tuple[Pair, ...]] = Counter()
        for cells, n in counts.items():
            rows[tuple(_pair(part, cells) for part in MEANS[name])] += n
        return mean_interval([rows])
    tp, fp, fn, tn = totals(counts)
    n = tp + fp + fn + tn
    chance = 1 - ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / n**2
    rate = Spread.of(_pairs("accuracy", counts))
    return _beyond_chance(RATES[name], counts, value, (rate, chance))


def _pairs(name: str, counts: Mapping[Numbers, int]) -> Iterable[tuple[Pair, int]]:
    return ((_pair(name, cells), n) for cells, n in counts.items())


def _pair(name: str, cells: tuple[float, ...]) -> Pair:
    numerator, denominator = RATIOS[name](cells)
    return float(numerator), float(denominator)


def _beyond_chance(
    statistic: Callable[[Floats], Floats],
    counts: Mapping[Numbers, int],
    value: float,
    agreement: tuple[Spread, float],
) -> Interval | None:
    """Compute the interval of a statistic 1 - disagreement / scale."""
    rate, chance = agreement
    n = sum(counts.values())
    if n < MIN_CLUSTERS:
        return None
    scale = chance if value == 1 else (1 - rate.rate) / (1 - value)
    if scale <= 0:
        return None
    observed = variance_between(statistic, counts) * scale**2
    bounds = effective([Variance(rate.rate, n, rate.expected, observed)]).interval
    low, high = (max(-1.0, 1 - (1 - bound) / scale) for bound in bounds)
    return low, high
