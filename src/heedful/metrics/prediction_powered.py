"""Prediction-powered inference: a rate from few labels and many verdicts, PPI++.

Source: Angelopoulos, Duchi and Zrnic (2023), arXiv 2311.01453; the same numbers as their package
ppi-python (``ppi_mean_ci``). Unlike a correction by error rates it needs no model of the judge's
errors: it holds however the judge errs, if the labelled units were drawn at random.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from heedful.metrics.proportions import NORMAL_QUANTILE, Variance, effective

if TYPE_CHECKING:
    from collections.abc import Sequence


class Stratum(NamedTuple):
    """Units of one kind: labels of some, drawn at random, and verdicts on these and on others."""

    labels: Sequence[float]
    verdicts: Sequence[float]
    unlabelled: Sequence[float]

    @property
    def size(self) -> int:
        """All of its units."""
        return len(self.labels) + len(self.unlabelled)


class Powered(TypedDict):
    """A mean from labels and verdicts.

    ``weight`` is that of the verdicts (λ), the mean over the strata: 0 is labels alone. ``labels``
    are units with labels, ``judged`` the mean of the verdicts and ``classical`` that of the labels.
    """

    value: float
    interval: list[float]
    weight: float
    labels: int
    units: int
    judged: float
    classical: float
    classical_interval: list[float]


class _MeanEstimate(NamedTuple):
    mean: float
    variance: float
    weight: float


def powered_mean(strata: Sequence[Stratum]) -> Powered:
    """Compute the mean over all units, each stratum by its share of them."""
    for stratum in strata:
        if min(len(stratum.labels), len(stratum.unlabelled)) < 2:  # noqa: PLR2004 - a variance
            raise ValueError("two labels and two unlabelled units at least")
    total = sum(stratum.size for stratum in strata)
    shares = [stratum.size / total for stratum in strata]
    powered = _stratified(shares, [_powered(stratum) for stratum in strata])
    classical = _stratified(shares, [_labels_alone(stratum) for stratum in strata])
    verdicts = (math.fsum(each) for s in strata for each in (s.verdicts, s.unlabelled))
    return Powered(
        value=powered.mean,
        interval=_interval(powered),
        weight=powered.weight,
        labels=sum(len(stratum.labels) for stratum in strata),
        units=total,
        judged=math.fsum(verdicts) / total,
        classical=classical.mean,
        classical_interval=_interval(classical),
    )


def small_sample(strata: Sequence[Stratum], powered: Powered) -> Powered:
    """Give a mean of shares intervals that hold for few labels too.

    PPI++'s own is normal: it leaves 0 to 1, and has no width where all labels agree. Here its
    variance is shrunk towards that of the labels, and theirs towards that of shares, as the
    variance of any rate is (:class:`heedful.metrics.proportions.Variance`).
    """
    n = powered["labels"]
    labels = Variance(
        powered["classical"],
        n - len(strata) + 1,
        1 / n,
        _squared_error(powered["classical_interval"]),
    ).of_values()
    share = min(1.0, max(0.0, powered["value"]))
    judged = labels._replace(rate=share, observed=_squared_error(powered["interval"]))
    return Powered(
        **powered
        | {
            "value": share,
            "interval": list(effective([judged]).interval),
            "classical_interval": list(effective([labels]).interval),
        }
    )


def _squared_error(normal: Sequence[float]) -> float:
    return float(((normal[1] - normal[0]) / 2 / NORMAL_QUANTILE) ** 2)


def _powered(stratum: Stratum) -> _MeanEstimate:
    weight = _weight(stratum, len(stratum.labels), len(stratum.unlabelled))
    rectifier = [y - weight * f for y, f in zip(stratum.labels, stratum.verdicts, strict=True)]
    imputed = [weight * f for f in stratum.unlabelled]
    return _MeanEstimate(
        fmean(imputed) + fmean(rectifier),
        _variance(imputed) / len(imputed) + _variance(rectifier) / len(rectifier),
        weight,
    )


def _labels_alone(stratum: Stratum) -> _MeanEstimate:
    labels = stratum.labels
    return _MeanEstimate(fmean(labels), _variance(labels) / len(labels), 0.0)


def _weight(stratum: Stratum, labels: int, unlabelled: int) -> float:
    """Return the weight of the verdicts that makes the interval shortest, within 0 and 1."""
    mean, judged = fmean(stratum.labels), fmean(stratum.verdicts)
    covariance = math.fsum(
        (y - mean) * (f - judged) for y, f in zip(stratum.labels, stratum.verdicts, strict=True)
    ) / len(stratum.labels)
    verdicts = [*stratum.verdicts, *stratum.unlabelled]
    variance = _variance(verdicts) * len(verdicts) / (len(verdicts) - 1)
    if not variance:
        return 0.0  # a judge that always says the same says nothing
    return min(1.0, max(0.0, covariance / ((1 + labels / unlabelled) * variance)))


def _stratified(shares: Sequence[float], estimates: Sequence[_MeanEstimate]) -> _MeanEstimate:
    pairs = list(zip(shares, estimates, strict=True))
    return _MeanEstimate(
        math.fsum(share * estimate.mean for share, estimate in pairs),
        math.fsum(share**2 * estimate.variance for share, estimate in pairs),
        math.fsum(share * estimate.weight for share, estimate in pairs),
    )


def _interval(estimate: _MeanEstimate) -> list[float]:
    margin = NORMAL_QUANTILE * math.sqrt(estimate.variance)
    return [estimate.mean - margin, estimate.mean + margin]


def _variance(values: Sequence[float]) -> float:
    """Compute the variance, divided by n, as ppi-python does."""
    mean = fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / len(values)
