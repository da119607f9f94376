"""The chance of what was not decided, given what was decided beside it.

The verdicts of a row vary together: a row whose decided verdicts are all met is more likely to meet
the rest than any row is. How much more is estimated from the decided verdicts of the run.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from heedful.metrics.proportions import CORRELATION, WEIGHT

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Prediction"]

SLOPE = 0.5
"""Standard deviation that the slope of :attr:`Prediction.slope` is expected to have."""

MOST = 0.99
"""Units that vary together completely would leave nothing to compute with."""


class OpenOutcome(NamedTuple):
    """The undecided verdicts on which it depends whether a sample passes, and those beside them.

    Attributes:
        met: verdicts that are met.
        unmet: verdicts that are not.
        all_of: undecided verdicts that must all be met.
        some_of: undecided verdicts of which ``at_least`` must be met.
        at_least: their least number.
    """

    met: int
    unmet: int
    all_of: int
    some_of: int = 0
    at_least: int = 0


class Units(NamedTuple):
    """Units (verdicts of a row, say) that vary together.

    Attributes:
        met: those that are met.
        decided: those that are met or unmet.
        undecided: the others.
    """

    met: float
    decided: float
    undecided: float


class Prediction(NamedTuple):
    """How undecided units are predicted: a beta distribution of each cluster's own rate.

    Attributes:
        rate: of the decided units that are met.
        correlation: between units of a cluster, 0 to 1.
        left: mean share of a cluster's units that is undecided, as decided units see it.
        slope: change of the rate with that share: where more is undecided, less may be met.
    """

    rate: float
    correlation: float
    left: float = 0.0
    slope: float = 0.0

    @classmethod
    def of(cls, clusters: Iterable[tuple[Units, int]]) -> Prediction | None:
        """Estimate it from the decided units of a run.

        The correlation is the mean product of two units' deviations (a moment estimate), shrunk
        towards :data:`heedful.metrics.proportions.CORRELATION` with the weight that intervals give
        it; the slope is that of a regression, shrunk towards 0.
        """
        known = sorted((units, count) for units, count in clusters if units.decided)
        decided = math.fsum(units.decided * count for units, count in known)
        if not decided:
            return None
        rate = math.fsum(units.met * count for units, count in known) / decided
        left = math.fsum(_left(units) * units.decided * count for units, count in known) / decided
        plain = cls(rate, 0.0, left)
        variance = rate * (1 - rate)
        if not variance:
            return plain
        first = _correlation(plain, known, variance)
        design = 1 + first * (decided / sum(count for _, count in known) - 1)
        products = squares = 0.0
        for units, count in known:
            deviation = _left(units) - left
            products += count * deviation * (units.met - rate * units.decided)
            squares += count * deviation * deviation * units.decided
        slope = products / (squares + variance * max(1.0, design) / SLOPE**2)
        sloped = plain._replace(slope=slope)
        return sloped._replace(correlation=_correlation(sloped, known, variance))

    def at(self, left: float) -> float:
        """Return the rate of clusters of which such a share is undecided."""
        return min(1.0, max(0.0, self.rate + self.slope * (left - self.left)))

    def beside(self, chance: float, met: float, unmet: float) -> float:
        """Move the chance of a unit by the units beside it."""
        if not 0 < chance < 1 or not 0 < self.rate < 1:
            return chance
        following = _next(self.rate, self.pseudo, met, unmet)
        odds = following / (1 - following) / (self.rate / (1 - self.rate))
        return chance * odds / (1 - chance + chance * odds)

    @property
    def pseudo(self) -> float:
        """Units that the distribution of rates is worth; infinite where clusters don't vary."""
        return 1 / self.correlation - 1 if self.correlation else math.inf

    def chance(self, outcome: OpenOutcome) -> float:
        """Compute how probably a sample passes, given its decided verdicts."""
        return _chance(self, outcome)


def _correlation(
    prediction: Prediction, known: Iterable[tuple[Units, int]], variance: float
) -> float:
    """Estimate the correlation of a prediction without it; see :meth:`Prediction.of`."""
    products = weights = 0.0
    clusters = 0
    for units, count in known:
        n = units.decided
        if n > 1:
            # A cluster's pairs weigh as much as its units: long ones must not outweigh all.
            rate = prediction.at(_left(units))
            own = units.met * (1 - rate) ** 2 + (n - units.met) * rate**2
            products += count * ((units.met - rate * n) ** 2 - own) / (n - 1)
            weights += count * n
            clusters += count
    weight = clusters * 4 * variance
    observed = products / weights / variance if weights else 0.0
    shrunk = (WEIGHT * CORRELATION + weight * observed) / (WEIGHT + weight)
    return min(MOST, max(0.0, shrunk))


def _left(units: Units) -> float:
    return units.undecided / (units.decided + units.undecided)


@lru_cache(maxsize=1 << 14)
def _chance(prediction: Prediction, outcome: OpenOutcome) -> float:
    undecided = outcome.all_of + outcome.some_of
    rate = prediction.at(undecided / max(1, undecided + outcome.met + outcome.unmet))
    pseudo = prediction.pseudo
    met = outcome.met + outcome.all_of
    draws = beta_binomial(outcome.some_of, rate, pseudo, met, outcome.unmet)
    passed = math.fsum(draws[outcome.at_least :])
    for more in range(outcome.all_of):
        passed *= _next(rate, pseudo, outcome.met + more, outcome.unmet)
    return passed


def _next(rate: float, pseudo: float, met: float, unmet: float) -> float:
    """Compute how probably the next unit is met, after others."""
    return rate if pseudo == math.inf else (rate * pseudo + met) / (pseudo + met + unmet)


def beta_binomial(
    n: int, rate: float, pseudo: float, met: float = 0, unmet: float = 0
) -> list[float]:
    """Compute how probably 0, 1, … n of n undecided units are met."""
    chances = [1.0]
    for drawn in range(n):
        following = [0.0] * (drawn + 2)
        for hits, chance in enumerate(chances):
            hit = _next(rate, pseudo, met + hits, unmet + drawn - hits)
            following[hits] += chance * (1 - hit)
            following[hits + 1] += chance * hit
        chances = following
    return chances
