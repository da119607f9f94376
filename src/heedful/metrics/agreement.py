"""Agreement of verdicts with known labels, and with each other, with 95 % intervals.

A judge's verdicts and the labels make a table of four counts, and the rates here are functions of
it. They take whole arrays of such tables, and give NaN where a rate isn't defined: a denominator of
nothing isn't 0.

Rates that count verdicts have Wilson's interval with the effective number of trials (see
:mod:`heedful.metrics.proportions`). Other functions of the table of verdicts and labels get theirs
from three such rates (:func:`_of_table`). Alpha and the weighted kappa are 1 - disagreement /
expected disagreement: their interval is that of the disagreement, on its own scale.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypedDict, TypeVar

from heedful.metrics.proportions import (
    MIN_CLUSTERS,
    WEIGHT,
    Spread,
    Variance,
    effective,
    mean_interval,
    rate_interval,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from heedful.metrics.proportions import Interval, Pair

    Floats = NDArray[np.float64]

    RatioParts = Callable[[ArrayLike], tuple[Floats, Floats]]

    Instruction = tuple[Pair, Pair]

    """Sums of an instruction's positive and negative F1s over its samples, each with their
    number."""

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


class Confusion(NamedTuple):
    """Confusion matrix of verdicts and known labels; "met" is the positive class."""

    tp: float = 0
    fp: float = 0
    fn: float = 0
    tn: float = 0


class IntervalEstimate(TypedDict):
    """A number with its 95 % interval; ``None`` where it is not defined."""

    value: float | None
    interval: list[float] | None


def estimate(value: float | None, interval: Interval | None = None) -> IntervalEstimate:
    """Give a number its interval."""
    return IntervalEstimate(value=value, interval=list(interval) if interval else None)


def ratio_parts(right: tuple[float, ...], of: tuple[float, ...]) -> RatioParts:
    """Return a function of cells that adds up a rate's numerator and denominator."""

    def parts(cells: ArrayLike) -> tuple[Floats, Floats]:
        import numpy as np

        array = np.asarray(cells, dtype=np.float64)
        return array @ np.array(right), array @ np.array(of)

    return parts


RATIOS: Mapping[str, RatioParts] = {
    "accuracy": ratio_parts((1, 0, 0, 1), (1, 1, 1, 1)),
    # IF-Critic's positive and negative F1 (arXiv 2511.01014); unmet is the hard class.
    "f1_met": ratio_parts((1, 0, 0, 0), (1, 0.5, 0.5, 0)),
    "f1_unmet": ratio_parts((0, 0, 0, 1), (0, 0.5, 0.5, 1)),
    "precision_met": ratio_parts((1, 0, 0, 0), (1, 1, 0, 0)),
    "recall_met": ratio_parts((1, 0, 0, 0), (1, 0, 1, 0)),  # sensitivity
    "precision_unmet": ratio_parts((0, 0, 0, 1), (0, 0, 1, 1)),
    "recall_unmet": ratio_parts((0, 0, 0, 1), (0, 1, 0, 1)),  # specificity
}
"""The rates that are ratios of sums of cells (tp, fp, fn, tn), by numerator and denominator."""


def rate(name: str, cells: ArrayLike) -> Floats:
    """Compute one of the ratios; cells of shape (…, 4)."""
    return ratio(*RATIOS[name](cells))


def mean_of(first: str, second: str) -> Callable[[ArrayLike], Floats]:
    """Return the function that averages two of the ratios."""

    def mean(cells: ArrayLike) -> Floats:
        both: Floats = (rate(first, cells) + rate(second, cells)) / 2
        return both

    return mean


def kappa(cells: ArrayLike) -> Floats:
    """Compute Cohen's kappa: agreement beyond what the two margins give by chance.

    Source: Cohen (1960), Educational and Psychological Measurement 20.
    """
    tp, fp, fn, tn = _cells(cells)
    chance = (tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)
    n = tp + fp + fn + tn
    return ratio(n * (tp + tn) - chance, n * n - chance)


def mcc(cells: ArrayLike) -> Floats:
    """Compute Matthews' correlation coefficient (1975, Biochimica et Biophysica Acta 405)."""
    import numpy as np

    tp, fp, fn, tn = _cells(cells)
    norm = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return ratio(tp * tn - fp * fn, norm)


RATES: Mapping[str, Callable[[ArrayLike], Floats]] = {
    "mean_f1": mean_of("f1_met", "f1_unmet"),  # IF-Critic
    "f1_met": partial(rate, "f1_met"),
    "f1_unmet": partial(rate, "f1_unmet"),
    "balanced_accuracy": mean_of("recall_met", "recall_unmet"),  # one half for a constant judge
    "accuracy": partial(rate, "accuracy"),
    "precision_met": partial(rate, "precision_met"),
    "recall_met": partial(rate, "recall_met"),
    "precision_unmet": partial(rate, "precision_unmet"),
    "recall_unmet": partial(rate, "recall_unmet"),
    "kappa": kappa,
    "mcc": mcc,
}
"""The rates over verdicts and labels, by the name that results give them."""


def coincidences(values: Sequence[int]) -> tuple[float, ...]:
    """Compute the contribution of one unit to Krippendorff's alpha."""
    annotators = sum(values)
    if annotators < 2:  # noqa: PLR2004 - a pair
        return (0.0,) * (len(values) + 1)
    disagreeing = annotators**2 - sum(value**2 for value in values)
    return disagreeing / (annotators - 1), *map(float, values)


def krippendorff_alpha(totals: ArrayLike) -> Floats:
    """Compute Krippendorff's alpha for nominal values: 1 - observed / expected disagreement.

    Any number of annotators, none of whom need have annotated everything. Source: Krippendorff
    (2011), Computing Krippendorff's Alpha-Reliability, section C.
    """
    import numpy as np

    array = np.asarray(totals, dtype=np.float64)
    observed, values = array[..., 0], array[..., 1:]
    n = values.sum(axis=-1)
    expected = n * n - (values * values).sum(axis=-1)
    return 1 - ratio(observed * (n - 1), expected)


def weighted_kappa(sums: ArrayLike) -> Floats:
    """Compute Cohen's weighted kappa (1968) of two sides' values: 1 - observed / expected squares.

    From the number of pairs, the sums of either side, of all squares and of the products.
    """
    import numpy as np

    n, first, second, squares, products = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    return 1 - ratio(squares - 2 * products, squares - 2 * first * second / n)


def mcnemar(first: int, second: int) -> float:
    """Compute McNemar's exact test of two sides on the same units.

    The two-sided binomial test of the units that only one of them passed (McNemar 1947,
    Psychometrika 12). It assumes independent verdicts: use it on one verdict per cluster.
    """
    n, fewer = first + second, min(first, second)
    if first == second:
        return 1.0
    term = math.exp(
        math.lgamma(n + 1) - math.lgamma(fewer + 1) - math.lgamma(n - fewer + 1) - n * math.log(2)
    )
    tail = 0.0
    for k in range(fewer, -1, -1):  # from the largest term down
        tail += term
        term *= k / (n - k + 1)
        if term < tail * 1e-17:  # the rest would change no digit
            break
    return min(1.0, 2 * tail)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for being several (Holm 1979, Scandinavian Journal of Statistics 6)."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def _cells(cells: ArrayLike) -> tuple[Floats, Floats, Floats, Floats]:
    import numpy as np

    array = np.asarray(cells, dtype=np.float64)
    return array[..., 0], array[..., 1], array[..., 2], array[..., 3]


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; NaN where there is nothing to divide by."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Floats = np.where(denominator == 0, np.nan, numerator / denominator)
    return quotient


def number(value: Floats) -> float | None:
    """Return a single number, or ``None`` where it is not defined."""
    rounded = float(value)
    return None if math.isnan(rounded) else rounded


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


Parts = dict[tuple[str | None, "Hashable", int], Confusion]
"""Counts of verdicts by label, for each type, instruction and sample."""


class Averages(TypedDict):
    """F1s averaged over the instructions on which they are defined: how many (times samples)."""

    mean_f1: IntervalEstimate
    f1_met: IntervalEstimate
    f1_unmet: IntervalEstimate
    instructions: int
    defined: dict[str, int]


def mean_over(parts: Parts, *, zero: bool) -> Averages:
    """Average positive and negative F1 over instructions (and their samples)."""
    return _averages([_instructions(parts, zero=zero)])


def mean_over_types(parts: Parts, *, zero: bool) -> Averages:
    """Average over the instructions of each type, then over the types.

    A type on which an F1 is defined for no instruction is left out of that F1's mean. Instructions
    vary within each type: the types are given, not sampled.
    """
    types = sorted({group for group, _, _ in parts if group is not None})
    return _averages(
        [
            _instructions({key: cells for key, cells in parts.items() if key[0] == name}, zero=zero)
            for name in types
        ]
    )


def _averages(strata: Sequence[Sequence[Instruction]]) -> Averages:
    met, unmet = ([[pairs[at] for pairs in stratum] for stratum in strata] for at in (0, 1))
    f1s = [_mean_f1(side) for side in (met, unmet)]
    both = [f1["value"] for f1 in f1s]
    mean = None if None in both else sum(value or 0.0 for value in both) / len(both)
    interval = None if mean is None else mean_interval([Counter(stratum) for stratum in strata])
    return Averages(
        mean_f1=estimate(mean, interval),
        f1_met=f1s[0],
        f1_unmet=f1s[1],
        instructions=sum(map(len, strata)),
        defined={
            name: int(sum(number for stratum in side for _, number in stratum))
            for name, side in (("f1_met", met), ("f1_unmet", unmet))
        },
    )


def _mean_f1(strata: Sequence[Sequence[Pair]]) -> IntervalEstimate:
    """Average one of the F1s over the instructions of each stratum, then over the strata."""
    known = [stratum for stratum in strata if any(number for _, number in stratum)]
    means = [
        sum(value for value, _ in stratum) / sum(number for _, number in stratum)
        for stratum in known
    ]
    if not means:
        return estimate(None)
    interval = mean_interval([Counter((pair,) for pair in stratum) for stratum in known])
    return estimate(sum(means) / len(means), interval)


def _instructions(parts: Parts, *, zero: bool) -> list[Instruction]:
    """Sum up each instruction's F1s over its samples."""
    sums: dict[tuple[str | None, Hashable], Instruction] = {}
    for (group, instruction, _), cells in parts.items():
        pairs = sums.get((group, instruction), ((0.0, 0.0), (0.0, 0.0)))
        values = (number(rate(name, cells)) for name in ("f1_met", "f1_unmet"))
        met, unmet = (
            (total + (value or 0.0), n + float(zero or value is not None))
            for (total, n), value in zip(pairs, values, strict=True)
        )
        sums[group, instruction] = met, unmet
    return list(sums.values())
