"""Rates freed of the known errors of the judge that reports them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from heedful.metrics.agreement import (
    IntervalEstimate,
    enough,
    estimates,
    number,
    ratio,
    recall_met,
    recall_unmet,
)
from heedful.metrics.resampling import percentiles, resampled_totals

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from heedful.metrics.agreement import Confusion

    Floats = NDArray[np.float64]

__all__ = ["corrected_rate"]


class Corrected(TypedDict):
    """A rate freed of its judge's known errors.

    Attributes:
        apparent: the rate as the judge has it.
        sensitivity: share of what is met that the judge finds met.
        specificity: share of what is unmet that the judge finds unmet.
        corrected: what the rate must be for the judge to report the apparent one; ``None`` where
            the judge is no better than chance.
    """

    apparent: IntervalEstimate
    sensitivity: IntervalEstimate
    specificity: IntervalEstimate
    corrected: IntervalEstimate


def rogan_gladen(rate: ArrayLike, sensitivity: ArrayLike, specificity: ArrayLike) -> Floats:
    """Correct an apparent rate for its judge's errors.

    (rate + specificity - 1) / (sensitivity + specificity - 1), kept within 0 and 1. Source: Rogan
    and Gladen (1978), American Journal of Epidemiology 107. It holds if the judge errs on the
    unlabelled data as often as on the labelled.

    Returns:
        The corrected rate; NaN where the judge is no better than chance.
    """
    import numpy as np

    apparent, sens, spec = (
        np.asarray(value, dtype=np.float64) for value in (rate, sensitivity, specificity)
    )
    youden = sens + spec - 1
    corrected: Floats = np.clip(ratio(apparent + spec - 1, youden), 0, 1)
    return np.where(youden > 0, corrected, np.nan)


def corrected_rate(
    judged: Mapping[tuple[float, float], int],
    labelled: Mapping[Confusion, int],
    *,
    name: str,
    seed: int = 0,
) -> Corrected:
    """Correct a rate by :func:`rogan_gladen`, with a bootstrap interval.

    Labelled and unlabelled clusters are resampled apart from one another, so that the interval
    holds the uncertainty of the judge's errors too. Resamples in which the judge is no better
    than chance say nothing, and widen the interval at both ends.

    Args:
        judged: how many unlabelled clusters had (met, decided) verdicts.
        labelled: how many labelled clusters had these counts.
        name: as for :func:`heedful.metrics.statistics.bootstrap_interval`.
        seed: as there.
    """
    import numpy as np

    rated = estimates(
        labelled,
        {"sensitivity": recall_met, "specificity": recall_unmet},
        name=f"{name}.labelled",
        seed=seed,
    )
    rates = estimates(judged, {"apparent": _share}, name=f"{name}.judged", seed=seed)
    values = [rates["apparent"], rated["sensitivity"], rated["specificity"]]
    known = [value["value"] for value in values if value["value"] is not None]
    value = number(rogan_gladen(*known)) if len(known) == len(values) else None
    interval = None
    if value is not None and enough(judged) and enough(labelled):
        cells = resampled_totals(labelled, name=f"{name}.labelled", seed=seed)
        pairs = resampled_totals(judged, name=f"{name}.judged", seed=seed)
        draws = rogan_gladen(_share(pairs), recall_met(cells), recall_unmet(cells))
        low, _ = percentiles(np.where(np.isnan(draws), 0.0, draws))
        _, high = percentiles(np.where(np.isnan(draws), 1.0, draws))
        interval = [low, high]
    return Corrected(
        apparent=rates["apparent"],
        sensitivity=rated["sensitivity"],
        specificity=rated["specificity"],
        corrected=IntervalEstimate(value=value, interval=interval),
    )


def _share(pairs: Floats) -> Floats:
    return ratio(pairs[..., 0], pairs[..., 1])
