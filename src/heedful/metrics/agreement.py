"""Agreement of verdicts with known labels, and with one another.

A judge's verdicts and the labels make a table of four counts, and the rates here are functions of
it. They take whole arrays of such tables, so that a bootstrap is one call, and give NaN where a
rate is not defined: a denominator of nothing is not 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from heedful.metrics.resampling import Numbers, percentiles, resampled_totals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "RATES",
    "Confusion",
    "IntervalEstimate",
    "accuracy",
    "calibration",
    "coincidences",
    "enough",
    "estimates",
    "holm",
    "krippendorff_alpha",
    "mcnemar",
    "mean_f1",
    "number",
    "ratio",
]

BINS = 10
"""Of confidence, equally wide, as in Guo et al. (2017, arXiv 1706.04599)."""


DEFINED = 0.95
"""Share of the resamples in which a statistic must be defined to have an interval."""


class Confusion(NamedTuple):
    """Confusion matrix of verdicts and known labels; "met" is the positive class.

    Attributes:
        tp: label met, verdict met.
        fp: label unmet, verdict met.
        fn: label met, verdict unmet.
        tn: label unmet, verdict unmet.
    """

    tp: float = 0
    fp: float = 0
    fn: float = 0
    tn: float = 0


class IntervalEstimate(TypedDict):
    """A number with its 95 % interval; ``None`` where it is not defined."""

    value: float | None
    interval: list[float] | None


class Bin(TypedDict):
    """The verdicts whose confidence lies above ``low`` and not above ``high``."""

    low: float
    high: float
    verdicts: int
    confidence: float
    accuracy: float


class Calibration(TypedDict):
    """Calibration of a judge's confidence.

    Attributes:
        verdicts: decided verdicts that have a confidence and a label.
        ece: expected calibration error, the bins' mean distance between confidence and accuracy.
        bins: those with verdicts in them.
    """

    verdicts: int
    ece: float
    bins: list[Bin]


def precision_met(cells: ArrayLike) -> Floats:
    """Share of the verdicts "met" that are right; cells of shape (…, 4), see Confusion."""
    tp, fp, _, _ = _cells(cells)
    return ratio(tp, tp + fp)


def recall_met(cells: ArrayLike) -> Floats:
    """Share of what is met that is found met: the sensitivity."""
    tp, _, fn, _ = _cells(cells)
    return ratio(tp, tp + fn)


def f1_met(cells: ArrayLike) -> Floats:
    """Positive F1: 2 tp / (2 tp + fp + fn) (IF-Critic, arXiv 2511.01014)."""
    tp, fp, fn, _ = _cells(cells)
    return ratio(2 * tp, 2 * tp + fp + fn)


def precision_unmet(cells: ArrayLike) -> Floats:
    """Share of the verdicts "unmet" that are right."""
    _, _, fn, tn = _cells(cells)
    return ratio(tn, tn + fn)


def recall_unmet(cells: ArrayLike) -> Floats:
    """Share of what is unmet that is found unmet: the specificity."""
    _, fp, _, tn = _cells(cells)
    return ratio(tn, tn + fp)


def f1_unmet(cells: ArrayLike) -> Floats:
    """Negative F1: 2 tn / (2 tn + fp + fn) (IF-Critic). Unmet constraints are the hard class."""
    _, fp, fn, tn = _cells(cells)
    return ratio(2 * tn, 2 * tn + fp + fn)


def mean_f1(cells: ArrayLike) -> Floats:
    """Mean of positive and negative F1 (IF-Critic)."""
    both: Floats = (f1_met(cells) + f1_unmet(cells)) / 2
    return both


def accuracy(cells: ArrayLike) -> Floats:
    """Share of the verdicts that are right."""
    tp, fp, fn, tn = _cells(cells)
    return ratio(tp + tn, tp + fp + fn + tn)


def balanced_accuracy(cells: ArrayLike) -> Floats:
    """Mean of the two recalls: one half for a judge with constant verdicts."""
    both: Floats = (recall_met(cells) + recall_unmet(cells)) / 2
    return both


def kappa(cells: ArrayLike) -> Floats:
    """Cohen's kappa: agreement beyond what the two margins give by chance.

    Source: Cohen (1960), Educational and Psychological Measurement 20.
    """
    tp, fp, fn, tn = _cells(cells)
    chance = (tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)
    n = tp + fp + fn + tn
    return ratio(n * (tp + tn) - chance, n * n - chance)


def mcc(cells: ArrayLike) -> Floats:
    """Matthews correlation coefficient (1975, Biochimica et Biophysica Acta 405)."""
    import numpy as np

    tp, fp, fn, tn = _cells(cells)
    norm = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return ratio(tp * tn - fp * fn, norm)


RATES: Mapping[str, Callable[[ArrayLike], Floats]] = {
    "mean_f1": mean_f1,
    "f1_met": f1_met,
    "f1_unmet": f1_unmet,
    "balanced_accuracy": balanced_accuracy,
    "accuracy": accuracy,
    "precision_met": precision_met,
    "recall_met": recall_met,
    "precision_unmet": precision_unmet,
    "recall_unmet": recall_unmet,
    "kappa": kappa,
    "mcc": mcc,
}
"""The rates over verdicts and labels, by the name that results give them."""


def coincidences(values: Sequence[int]) -> tuple[float, ...]:
    """Work out what one unit contributes to Krippendorff's alpha.

    Args:
        values: how many annotators gave the unit each of the values; who gave none is not in it.

    Returns:
        The unit's disagreeing coincidences, then its values again; zeros for a unit that fewer
        than two annotated, which nothing can be paired in.
    """
    annotators = sum(values)
    if annotators < 2:  # noqa: PLR2004 - a pair
        return (0.0,) * (len(values) + 1)
    disagreeing = annotators**2 - sum(value**2 for value in values)
    return disagreeing / (annotators - 1), *map(float, values)


def krippendorff_alpha(totals: ArrayLike) -> Floats:
    """Compute Krippendorff's alpha for nominal values: 1 - observed / expected disagreement.

    Any number of annotators, none of whom need have annotated everything. Source: Krippendorff
    (2011), Computing Krippendorff's Alpha-Reliability, section C.

    Args:
        totals: sums of :func:`coincidences` over units, shape (…, 1 + values).

    Returns:
        Alpha, shape (…); NaN where all values are the same, since then nothing could disagree.
    """
    import numpy as np

    array = np.asarray(totals, dtype=np.float64)
    observed, values = array[..., 0], array[..., 1:]
    n = values.sum(axis=-1)
    expected = n * n - (values * values).sum(axis=-1)
    return 1 - ratio(observed * (n - 1), expected)


def mcnemar(first: int, second: int) -> float:
    """Compute McNemar's exact test: do two judges err equally often on the same verdicts?

    The two-sided binomial test of the verdicts that only one of them got right (McNemar 1947,
    Psychometrika 12). It takes verdicts as independent; an interval that resamples instructions
    does not.

    Args:
        first: verdicts that only the first judge got right.
        second: verdicts that only the second judge got right.

    Returns:
        The p-value.
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
    """Adjust p-values for being several (Holm 1979, Scandinavian Journal of Statistics 6).

    Returns:
        The adjusted ones, in the order given: those below a level control the chance of even one
        false discovery at that level.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def calibration(counts: Mapping[tuple[float, bool], int]) -> Calibration | None:
    """Compare confidence with accuracy.

    The expected calibration error is that of Naeini et al. (2015, AAAI) and Guo et al. (2017),
    over ten equally wide bins, each closed above: the shares of ten votes get a bin each.

    Args:
        counts: how many verdicts had a confidence (0 to 1) and were right, or not.

    Returns:
        The calibration; ``None`` without verdicts.
    """
    bins: dict[int, list[float]] = {}
    for (confidence, right), count in counts.items():
        # Rounded first, or 0.7 x 10 would be more than 7.
        place = max(math.ceil(round(confidence * BINS, 9)), 1) - 1
        sums = bins.setdefault(place, [0.0, 0.0, 0.0])
        sums[0] += count
        sums[1] += count * confidence
        sums[2] += count * right
    total = sum(sums[0] for sums in bins.values())
    if not total:
        return None
    return Calibration(
        verdicts=int(total),
        ece=math.fsum(abs(sums[1] - sums[2]) for sums in bins.values()) / total,
        bins=[
            Bin(
                low=place / BINS,
                high=(place + 1) / BINS,
                verdicts=int(n),
                confidence=confidence / n,
                accuracy=right / n,
            )
            for place, (n, confidence, right) in sorted(bins.items())
        ],
    )


def estimates(
    counts: Mapping[Numbers, int],
    formulas: Mapping[str, Callable[[Floats], Floats]],
    *,
    name: str,
    seed: int = 0,
) -> dict[str, IntervalEstimate]:
    """Compute statistics of totals over clusters, each with a 95 % percentile interval.

    Args:
        counts: how many clusters contributed each tuple of numbers.
        formulas: the statistics, from arrays of totals of shape (…, length of the tuples).
        name: as for :func:`heedful.metrics.statistics.bootstrap_interval`; all formulas are
            computed on the same resamples.
        seed: as there.

    Returns:
        Each statistic. There is no interval for fewer than two clusters, nor where the statistic
        is undefined in more than a twentieth of the resamples.
    """
    import numpy as np

    counts = {row: count for row, count in counts.items() if any(row)}
    if not counts:
        return dict.fromkeys(formulas, IntervalEstimate(value=None, interval=None))
    totals = np.array([np.multiply(row, count) for row, count in counts.items()]).sum(axis=0)
    draws = resampled_totals(counts, name=name, seed=seed) if enough(counts) else None
    by_formula = {}
    for formula, compute in formulas.items():
        value = number(compute(totals))
        interval = None
        if value is not None and draws is not None:
            computed = compute(draws)
            defined = computed[~np.isnan(computed)]
            if len(defined) >= DEFINED * len(computed):
                interval = list(percentiles(defined))
        by_formula[formula] = IntervalEstimate(value=value, interval=interval)
    return by_formula


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


def enough(counts: Mapping[Numbers, int]) -> bool:
    """Check whether there are at least two clusters: one says nothing of how they vary."""
    return sum(count for row, count in counts.items() if any(row)) > 1
