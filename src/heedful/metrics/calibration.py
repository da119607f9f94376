"""Calibration: does a judge's confidence say how often it is right?"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, TypedDict

from heedful.metrics.agreement import IntervalEstimate, ratio_estimate
from heedful.metrics.contrasts import SAMPLES, generator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from heedful.metrics.proportions import Pair

    Floats = NDArray[np.float64]

    Verdict = tuple[float, bool]
    """The confidence of a verdict, and whether it is right."""


BINS = 10
"""Of confidence, equally wide, as in Guo et al. (2017, arXiv 1706.04599)."""


class Bin(TypedDict):
    """The verdicts whose confidence lies above ``low`` and not above ``high``."""

    low: float
    high: float
    verdicts: int
    confidence: float
    accuracy: float


class ExpectedError(TypedDict):
    """A calibration error, and its mean for a judge that is calibrated perfectly."""

    value: float
    by_chance: float


class ChanceEstimate(IntervalEstimate):
    """A number with its 95 % interval, and its mean for a judge that is calibrated perfectly."""

    by_chance: float


class Calibration(TypedDict):
    """Calibration of a judge's confidence, over decided verdicts with a confidence and a label."""

    verdicts: int
    ece: ExpectedError
    brier: ChanceEstimate
    bins: list[Bin]


def calibration(clusters: Iterable[Mapping[Verdict, int]], *, seed: int = 0) -> Calibration | None:
    """Compare confidence with accuracy.

    The expected calibration error is the bins' mean distance between confidence and accuracy
    (Naeini et al. 2015, AAAI; Guo et al. 2017). Bins are closed above: the shares of ten votes get
    one each. The error is above 0 by chance alone, which its mean for a calibrated judge shows.
    Brier's score (1950, Monthly Weather Review 78) is the mean square of the distance between
    confidence and outcome.
    """
    import numpy as np

    known = [counts for counts in clusters if counts]
    pooled: Counter[Verdict] = Counter()
    for counts in known:
        pooled.update(counts)
    total = pooled.total()
    if not total:
        return None
    n, confidence, right = np.array(_by_bin(pooled)).T
    squares: Counter[Pair] = Counter(
        (
            math.fsum((stated - hit) ** 2 * count for (stated, hit), count in counts.items()),
            float(sum(counts.values())),
        )
        for counts in known
    )
    variance = math.fsum(stated * (1 - stated) * count for (stated, _), count in pooled.items())
    ece = float(np.abs(confidence - right).sum() / total)
    return Calibration(
        verdicts=total,
        ece=ExpectedError(value=ece, by_chance=_ece_by_chance(pooled, seed)),
        brier=ChanceEstimate(**ratio_estimate(squares, values=True), by_chance=variance / total),
        bins=[
            Bin(
                low=place / BINS,
                high=(place + 1) / BINS,
                verdicts=int(n[place]),
                confidence=float(confidence[place] / n[place]),
                accuracy=float(right[place] / n[place]),
            )
            for place in np.flatnonzero(n).tolist()
        ],
    )


def _by_bin(counts: Mapping[Verdict, int]) -> list[list[float]]:
    """Add up verdicts, confidences and right verdicts."""
    sums = [[0.0, 0.0, 0.0] for _ in range(BINS)]
    for (confidence, right), count in counts.items():
        cell = sums[_bin(confidence)]
        cell[0] += count
        cell[1] += count * confidence
        cell[2] += count * right
    return sums


def _bin(confidence: float) -> int:
    # Rounded first, or 0.7 x 10 would be more than 7.
    return max(math.ceil(round(confidence * BINS, 9)), 1) - 1


def _ece_by_chance(pooled: Mapping[Verdict, int], seed: int) -> float:
    """Compute the mean error of a judge that is right as often as it says, on these verdicts."""
    import numpy as np

    confidences: Counter[float] = Counter()
    for (confidence, _), count in pooled.items():
        confidences[confidence] += count
    stated = np.array(sorted(confidences))
    counts = np.array([confidences[confidence] for confidence in stated.tolist()])
    gaps = counts * stated - generator(seed).binomial(counts, stated, (SAMPLES, len(stated)))
    bins = np.eye(BINS)[[_bin(confidence) for confidence in stated.tolist()]]
    return float(np.abs(gaps @ bins).sum(axis=1).mean() / counts.sum())
