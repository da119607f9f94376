"""Rates corrected for the known errors of the judge that reports them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypedDict

from heedful.metrics.agreement import RATIOS, IntervalEstimate, estimate, number, ratio
from heedful.metrics.agreement_intervals import rate_estimates, ratio_estimate, spread_of
from heedful.metrics.proportions import MIN_CLUSTERS, Spread, rate_trials

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from heedful.metrics.proportions import EffectiveTrials, Interval, Pair
    from heedful.metrics.totals import Numbers

    Floats = NDArray[np.float64]

__all__ = ["Corrected", "corrected_rate", "rogan_gladen"]


class Corrected(TypedDict):
    """A rate as judged, and corrected for its judge's known errors.

    There is no corrected one if the judge is no better than chance.
    """

    apparent: IntervalEstimate
    sensitivity: IntervalEstimate
    specificity: IntervalEstimate
    corrected: IntervalEstimate


def rogan_gladen(rate: ArrayLike, sensitivity: ArrayLike, specificity: ArrayLike) -> Floats:
    """Correct an apparent rate for its judge's errors.

    (rate + specificity - 1) / (sensitivity + specificity - 1), kept within 0 and 1. Source: Rogan
    and Gladen (1978), American Journal of Epidemiology 107. It is valid if the judge errs on the
    unlabelled data as often as on the labelled.
    """
    import numpy as np

    apparent, sens, spec = (
        np.asarray(value, dtype=np.float64) for value in (rate, sensitivity, specificity)
    )
    youden = sens + spec - 1
    corrected: Floats = np.clip(ratio(apparent + spec - 1, youden), 0, 1)
    return np.where(youden > 0, corrected, np.nan)


def corrected_rate(judged: Mapping[Pair, int], labelled: Mapping[Numbers, int]) -> Corrected:
    """Correct a rate by :func:`rogan_gladen`, with a 95 % interval."""
    apparent = ratio_estimate(judged)
    errors = rate_estimates(labelled, ("recall_met", "recall_unmet"))
    known = [each["value"] for each in (apparent, *errors.values()) if each["value"] is not None]
    value = number(rogan_gladen(*known)) if len(known) == 1 + len(errors) else None
    interval = None
    if value is not None:
        spreads = [
            Spread.of(judged.items()),
            *(spread_of(RATIOS[name], labelled) for name in errors),
        ]
        if all(spread.clusters >= MIN_CLUSTERS for spread in spreads):
            interval = _fieller(*map(_smoothed, map(rate_trials, spreads)))
    return Corrected(
        apparent=apparent,
        sensitivity=errors["recall_met"],
        specificity=errors["recall_unmet"],
        corrected=estimate(value, interval),
    )


class _Rate(TypedDict):
    """A rate shrunk towards one half, its variance, and the quantile for its interval."""

    rate: float
    variance: float
    quantile: float


def _smoothed(trials: EffectiveTrials) -> _Rate:
    """Add half a trial of either outcome: one without errors isn't known to make none."""
    n = trials.trials + 1
    rate = (trials.rate * trials.trials + 0.5) / n
    return _Rate(rate=rate, variance=rate * (1 - rate) / n, quantile=trials.quantile)


def _fieller(apparent: _Rate, sensitivity: _Rate, specificity: _Rate) -> Interval:
    """Solve for the true rates that the apparent one does not contradict."""
    false_met = 1 - specificity["rate"]
    slope = sensitivity["rate"] - false_met
    level = apparent["rate"] - false_met
    square = max(each["quantile"] for each in (apparent, sensitivity, specificity)) ** 2
    # (level - t slope)² <= square (v + t² v1 + (1 - t)² v0), as a t² - 2 b t + c <= 0
    v, v1, v0 = apparent["variance"], sensitivity["variance"], specificity["variance"]
    a = slope * slope - square * (v1 + v0)
    b = level * slope - square * v0
    c = level * level - square * (v + v0)
    root = b * b - a * c
    if a <= 0 or root < 0 or slope <= 0:
        return 0.0, 1.0
    low, high = ((b + sign * math.sqrt(root)) / a for sign in (-1, 1))
    return min(1.0, max(0.0, low)), min(1.0, max(0.0, high))
