"""Intervals of rates: Wilson's, for samples that go together in clusters too.

A rate is a ratio of sums over clusters. Its interval needs only a few sums of squares over them
(:class:`Spread`), so neither clusters nor draws are kept, and equal data have equal intervals.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Spread", "mean_interval", "rate_interval", "wilson"]

NORMAL_QUANTILE = 1.959963984540054
"""The standard normal's 97.5 % quantile, for intervals of 95 %."""

CORRELATION = 0.5
"""Prior correlation between units of one cluster."""

WEIGHT = 4
"""Clusters that this expectation is worth."""

SCALE = 1 << 32
"""Numerators are summed as whole multiples of 1 / SCALE, so that no order of rows matters."""

Interval: TypeAlias = tuple[float, float]
Pair: TypeAlias = tuple[float, float]
"""A cluster's numerator and denominator."""


class Spread(NamedTuple):
    """Sums over clusters that tell how a rate varies between them.

    Attributes:
        clusters: those with a denominator.
        y: of the numerators, times :data:`SCALE`.
        m: of the denominators.
        yy: of the numerators' squares, times the square of :data:`SCALE`.
        ym: of the products, times :data:`SCALE`.
        mm: of the denominators' squares.
    """

    clusters: int = 0
    y: int = 0
    m: int = 0
    yy: int = 0
    ym: int = 0
    mm: int = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[Pair, int]]) -> Spread:
        """Add up clusters.

        Args:
            pairs: numerators and denominators, and how many clusters contributed each of them.
        """
        n = y = m = yy = ym = mm = 0
        for (numerator, denominator), count in pairs:
            if denominator:
                scaled, units = round(numerator * SCALE), int(denominator)
                n += count
                y += scaled * count
                m += units * count
                yy += scaled * scaled * count
                ym += scaled * units * count
                mm += units * units * count
        return cls(n, y, m, yy, ym, mm)

    @classmethod
    def together(cls, rows: Sequence[Pair]) -> Spread:
        """Return what changes when rows that were added up one by one are a single cluster.

        Args:
            rows: their numerators and denominators, all of these above 0.
        """
        scaled = [round(numerator * SCALE) for numerator, _ in rows]
        units = [int(denominator) for _, denominator in rows]
        y, m = sum(scaled), sum(units)
        return cls(
            clusters=1 - len(rows),
            yy=y * y - sum(value * value for value in scaled),
            ym=y * m - sum(value * unit for value, unit in zip(scaled, units, strict=True)),
            mm=m * m - sum(unit * unit for unit in units),
        )

    def plus(self, other: Spread) -> Spread:
        """Add two up."""
        return Spread(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def rate(self) -> float:
        """The rate itself."""
        return self.y / SCALE / self.m

    @property
    def simple(self) -> bool:
        """Whether each cluster is one unit that counts or does not."""
        return self.clusters == self.m == self.mm and self.y * SCALE == self.yy


def wilson(hits: float, trials: float, quantile: float = NORMAL_QUANTILE) -> Interval | None:
    """Compute Wilson's score interval of a proportion, of 95 %.

    Source: Wilson (1927, JASA 22). Unlike the textbook's interval it stays within 0 and 1 and says
    something where all trials, or none, are hits.

    Args:
        hits: how many.
        trials: of how many, independent of each other.
        quantile: of the distribution that the score is taken to have.

    Returns:
        Low and high; ``None`` without trials.
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
    return low, high


def rate_interval(spread: Spread) -> Interval | None:
    """Compute the 95 % interval of a rate over clusters.

    Where each cluster is one unit that counts or does not, it is Wilson's. Otherwise it is Wilson's
    with as many trials as the clusters are worth. The variance between clusters (of a ratio, by
    linearisation) is drawn towards the one that units with a correlation of
    :data:`CORRELATION` would have: near 0 % and 100 %, and for few clusters, the data hardly tell.
    Student's quantile stands for the uncertainty of that variance.

    ``benchmarks/interval_coverage.py`` shows how often it covers the truth.

    Returns:
        Low and high; ``None`` for fewer than two clusters: one says nothing of how they vary.
    """
    return None if spread.clusters < 2 else _interval(spread)  # noqa: PLR2004 - as above


def stratified_interval(strata: Sequence[Spread]) -> Interval | None:
    """Compute the 95 % interval of a rate averaged over strata, each weighing the same.

    Strata are given, not sampled, and independent: their variances add up.

    Returns:
        Low and high; ``None`` where no stratum has two clusters. Strata without any are left out.
    """
    known = [spread for spread in strata if spread.m]
    if all(spread.clusters < 2 for spread in known):  # noqa: PLR2004 - a pair
        return None
    return _interval(known[0]) if len(known) == 1 else _scored([_varying(each) for each in known])


def mean_interval(strata: Sequence[Mapping[tuple[Pair, ...], int]]) -> Interval | None:
    """Compute the 95 % interval of a mean of rates, itself averaged over strata.

    Within a stratum the same clusters contribute to all rates; a cluster is expected to vary as a
    single unit, so closely do its rates go together. Strata are as for
    :func:`stratified_interval`.

    Args:
        strata: for each stratum how many clusters contributed what to each of its rates.

    Returns:
        Low and high; ``None`` where no stratum has two clusters, or a rate is not defined.
    """
    if all(len(pairs) == 1 for clusters in strata for pairs in clusters):
        spreads = [Spread.of((pairs[0], n) for pairs, n in clusters.items()) for clusters in strata]
        return stratified_interval(spreads) if all(spread.m for spread in spreads) else None
    if all(sum(clusters.values()) < 2 for clusters in strata):  # noqa: PLR2004 - a pair
        return None
    parts = [_of_means(clusters) for clusters in strata]
    known = [part for part in parts if part is not None]
    return _scored(known) if len(known) == len(parts) else None


class _Varying(NamedTuple):
    """Variance of a stratum's rate.

    Attributes:
        rate: the rate.
        clusters: how many there are.
        expected: the variance that is expected, in units of rate * (1 - rate).
        seen: the variance that is seen between the clusters; ``None`` for a single one.
    """

    rate: float
    clusters: int
    expected: float
    seen: float | None


def _interval(spread: Spread) -> Interval:
    if spread.simple:
        return wilson(spread.y / SCALE, spread.m) or (0.0, 1.0)
    return _scored([_varying(spread)])


def _varying(spread: Spread) -> _Varying:
    n, units = spread.clusters, spread.m
    rate = min(1.0, max(0.0, spread.rate))
    squares = spread.yy / SCALE**2 - 2 * rate * spread.ym / SCALE + rate * rate * spread.mm
    return _Varying(
        rate,
        n,
        # Clusters of m units are expected to vary by p (1 - p) m (1 + (m - 1) / 2).
        (units + (spread.mm - units) * CORRELATION) / units**2,
        max(0.0, squares) / units**2 * n / (n - 1) if n > 1 else None,
    )


def _scored(strata: Sequence[_Varying]) -> Interval:
    """Compute Wilson's interval of the strata's mean, with as many trials as they are worth."""
    k = len(strata)
    rate = math.fsum(stratum.rate for stratum in strata) / k
    binomial = rate * (1 - rate)
    expected = math.fsum(stratum.expected for stratum in strata) / k**2
    degrees = sum(stratum.clusters for stratum in strata) - k
    variance = expected
    if binomial > 0:
        # What the data tell of how clusters vary fades towards 0 % and 100 %.
        data_weight = degrees * 4 * binomial
        seen = math.fsum(
            stratum.expected * binomial if stratum.seen is None else stratum.seen
            for stratum in strata
        )
        variance = (WEIGHT * expected + data_weight * seen / k**2 / binomial) / (
            WEIGHT + data_weight
        )
    trials = 1 / variance
    return wilson(rate * trials, trials, _student(degrees + WEIGHT)) or (0.0, 1.0)


def _of_means(clusters: Mapping[tuple[Pair, ...], int]) -> _Varying | None:
    """Say how a mean of rates over the same clusters varies."""
    rates = len(next(iter(clusters), ()))
    columns = [Spread.of((pairs[at], n) for pairs, n in clusters.items()) for at in range(rates)]
    if not rates or not all(column.m for column in columns):
        return None
    each = [column.rate for column in columns]
    squares = math.fsum(
        count * math.fsum(map(_residual, pairs, each, columns)) ** 2
        for pairs, count in clusters.items()
    )
    n = sum(clusters.values())
    return _Varying(
        min(1.0, max(0.0, math.fsum(each) / rates)),
        n,
        1 / n,
        squares / rates**2 * n / (n - 1) if n > 1 else None,
    )


def _residual(pair: Pair, rate: float, column: Spread) -> float:
    return (pair[0] - rate * pair[1]) / column.m


def _student(degrees: float) -> float:
    """Compute Student's 97.5 % quantile for four degrees or more, to three digits.

    Source: Abramowitz and Stegun (1964), 26.7.5.
    """
    z = NORMAL_QUANTILE
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / degrees**power for power, term in enumerate(terms, 1))
