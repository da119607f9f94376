"""F1 averaged over instructions, and over types of instructions, as IF-RewardBench does."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypedDict

from heedful.metrics.agreement import (
    Confusion,
    IntervalEstimate,
    estimate,
    number,
    rate,
)
from heedful.metrics.proportions import mean_interval

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from heedful.metrics.proportions import Pair

    Instruction = tuple[Pair, Pair]
    """Sums of an instruction's positive and negative F1s over its samples, each with their
    number."""


Parts = dict[tuple[str | None, "Hashable", int], Confusion]
"""Counts of verdicts by label, for each type, instruction and sample."""


class Averages(TypedDict):
    """F1s averaged over the instructions on which they are defined: how many (times samples)."""

    mean_f1: IntervalEstimate
    f1_met: IntervalEstimate
    f1_unmet: IntervalEstimate
    instructions: int
    defined: dict[str, int]


def mean_over(parts: Parts, *, zero: bool) -> Averages:
    """Average positive and negative F1 over instructions (and their samples)."""
    return _averages([_instructions(parts, zero=zero)])


def mean_over_types(parts: Parts, *, zero: bool) -> Averages:
    """Average over the instructions of each type, then over the types.

    A type on which an F1 is defined for no instruction is left out of that F1's mean. Instructions
    vary within each type: the types are given, not sampled.
    """
    types = sorted({group for group, _, _ in parts if group is not None})
    return _averages(
        [
            _instructions({key: cells for key, cells in parts.items() if key[0] == name}, zero=zero)
            for name in types
        ]
    )


def _averages(strata: Sequence[Sequence[Instruction]]) -> Averages:
    met, unmet = ([[pairs[at] for pairs in stratum] for stratum in strata] for at in (0, 1))
    f1s = [_mean_f1(side) for side in (met, unmet)]
    both = [f1["value"] for f1 in f1s]
    mean = None if None in both else sum(value or 0.0 for value in both) / len(both)
    interval = None if mean is None else mean_interval([Counter(stratum) for stratum in strata])
    return Averages(
        mean_f1=estimate(mean, interval),
        f1_met=f1s[0],
        f1_unmet=f1s[1],
        instructions=sum(map(len, strata)),
        defined={
            name: int(sum(number for stratum in side for _, number in stratum))
            for name, side in (("f1_met", met), ("f1_unmet", unmet))
        },
    )


def _mean_f1(strata: Sequence[Sequence[Pair]]) -> IntervalEstimate:
    """Average one of the F1s over the instructions of each stratum, then over the strata."""
    known = [stratum for stratum in strata if any(number for _, number in stratum)]
    means = [
        sum(value for value, _ in stratum) / sum(number for _, number in stratum)
        for stratum in known
    ]
    if not means:
        return estimate(None)
    interval = mean_interval([Counter((pair,) for pair in stratum) for stratum in known])
    return estimate(sum(means) / len(means), interval)


def _instructions(parts: Parts, *, zero: bool) -> list[Instruction]:
    """Sum up each instruction's F1s over its samples."""
    sums: dict[tuple[str | None, Hashable], Instruction] = {}
    for (group, instruction, _), cells in parts.items():
        pairs = sums.get((group, instruction), ((0.0, 0.0), (0.0, 0.0)))
        values = (number(rate(name, cells)) for name in ("f1_met", "f1_unmet"))
        met, unmet = (
            (total + (value or 0.0), n + float(zero or value is not None))
            for (total, n), value in zip(pairs, values, strict=True)
        )
        sums[group, instruction] = met, unmet
    return list(sums.values())
