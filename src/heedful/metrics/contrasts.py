"""A rate of two paired sides, or a mean of rates: the difference, with an interval and a test."""

from __future__ import annotations

import math
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from heedful.metrics.agreement import (
    IntervalEstimate,
    Numbers,
    estimate,
    holm,
    mcnemar,
    ratio,
    totals,
)
from heedful.metrics.proportions import (
    MIN_CLUSTERS,
    NORMAL_QUANTILE,
    SCALE,
    Spread,
    ValueSpan,
    mean_interval,
    student,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from heedful.metrics.proportions import Interval, Pair

    Floats = NDArray[np.float64]

    Sums = tuple[float, ...]
    """A contribution of a cluster to k rates: of each the numerator and denominator of the first
    side, then those of the second."""


LEVEL = 0.05
"""A smaller p-value shows a difference; the interval then excludes 0."""

PSEUDO_CLUSTERS = 2
"""Bonett and Price add one cluster in which only the first side passes, and one the other way."""

PSEUDO_WEIGHT = 2
"""Differing clusters that the expected size of a difference is worth."""


ROUNDING = 1e-12
"""Differences that are closer than this are the same, computed in another order."""


class Contrast(TypedDict):
    """A rate of both sides, and the difference: first minus second.

    ``p`` is of the paired randomization test, which swaps the sides of whole clusters; ``None`` if
    there is no difference to test. Where clusters differ by one amount only, as samples do that
    pass or fail, it is McNemar's exact test.
    """

    first: IntervalEstimate
    second: IntervalEstimate
    difference: IntervalEstimate
    p: float | None


def contrast(strata: Mapping[str, Mapping[Numbers, int]], *, seed: int) -> Contrast:
    """Compare two sides by the mean of k rates, itself averaged over strata.

    The interval of the difference is Bonett and Price's (2012, Journal of Educational and
    Behavioral Statistics 37), which adds a pseudo-cluster in favour of each side, with Student's
    quantile. For clusters of several units the variance is that of the clusters (linearised), and
    the pseudo-clusters differ by as much as those clusters do that differ, shrunk towards what is
    expected of them. The interval excludes 0 if and only if p is below :data:`LEVEL`: where the two
    disagree, the test decides where the interval ends on the side of 0.

    Scores that can be negative, or above 1, are first brought into [0, 1] by whole numbers between
    which all clusters are, on either side.

    Strata are given, not sampled; sides are swapped within each. Where one of the rates isn't
    defined on a side, neither is the mean. Naming the sides in the other order changes only signs.
    """
    span = _span(strata)
    if span != (0, 1):
        return _brought_back(contrast(_scaled(strata, span), seed=seed), span)
    counted: list[Counter[Sums]] = [
        Counter({sums: n for sums, n in counts.items() if any(sums)})
        for _, counts in sorted(strata.items())
    ]
    sides = [_side(counted, side) for side in (0, 1)]
    nothing = estimate(None)
    if not counted or not all(counted):
        return Contrast(first=nothing, second=nothing, difference=nothing, p=None)
    first, second = sides
    if first["value"] is None or second["value"] is None:
        return Contrast(first=first, second=second, difference=nothing, p=None)
    difference = first["value"] - second["value"]
    p = _p_value(counted, abs(difference), seed)
    interval = None
    if any(counts.total() >= MIN_CLUSTERS for counts in counted):
        parts = [_difference(counts) for counts in counted]
        interval = _settled(_bonett_price(parts), difference, p)
    return Contrast(first=first, second=second, difference=estimate(difference, interval), p=p)


def _span(strata: Mapping[str, Mapping[Numbers, int]]) -> ValueSpan:
    """Find whole numbers between which the clusters' rates are; 0 and 1 are always between."""
    least, most = 0, 1
    for counts in strata.values():
        for sums in counts:
            for numerator, units in zip(sums[::2], sums[1::2], strict=True):
                if units and not 0 <= numerator <= units:
                    least = min(least, math.floor(numerator / units))
                    most = max(most, math.ceil(numerator / units))
    return ValueSpan(least, most)


def _scaled(
    strata: Mapping[str, Mapping[Numbers, int]], span: ValueSpan
) -> dict[str, Counter[Sums]]:
    """Bring rates between two numbers into [0, 1]."""
    scaled: dict[str, Counter[Sums]] = {}
    for name, counts in strata.items():
        scaled[name] = Counter()
        for sums, n in counts.items():
            pairs = zip(sums[::2], sums[1::2], strict=True)
            key = tuple(
                number for total, units in pairs for number in (span.down(total, units), units)
            )
            scaled[name][key] += n
    return scaled


def _brought_back(scaled: Contrast, span: ValueSpan) -> Contrast:
    """Undo :func:`_scaled`."""

    def back(of: IntervalEstimate, origin: float) -> IntervalEstimate:
        width = span.most - span.least
        ends = of["interval"]
        return IntervalEstimate(
            value=None if of["value"] is None else origin + of["value"] * width,
            interval=None if ends is None else [origin + end * width for end in ends],
        )

    return Contrast(
        first=back(scaled["first"], span.least),
        second=back(scaled["second"], span.least),
        difference=back(scaled["difference"], 0),
        p=scaled["p"],
    )


def adjust_p(measures: Sequence[dict[str, Any]]) -> None:
    """Add ``p_holm`` to tests that are read together: ``p`` adjusted for their number (Holm)."""
    tested = [measure for measure in measures if measure["p"] is not None]
    for measure in measures:
        measure["p_holm"] = None
    for measure, p in zip(tested, holm([measure["p"] for measure in tested]), strict=True):
        measure["p_holm"] = p


class _Difference(NamedTuple):
    """The difference in a stratum."""

    value: float
    clusters: int
    squares: float
    pseudo: float


def _difference(counts: Counter[Sums]) -> _Difference:
    k = len(next(iter(counts))) // 4
    # Where a column begins, with its sign: of the first side, then of the second.
    places = [(at, 1 if at % 4 == 0 else -1) for at in range(0, 4 * k, 2)]
    columns = [
        Spread.of(((sums[at], sums[at + 1]), n) for sums, n in counts.items()) for at, _ in places
    ]
    n = counts.total()
    value = math.fsum(sign * c.rate for (_, sign), c in zip(places, columns, strict=True)) / k
    squares = differing = 0.0
    for sums, count in counts.items():
        residual = math.fsum(
            sign * (sums[at] - column.rate * sums[at + 1]) * SCALE / column.m
            for (at, sign), column in zip(places, columns, strict=True)
        )
        square = (n * residual / k + value) ** 2
        squares += count * square
        differing += count * (square > ROUNDING)
    expected = math.fsum(column.expected for column in columns) / (2 * k)
    # For samples that pass or fail each of these is 1.
    pseudo = (squares + PSEUDO_WEIGHT * n * expected) / (differing + PSEUDO_WEIGHT)
    return _Difference(value, n, squares, pseudo)


def _bonett_price(strata: Sequence[_Difference]) -> Interval:
    pseudo = PSEUDO_CLUSTERS / len(strata)
    clusters = sum(stratum.clusters for stratum in strata)
    centre = variance = 0.0
    for stratum in strata:
        n = stratum.clusters + pseudo
        mean = stratum.clusters * stratum.value / n
        squares = stratum.squares + pseudo * stratum.pseudo
        centre += mean / len(strata)
        variance += max(0.0, squares / n - mean * mean) / n / len(strata) ** 2
    margin = student(clusters + PSEUDO_CLUSTERS - 1) * math.sqrt(variance)
    return max(-1.0, centre - margin), min(1.0, centre + margin)


def _settled(interval: Interval, difference: float, p: float) -> Interval:
    """End the interval beyond 0 or before it, as the test has it."""
    low, high = interval
    if (p < LEVEL) == (low > 0 or high < 0) or not difference:
        return interval
    from statistics import NormalDist

    score = NormalDist().inv_cdf(1 - min(p, 0.999) / 2)
    end = difference * (1 - NORMAL_QUANTILE / score)
    if p < LEVEL:
        return (end, high) if difference > 0 else (low, end)
    return (max(-1.0, end), high) if difference > 0 else (low, min(1.0, end))


def _side(strata: Sequence[Mapping[Sums, int]], side: int) -> IntervalEstimate:
    """Give a side's rate the interval that a summary has for it."""
    of_side: list[Counter[tuple[Pair, ...]]] = []
    rates = []
    for counts in strata:
        clusters: Counter[tuple[Pair, ...]] = Counter()
        for sums, n in counts.items():
            starts = range(2 * side, len(sums), 4)
            clusters[tuple((sums[at], sums[at + 1]) for at in starts)] += n
        of_side.append(clusters)
        rates.append(float(_mean_sides(totals(counts))[side]) if counts else math.nan)
    mean = math.fsum(rates) / len(rates) if rates else math.nan
    value = None if math.isnan(mean) else mean
    return estimate(value, None if value is None else mean_interval(of_side))


def _mean_sides(totals: Floats) -> Floats:
    """Compute the two sides from totals of shape (…, 4k): shape (…, 2)."""
    pairs = totals.reshape(*totals.shape[:-1], -1, 2, 2)
    sides: Floats = ratio(pairs[..., 0], pairs[..., 1]).mean(axis=-2)
    return sides


def _p_value(strata: Sequence[Mapping[Sums, int]], difference: float, seed: int) -> float:
    """Test whether the sides differ by more than swapping them at random makes them."""
    import numpy as np

    signs = _signs(strata)
    if signs is not None:
        return mcnemar(*signs)
    oriented = min(strata, [_mirrored(counts) for counts in strata], key=_order)
    sides = np.mean(
        [_mean_sides(swapped_totals(counts, seed=seed + at)) for at, counts in enumerate(oriented)],
        axis=0,
    )
    nearer = np.abs(sides[..., 0] - sides[..., 1]) < difference - ROUNDING
    return (1 + len(nearer) - int(nearer.sum())) / (1 + len(nearer))


def _mirrored(counts: Mapping[Sums, int]) -> Counter[Sums]:
    """Swap the sides, so that the test can take them in an order that isn't the caller's."""
    return Counter(
        {
            tuple(v for at in range(0, len(s), 4) for v in (*s[at + 2 : at + 4], *s[at:][:2])): n
            for s, n in counts.items()
        }
    )


def _order(strata: Sequence[Mapping[Sums, int]]) -> list[list[tuple[Sums, int]]]:
    return [sorted(counts.items()) for counts in strata]


def _signs(strata: Sequence[Mapping[Sums, int]]) -> tuple[int, int] | None:
    """Count the clusters by which side is ahead, if nothing else of them matters to the test."""
    if len(strata) > 1:
        return None
    ahead: Counter[float] = Counter()
    for sums, n in strata[0].items():
        if len(sums) > 4 or sums[1] != sums[3]:  # noqa: PLR2004 - one rate
            return None
        ahead[sums[0] - sums[2]] += n
    if len({abs(lead) for lead in ahead if lead}) > 1:
        return None
    first, second = (sum(n for lead, n in ahead.items() if lead * sign > 0) for sign in (1, -1))
    return first, second


SAMPLES = 10_000
"""Number of random samples wherever there are any; in a test they include the observed data."""

CELLS = 1_000_000
"""Numbers that one block of random samples may hold (8 MB)."""


def swapped_totals(
    counts: Mapping[Numbers, int], *, seed: int = 0, swaps: int = SAMPLES - 1
) -> Floats:
    """Sample the totals of paired clusters when chance determines which side is the first.

    The paired randomization test (Fisher 1935; for language technology Noreen 1989 and Yeh,
    COLING 2000): if the sides were alike, either could have come first in each cluster. Of equal
    clusters, how many are swapped is binomial, so the cost doesn't grow with the clusters.
    """
    import numpy as np

    rows = sorted(counts)
    weights = np.array([counts[row] for row in rows], dtype=np.int64)
    values: Floats = np.array(rows, dtype=np.float64)
    whole = weights @ values
    fours = values.reshape(len(values), -1, 4)
    changes = np.roll(fours, 2, axis=2).reshape(values.shape) - values
    matters = changes.any(axis=1)
    weights, changes = weights[matters], changes[matters]
    totals = np.tile(whole, (swaps, 1))
    block = max(1, CELLS // max(1, len(weights)))
    random = generator(seed)
    for start in range(0, swaps, block):
        size = (min(block, swaps - start), len(weights))
        totals[start : start + block] += random.binomial(weights, 0.5, size) @ changes
    return totals


def generator(seed: int) -> np.random.Generator:
    """Return the random numbers of a run, the same for the same seed, which may be negative."""
    import numpy as np

    return np.random.default_rng(int.from_bytes(blake2b(str(seed).encode()).digest()[:16]))
