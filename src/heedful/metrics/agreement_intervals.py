"""Intervals of agreement: rates over verdicts and labels, their chance-corrected forms, and alpha.

Rates that count verdicts have Wilson's interval with the effective number of trials (see
:mod:`heedful.metrics.proportions`). Other functions of the table of verdicts and labels get theirs
from three such rates (:func:`_of_table`). Alpha and the weighted kappa are 1 - disagreement /
expected disagreement: their interval is that of the disagreement, on its own scale.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from heedful.metrics.agreement import (
    RATES,
    RATIOS,
    IntervalEstimate,
    estimate,
    krippendorff_alpha,
    number,
    ratio_parts,
    weighted_kappa,
)
from heedful.metrics.proportions import (
    MIN_CLUSTERS,
    WEIGHT,
    Spread,
    ValueSpan,
    Variance,
    effective,
    rate_interval,
)
from heedful.metrics.totals import Numbers, totals, variance_between

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from heedful.metrics.agreement import RatioParts
    from heedful.metrics.proportions import Interval, Pair

    Floats = NDArray[np.float64]


TABLE = (ratio_parts((1, 0, 1, 0), (1, 1, 1, 1)), RATIOS["recall_met"], RATIOS["recall_unmet"])
"""The share of labels that are met, sensitivity and specificity: together they are the table."""

NOTHING = estimate(None)


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
        estimates[name] = estimate(value, None if value is None else _interval(name, counts))
    return estimates


def alpha_estimate(counts: Mapping[Numbers, int]) -> IntervalEstimate:
    """Compute Krippendorff's alpha with its 95 % interval."""
    counts = {sums: n for sums, n in counts.items() if any(sums)}
    if not counts:
        return NOTHING
    # A unit with two annotators is one trial.
    pairs: Counter[Pair] = Counter()
    for (disagreeing, *values), n in counts.items():
        pairs[(sum(values) - disagreeing) / 2, sum(values) / 2] += n
    disagreeing, *values = totals(counts)
    size = sum(values)
    chance = (size * size - sum(v * v for v in values)) / size / max(1.0, size - 1)
    return _beyond_chance(krippendorff_alpha, counts, Spread.of(pairs.items()), chance)


def weighted_kappa_estimate(counts: Mapping[Numbers, int]) -> IntervalEstimate:
    """Compute the weighted kappa of clusters of pairs of values with its 95 % interval."""
    if not counts:
        return NOTHING
    n, first, second, squares, _ = totals(counts)
    chance = squares / n - 2 * first * second / n**2
    pairs = Spread.of(
        ((m - squares + 2 * ab, m), k) for (m, _, _, squares, ab), k in counts.items()
    )
    return _beyond_chance(weighted_kappa, counts, pairs, chance, values=True)


def ratio_estimate(counts: Mapping[Pair, int], *, values: bool = False) -> IntervalEstimate:
    """Compute a ratio of sums over clusters with its 95 % interval, see :func:`rate_interval`."""
    spread = Spread.of(counts.items())
    return estimate(spread.rate if spread.m else None, rate_interval(spread, values=values))


def mean_estimate(counts: Mapping[Pair, int]) -> IntervalEstimate:
    """Compute the mean of values over clusters with its 95 % interval.

    The interval is that of a rate, on a scale from the least of 0 and the clusters' means to the
    greatest of 1 and these.
    """
    means = [total / units for total, units in counts if units]
    if not means:
        return NOTHING
    span = ValueSpan(min(0.0, *means), max(1.0, *means))
    scaled: Counter[Pair] = Counter()
    for (total, units), n in counts.items():
        scaled[span.down(total, units), units] += n
    value = math.fsum(total * n for (total, _), n in counts.items()) / sum(
        units * n for (_, units), n in counts.items()
    )
    values = span != (0, 1)
    return estimate(value, span.up(rate_interval(Spread.of(scaled.items()), values=values)))


def _interval(name: str, counts: Mapping[Numbers, int]) -> Interval | None:
    if name in RATIOS:
        return rate_interval(spread_of(RATIOS[name], counts))
    return _of_table(RATES[name], -1.0 if name in ("kappa", "mcc") else 0.0, counts)


def spread_of(parts: RatioParts, counts: Mapping[Numbers, int]) -> Spread:
    """Add up clusters of verdicts and labels for one rate."""
    pairs: Counter[Pair] = Counter()
    for cells, n in counts.items():
        numerator, denominator = parts(cells)
        pairs[float(numerator), float(denominator)] += n
    return Spread.of(pairs.items())


def _of_table(
    rate: Callable[[ArrayLike], Floats], least: float, counts: Mapping[Numbers, int]
) -> Interval | None:
    """Compute the interval of a rate from those of the labels' rate, sensitivity and specificity.

    Of verdicts that are independent these three are independent, and they determine the table. How
    far the rate moves when one of them goes to an end of its interval says what that end is worth,
    and the squares of these distances add up (Zou and Donner 2008, Statistics in Medicine 27), so
    a class with two units makes the rate as uncertain as it must. Of a class without any nothing is
    known, so there is no interval. A factor accounts for clusters in which the three vary together.
    """
    import numpy as np

    spreads = [spread_of(parts, counts) for parts in TABLE]
    if sum(counts.values()) < MIN_CLUSTERS or not all(spread.m for spread in spreads):
        return None
    shares = [spread.rate for spread in spreads]
    ends = [rate_interval(spread) or (0.0, 1.0) for spread in spreads]
    points = np.tile(shares, (7, 1))
    for place, (low, high) in enumerate(ends):
        points[1 + place, place], points[4 + place, place] = low, high
    met, sensitivity, specificity = points.T
    tables = [
        met * sensitivity,
        (1 - met) * (1 - specificity),
        met * (1 - sensitivity),
        (1 - met) * specificity,
    ]
    values = rate(np.stack(tables, axis=-1))
    moves = np.nan_to_num(values[1:] - values[0]).reshape(2, 3)
    factor = _varying_together(counts, shares, (moves[1] - moves[0]) / np.ptp(ends, axis=1))
    below, above = (
        math.sqrt(factor * float((farthest**2).sum()))
        for farthest in (moves.min(axis=0).clip(max=0), moves.max(axis=0).clip(min=0))
    )
    value = float(values[0])
    return max(least, value - below), min(1.0, value + above)


def _varying_together(
    counts: Mapping[Numbers, int], shares: Sequence[float], slopes: Floats
) -> float:
    """Compare the variance of a sum of three rates with the sum of their variances."""
    import numpy as np

    cells, weights = np.array(list(counts), dtype=np.float64), np.array(list(counts.values()))
    residuals = []
    for parts, share, slope in zip(TABLE, shares, slopes, strict=True):
        numerators, denominators = parts(cells)
        residuals.append((numerators - share * denominators) * slope / (denominators @ weights))
    together = float(np.sum(residuals, axis=0) ** 2 @ weights)
    apart = float((np.square(residuals) @ weights).sum())
    n = sum(counts.values())
    return (WEIGHT + n * together / apart) / (WEIGHT + n) if apart else 1.0


def _beyond_chance(
    statistic: Callable[[Floats], Floats],
    counts: Mapping[Numbers, int],
    agreement: Spread,
    chance: float,
    *,
    values: bool = False,
) -> IntervalEstimate:
    """Estimate a statistic 1 - disagreement / chance."""
    value = number(statistic(totals(counts)))
    if value is None:
        return NOTHING
    n, rate = sum(counts.values()), agreement.rate
    scale = chance if value == 1 else (1 - rate) / (1 - value)
    if n < MIN_CLUSTERS or scale <= 0:
        return estimate(value)
    observed = variance_between(statistic, counts) * scale**2
    variance = Variance(rate, n, agreement.expected, observed)
    ends = effective([variance.of_values() if values else variance]).interval
    low, high = (max(-1.0, 1 - (1 - end) / scale) for end in ends)
    return estimate(value, (low, high))
