"""A rate on two sides, or a mean of rates: its difference, with an interval and a test."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypedDict

from heedful.metrics.agreement import DEFINED, IntervalEstimate, enough, mcnemar, number, ratio
from heedful.metrics.proportions import mean_interval
from heedful.metrics.resampling import percentiles, resampled_totals, swapped_totals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

    Sums = tuple[float, ...]
    """What a cluster adds to k rates: of each the numerator and the denominator of the first side,
    then those of the second."""

    Strata = Mapping[str, Mapping[Sums, int]]
    """For each stratum (one without a name where there is but one): how many clusters add what."""

__all__ = ["contrast"]

ROUNDING = 1e-12
"""Differences that are closer than this are the same, computed in another order."""


class Contrast(TypedDict):
    """A rate on both sides, and the difference.

    Attributes:
        first: the rate of the first side, with its 95 % interval as in a summary.
        second: that of the second.
        difference: first minus second, with the interval of the paired clustered bootstrap.
        p: of the paired randomization test, which swaps the sides of whole clusters; ``None`` where
            there is no difference to test. Where clusters differ by one amount only, as samples do
            that pass or fail, it is McNemar's exact test.
    """

    first: IntervalEstimate
    second: IntervalEstimate
    difference: IntervalEstimate
    p: float | None


def contrast(strata: Strata, *, name: str, seed: int, mirrored: bool) -> Contrast:
    """Compare two sides by the mean of k rates, itself averaged over strata.

    Strata are given, not sampled: clusters are resampled, and their sides swapped, within each.
    Where one of the rates is not defined on a side, neither is the mean.

    Args:
        strata: what the clusters add up to.
        name: as for :func:`heedful.metrics.statistics.bootstrap_interval`.
        seed: as there.
        mirrored: draw with the sides the other way about. So that naming two runs in the other
            order changes no more than signs, it must be true in one of the orders.
    """
    counted = {
        key: Counter({_mirror(sums) if mirrored else sums: n for sums, n in counts.items()})
        for key, counts in sorted(strata.items())
    }
    for counts in counted.values():
        for sums in [sums for sums in counts if not any(sums)]:
            del counts[sums]
    if not counted or not all(counted.values()):
        nothing = IntervalEstimate(value=None, interval=None)
        return Contrast(first=nothing, second=nothing, difference=nothing, p=None)
    streams = {key: f"{name}.{key}" if key else name for key in counted}
    sides = _mean_sides([_totals(counts) for counts in counted.values()])
    draws = None
    if all(map(enough, counted.values())):
        draws = _mean_sides(
            [resampled_totals(counted[key], name=streams[key], seed=seed) for key in counted]
        )
    first, second = (1, 0) if mirrored else (0, 1)
    difference = sides[first] - sides[second]
    return Contrast(
        first=_rate(sides[first], counted.values(), first),
        second=_rate(sides[second], counted.values(), second),
        difference=_estimate(
            difference, None if draws is None else draws[..., first] - draws[..., second]
        ),
        p=_p_value(counted, streams, abs(float(difference)), seed),
    )


def _mirror(sums: Sums) -> Sums:
    return tuple(
        side for at in range(0, len(sums), 4) for side in (*sums[at + 2 : at + 4], *sums[at:][:2])
    )


def _totals(counts: Mapping[Sums, int]) -> Floats:
    import numpy as np

    totals: Floats = np.array([np.multiply(row, n) for row, n in counts.items()]).sum(axis=0)
    return totals


def _mean_sides(strata: list[Floats]) -> Floats:
    """Compute the two sides from totals of shape (…, 4k) for each stratum: shape (…, 2)."""
    import numpy as np

    means = []
    for totals in strata:
        pairs = totals.reshape(*totals.shape[:-1], -1, 2, 2)
        means.append(ratio(pairs[..., 0], pairs[..., 1]).mean(axis=-2))
    sides: Floats = np.mean(means, axis=0)
    return sides


def _rate(value: Floats, strata: Iterable[Mapping[Sums, int]], side: int) -> IntervalEstimate:
    """Give a side's rate the interval that a summary has for it."""
    of_side: list[Counter[tuple[tuple[float, float], ...]]] = []
    for counts in strata:
        clusters: Counter[tuple[tuple[float, float], ...]] = Counter()
        for sums, n in counts.items():
            starts = range(2 * side, len(sums), 4)
            clusters[tuple((sums[at], sums[at + 1]) for at in starts)] += n
        of_side.append(clusters)
    found = IntervalEstimate(value=number(value), interval=None)
    interval = mean_interval(of_side)
    if found["value"] is not None and interval:
        found["interval"] = list(interval)
    return found


def _estimate(value: Floats, draws: Floats | None) -> IntervalEstimate:
    """Give a value its interval, unless too many resamples leave it undefined."""
    import numpy as np

    found = IntervalEstimate(value=number(value), interval=None)
    if found["value"] is not None and draws is not None:
        defined = draws[~np.isnan(draws)]
        if len(defined) >= DEFINED * len(draws):
            found["interval"] = list(percentiles(defined))
    return found


def _p_value(
    strata: Strata, streams: Mapping[str, str], difference: float, seed: int
) -> float | None:
    """Test whether the sides differ by more than swapping them by chance makes them."""
    import numpy as np

    if np.isnan(difference):
        return None
    signs = _signs(strata)
    if signs is not None:
        return mcnemar(*signs)
    sides = _mean_sides(
        [swapped_totals(strata[key], name=streams[key], seed=seed) for key in strata]
    )
    nearer = np.abs(sides[..., 0] - sides[..., 1]) < difference - ROUNDING
    return (1 + len(nearer) - int(nearer.sum())) / (1 + len(nearer))


def _signs(strata: Strata) -> tuple[int, int] | None:
    """Count the clusters by which side is ahead, if nothing else of them matters to the test."""
    if len(strata) > 1:
        return None
    (counts,) = strata.values()
    ahead: Counter[float] = Counter()
    for sums, n in counts.items():
        if len(sums) > 4 or sums[1] != sums[3]:  # noqa: PLR2004 - one rate
            return None
        ahead[sums[0] - sums[2]] += n
    if len({abs(lead) for lead in ahead if lead}) > 1:
        return None
    first, second = (sum(n for lead, n in ahead.items() if lead * sign > 0) for sign in (1, -1))
    return first, second
