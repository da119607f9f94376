"""Intervals of rates: Wilson's, also for samples that vary together in clusters.

A rate is a ratio of sums over clusters. Its interval needs only a few sums of squares over them
(:class:`Spread`), so no cluster is stored, nothing is random, and equal data have equal intervals.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


MIN_CLUSTERS = 2
"""A single cluster says nothing of how clusters vary."""

NORMAL_QUANTILE = 1.959963984540054
"""The standard normal's 97.5 % quantile, for intervals of 95 %."""

CORRELATION = 0.5
"""Prior correlation between units of one cluster."""

WEIGHT = 4
"""Clusters that this expectation is worth."""

FEW: Mapping[float, float] = {1: 0.051293294387550, 2: 0.355361510698662, 3: 0.817691447125161}
"""Means of Poisson's distribution at which so many events or more have a probability of 5 %."""

PANELS = 200
"""Of Simpson's rule, for Student's distribution."""

SCALE = 1 << 32
"""Sums are whole multiples of 1 / SCALE, so that they don't depend on the order of the rows."""

Interval: TypeAlias = tuple[float, float]
Pair: TypeAlias = tuple[float, float]
"""A cluster's numerator and denominator."""


class ValueSpan(NamedTuple):
    """Numbers between which values lie that are brought into 0 to 1 for an interval."""

    least: float
    most: float

    def down(self, total: float, units: float = 1.0) -> float:
        """Bring a sum over so many units into 0 to their number."""
        return (total - self.least * units) / (self.most - self.least)

    def up(self, interval: Interval | None) -> Interval | None:
        """Bring an interval within 0 to 1 back."""
        if interval is None:
            return None
        low, high = (self.least + end * (self.most - self.least) for end in interval)
        return low, high


class Spread(NamedTuple):
    """Sums over clusters with a denominator, from which the variance of a rate follows.

    ``y`` and ``m`` are sums of numerators and denominators, times :data:`SCALE`; ``yy``, ``ym`` and
    ``mm`` of their squares and products, times its square.
    """

    clusters: int = 0
    y: int = 0
    m: int = 0
    yy: int = 0
    ym: int = 0
    mm: int = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[Pair, int]]) -> Spread:
        """Add up clusters."""
        n = y = m = yy = ym = mm = 0
        for (numerator, denominator), count in pairs:
            if denominator:
                part, units = round(numerator * SCALE), round(denominator * SCALE)
                n += count
                y += part * count
                m += units * count
                yy += part * part * count
                ym += part * units * count
                mm += units * units * count
        return cls(n, y, m, yy, ym, mm)

    @classmethod
    def together(cls, rows: Sequence[Pair]) -> Spread:
        """Return the change when rows that were added one by one are a single cluster."""
        alone = cls.of((row, 1) for row in rows)
        return cls(
            clusters=1 - alone.clusters,
            yy=alone.y * alone.y - alone.yy,
            ym=alone.y * alone.m - alone.ym,
            mm=alone.m * alone.m - alone.mm,
        )

    def plus(self, other: Spread) -> Spread:
        """Add two up."""
        return Spread(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def rate(self) -> float:
        """The rate itself."""
        return self.y / self.m

    @property
    def simple(self) -> bool:
        """True if each cluster is a unit that counts or doesn't."""
        units = self.clusters * SCALE
        return self.m == units and self.mm == units * SCALE and self.yy == self.y * SCALE

    @property
    def expected(self) -> float:
        """Variance of the rate that is expected, in units of rate x (1 - rate).

        Clusters of m units are expected to vary by p (1 - p) m (1 + (m - 1) x
        :data:`CORRELATION`).
        """
        return ((1 - CORRELATION) * self.m * SCALE + CORRELATION * self.mm) / self.m**2


def wilson(hits: float, trials: float, quantile: float = NORMAL_QUANTILE) -> Interval | None:
    """Compute Wilson's score interval of a proportion, of 95 %.

    Source: Wilson (1927, JASA 22). Unlike the textbook's interval it stays within 0 and 1 and says
    something where all trials, or none, are hits. Where only one to three are, or aren't, it is
    wider, since Wilson's own covers as little as 83 % near 0 and 1: the nearer end is that of
    Brown, Cai and DasGupta (2001, Statistical Science 16), who take it for few trials only.
    """
    if not trials:
        return None
    share = hits / trials
    square = quantile**2 / trials
    centre = (share + square / 2) / (1 + square)
    half = math.sqrt(max(0.0, share * (1 - share)) * square + square**2 / 4) / (1 + square)
    # At the ends the formula is exact, and its rounding is not.
    low = 0.0 if hits <= 0 else max(0.0, centre - half)
    high = 1.0 if hits >= trials else min(1.0, centre + half)
    if quantile == NORMAL_QUANTILE and 0 < hits < trials:
        low = min(low, FEW.get(hits, trials) / trials)
        high = max(high, 1 - FEW.get(trials - hits, trials) / trials)
    return low, high


def rate_interval(spread: Spread, *, values: bool = False) -> Interval | None:
    """Compute the 95 % interval of a rate over clusters.

    Where each cluster is one unit that counts or doesn't, it is Wilson's. Otherwise it is Wilson's
    with the effective number of trials. The variance between clusters (of a ratio, by
    linearisation) is shrunk towards the one of units with a correlation of :data:`CORRELATION`:
    near 0 % and 100 %, and for few clusters, the data hardly determine it. Student's quantile
    accounts for its uncertainty. For ``values`` between 0 and 1 see :meth:`Variance.of_values`.

    ``benchmarks/coverage.py`` shows how often it covers the truth.
    """
    if spread.clusters < MIN_CLUSTERS:
        return None
    if spread.simple:
        return wilson(spread.rate * spread.clusters, spread.clusters)
    variance = _variance(spread)
    return effective([variance.of_values() if values else variance]).interval


def stratified_interval(strata: Sequence[Spread]) -> Interval | None:
    """Compute the 95 % interval of a rate averaged over strata with equal weights.

    Strata are given, not sampled, and independent: their variances add up.
    """
    known = [spread for spread in strata if spread.m]
    if all(spread.clusters < MIN_CLUSTERS for spread in known):
        return None
    if len(known) == 1:
        return rate_interval(known[0])
    return effective(list(map(_variance, known))).interval


def mean_interval(strata: Sequence[Mapping[tuple[Pair, ...], int]]) -> Interval | None:
    """Compute the 95 % interval of a mean of rates, itself averaged over strata.

    Within a stratum the same clusters contribute to all rates, which are expected to vary together
    completely. Strata are as for :func:`stratified_interval`.
    """
    if all(len(pairs) == 1 for clusters in strata for pairs in clusters):
        spreads = [Spread.of((pairs[0], n) for pairs, n in clusters.items()) for clusters in strata]
        return stratified_interval(spreads) if all(spread.m for spread in spreads) else None
    if all(sum(clusters.values()) < MIN_CLUSTERS for clusters in strata):
        return None
    parts = [_mean_variance(clusters) for clusters in strata]
    known = [part for part in parts if part is not None]
    return effective(known).interval if len(known) == len(parts) else None


class Variance(NamedTuple):
    """Variance of a stratum's rate.

    The clusters' number is Kish's effective one: fewer where some are much larger than others. The
    expected variance is in units of rate x (1 - rate); none is observed for a single cluster.
    """

    rate: float
    clusters: float
    expected: float
    observed: float | None

    def of_values(self) -> Variance:
        """Return the variance of values, which vary less than what either counts or doesn't.

        Then the clusters themselves tell which variance to expect; two more have that of a rate.
        """
        binomial = self.rate * (1 - self.rate)
        if self.observed is None or not binomial:
            return self
        seen = self.clusters * self.observed / binomial
        return self._replace(expected=(seen + 2 * self.expected) / (self.clusters + 2))


class EffectiveTrials(NamedTuple):
    """A rate, the independent trials that its data are worth, and the score's quantile."""

    rate: float
    trials: float
    quantile: float

    @property
    def interval(self) -> Interval:
        """Wilson's interval."""
        return wilson(self.rate * self.trials, self.trials, self.quantile) or (0.0, 1.0)


def _variance(spread: Spread) -> Variance:
    # Where a few clusters hold most units, the data are worth no more than these.
    n = spread.m**2 / spread.mm
    squares = spread.yy - 2 * spread.rate * spread.ym + spread.rate**2 * spread.mm
    return Variance(
        min(1.0, max(0.0, spread.rate)),
        n,
        spread.expected,
        max(0.0, squares) / spread.m**2 * n / (n - 1) if spread.clusters > 1 else None,
    )


def effective(strata: Sequence[Variance]) -> EffectiveTrials:
    """Return the number of trials that the mean of some strata is worth.

    Strata may be of very different sizes and rates, so each has a variance of its own, shrunk with
    the weight that its own clusters leave: two clusters that happen to be alike don't show that
    their stratum doesn't vary. The degrees of freedom are Satterthwaite's (1946, Biometrics 2).
    Strata that are alike tell together how clusters vary, which matters near 0 % and 100 %: the
    trials are not more than by all strata's variances, shrunk together.
    """
    k = len(strata)
    rate = math.fsum(stratum.rate for stratum in strata) / k
    if k == 1:
        n = strata[0].clusters
        return EffectiveTrials(rate, _together(strata, rate), student(n - 1 + WEIGHT))
    # A few clusters at 0 % or 100 % don't determine their stratum's rate: as by Agresti and Coull.
    own = [(stratum.rate * stratum.clusters + 2) / (stratum.clusters + 4) for stratum in strata]
    variances = list(map(_shrunk, strata, own))
    total, mean = math.fsum(variances), math.fsum(own) / k
    degrees = total**2 / math.fsum(
        variance**2 / (stratum.clusters - 1 + WEIGHT)
        for variance, stratum in zip(variances, strata, strict=True)
    )
    trials = min(_together(strata, rate), k**2 * mean * (1 - mean) / total)
    return EffectiveTrials(rate, trials, student(degrees))


def _together(strata: Sequence[Variance], rate: float) -> float:
    """Compute the trials by all strata's variances, shrunk together."""
    k, binomial = len(strata), rate * (1 - rate)
    expected = math.fsum(stratum.expected for stratum in strata) / k**2
    if not binomial:
        return 1 / expected
    # The data determine the variance between clusters less towards 0 % and 100 %.
    weight = sum(stratum.clusters - 1 for stratum in strata) * 4 * binomial
    observed = math.fsum(
        stratum.expected * binomial if stratum.observed is None else stratum.observed
        for stratum in strata
    )
    return (WEIGHT + weight) / (WEIGHT * expected + weight * observed / k**2 / binomial)


def _shrunk(stratum: Variance, rate: float) -> float:
    """Compute a stratum's variance, if its rate is taken to be a certain one."""
    binomial = rate * (1 - rate)
    if stratum.observed is None:
        return stratum.expected * binomial
    # The data determine the variance between clusters less towards 0 % and 100 %.
    weight = (stratum.clusters - 1) * 4 * stratum.rate * (1 - stratum.rate)
    return (WEIGHT * stratum.expected * binomial + weight * stratum.observed) / (WEIGHT + weight)


def _mean_variance(clusters: Mapping[tuple[Pair, ...], int]) -> Variance | None:
    """Return the variance of a mean of rates over the same clusters."""
    n_rates = len(next(iter(clusters), ()))
    columns = [Spread.of((pairs[at], n) for pairs, n in clusters.items()) for at in range(n_rates)]
    if not n_rates or not all(column.m for column in columns):
        return None
    rates = [column.rate for column in columns]
    squares = math.fsum(
        count * math.fsum(map(_residual, pairs, rates, columns)) ** 2
        for pairs, count in clusters.items()
    )
    n = sum(clusters.values())
    expected = [column.expected for column in columns]
    # The rate with the fewest clusters may have nearly all of the variance (Satterthwaite).
    degrees = math.fsum(expected) ** 2 / math.fsum(
        own**2 * column.mm / column.m**2 for own, column in zip(expected, columns, strict=True)
    )
    return Variance(
        min(1.0, max(0.0, math.fsum(rates) / n_rates)),
        degrees,
        math.fsum(expected) / n_rates,
        squares / n_rates**2 * n / (n - 1) if n > 1 else None,
    )


def _residual(pair: Pair, rate: float, column: Spread) -> float:
    return (pair[0] - rate * pair[1]) * SCALE / column.m


@cache
def student(degrees: float) -> float:
    """Compute Student's 97.5 % quantile for one degree of freedom or more.

    By Newton's method on the distribution, whose density Simpson's rule integrates.
    """
    half = (degrees + 1) / 2
    scale = math.exp(math.lgamma(half) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)

    def density(t: float) -> float:
        return scale * math.pow(1 + t * t / degrees, -half)

    # The distribution is concave here, so from below no step goes past the quantile.
    t, step = NORMAL_QUANTILE, 1.0
    while step > 1e-9:  # noqa: PLR2004 - more digits than any interval shows
        width = t / PANELS
        inner = math.fsum((2 + 2 * (k % 2)) * density(k * width) for k in range(1, PANELS))
        area = width / 3 * (density(0) + inner + density(t))
        step = (0.475 - area) / density(t)
        t += step
    return t
