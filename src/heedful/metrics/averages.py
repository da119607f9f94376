"""F1 averaged over instructions, and over types of instructions, as IF-RewardBench does."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypedDict

from heedful.metrics.agreement import (
    Confusion,
    IntervalEstimate,
    enough,
    estimates,
    f1_met,
    f1_unmet,
    number,
    ratio,
)
from heedful.metrics.resampling import percentiles, resampled_totals

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Parts", "mean_over", "mean_over_types"]

Parts = dict[tuple[str | None, "Hashable", int], Confusion]
"""Counts of verdicts by label, for each type, instruction and sample."""


class Averages(TypedDict):
    """F1s averaged over instructions.

    Attributes:
        mean_f1: mean of the two below.
        f1_met: mean over the instructions on which it is defined.
        f1_unmet: likewise.
        instructions: how many there are.
        defined: on how many (times samples) each of the two F1s is defined.
    """

    mean_f1: IntervalEstimate
    f1_met: IntervalEstimate
    f1_unmet: IntervalEstimate
    instructions: int
    defined: dict[str, int]


def mean_over(parts: Parts, *, zero: bool, name: str, seed: int = 0) -> Averages:
    """Average positive and negative F1 over instructions (and their samples).

    Args:
        parts: the counts; types are of no matter here.
        zero: take an F1 that is not defined, since nothing is met (unmet) and nothing was found
            so, as 0, as IF-RewardBench's code does, and not as absent.
        name: as for :func:`heedful.metrics.statistics.bootstrap_interval`; instructions are
            resampled with all their samples.
        seed: as there.
    """
    sums = _sums(parts, zero=zero)
    totals = [sum(column) for column in zip((0.0,) * 4, *sums.values(), strict=True)]
    f1s = estimates(Counter(sums.values()), _FORMULAS, name=name, seed=seed)
    return _averages(f1s, len(sums), totals)


def mean_over_types(parts: Parts, *, zero: bool, name: str, seed: int = 0) -> Averages:
    """Average over the instructions of each type, then over the types.

    A type on which an F1 is defined for no instruction is left out of that F1's mean. The interval
    resamples the instructions of each type: the types are given, not sampled.

    Args:
        parts: the counts; those without a type are left out.
        zero: as for :func:`mean_over`.
        name: as there.
        seed: as there.
    """
    import numpy as np

    types = sorted({group for group, _, _ in parts if group is not None})
    by_type = [
        _sums({key: cells for key, cells in parts.items() if key[0] == group}, zero=zero)
        for group in types
    ]
    totals = np.array([np.sum(list(sums.values()), axis=0) for sums in by_type])
    draws: list[Floats] = []
    for group, sums in zip(types, by_type, strict=True):
        counts = Counter(sums.values())
        if enough(counts):
            draws.append(resampled_totals(counts, name=f"{name}.{group}", seed=seed))
    f1s: dict[str, IntervalEstimate] = {}
    for rate, formula in _FORMULAS.items():
        if rate == "mean_f1":
            continue
        values = formula(totals)
        value = None if np.isnan(values).all() else float(np.nanmean(values))
        f1s[rate] = IntervalEstimate(value=value, interval=None)
    both = [f1s[rate]["value"] for rate in ("f1_met", "f1_unmet")]
    known = [value for value in both if value is not None]
    mean = sum(known) / len(known) if len(known) == len(both) else None
    f1s["mean_f1"] = IntervalEstimate(value=mean, interval=None)
    if len(draws) == len(types):
        _add_intervals(f1s, draws)
    return _averages(f1s, sum(map(len, by_type)), list(totals.sum(axis=0)))


def _add_intervals(f1s: dict[str, IntervalEstimate], draws: list[Floats]) -> None:
    """Add percentile intervals of means over types; none where a resample left a type undefined."""
    import numpy as np

    for rate, formula in _FORMULAS.items():
        means = np.mean([formula(totals) for totals in draws], axis=0)
        if f1s[rate]["value"] is not None and not np.isnan(means).any():
            f1s[rate]["interval"] = list(percentiles(means))


def _sums(
    parts: Mapping[tuple[str | None, Hashable, int], Confusion], *, zero: bool
) -> dict[tuple[str | None, Hashable], tuple[float, ...]]:
    """Sum up each instruction's F1s over its samples: positive, how many, negative, how many."""
    sums: dict[tuple[str | None, Hashable], tuple[float, ...]] = {}
    for (group, instruction, _), cells in parts.items():
        values = [number(f1_met(cells)), number(f1_unmet(cells))]
        new = [
            part for value in values for part in (value or 0.0, float(zero or value is not None))
        ]
        before = sums.get((group, instruction), (0.0,) * 4)
        sums[group, instruction] = tuple(a + b for a, b in zip(before, new, strict=True))
    return sums


def _mean_met(sums: Floats) -> Floats:
    return ratio(sums[..., 0], sums[..., 1])


def _mean_unmet(sums: Floats) -> Floats:
    return ratio(sums[..., 2], sums[..., 3])


def _mean_both(sums: Floats) -> Floats:
    both: Floats = (_mean_met(sums) + _mean_unmet(sums)) / 2
    return both


_FORMULAS = {"mean_f1": _mean_both, "f1_met": _mean_met, "f1_unmet": _mean_unmet}


def _averages(
    estimates: Mapping[str, IntervalEstimate], instructions: int, totals: list[float]
) -> Averages:
    return Averages(
        mean_f1=estimates["mean_f1"],
        f1_met=estimates["f1_met"],
        f1_unmet=estimates["f1_unmet"],
        instructions=instructions,
        defined={"f1_met": int(totals[1]), "f1_unmet": int(totals[3])},
    )
