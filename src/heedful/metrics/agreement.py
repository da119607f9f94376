"""Agreement of verdicts with known labels, and with each other.

A judge's verdicts and the labels make a table of four counts, and the rates here are functions of
it. They take whole arrays of such tables, and give NaN where a rate isn't defined: a denominator of
nothing isn't 0.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from heedful.metrics.proportions import Interval

    Floats = NDArray[np.float64]

    RatioParts = Callable[[ArrayLike], tuple[Floats, Floats]]


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
