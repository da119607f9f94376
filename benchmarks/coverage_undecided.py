"""Differences of runs with undecided verdicts against the truth, for ``coverage.py``."""

from __future__ import annotations

from itertools import product
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from heedful.analysis.compare.differences import Clusters, Differences, PairRows, parts
from heedful.metrics.contrasts import LEVEL
from heedful.metrics.outcomes import RowOutcome, VerdictCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 200
CONSTRAINTS = 5
MET = 0.88
RISE = 0.7
"""Logarithm of how much more is undecided in a row that is harder by a standard deviation."""

SEED = 20260102


class Truth(NamedTuple):
    """Simulated verdicts, and which of them are undecided; shape (rows, constraints)."""

    met: NDArray[np.bool_]
    undecided: NDArray[np.bool_]


RATES = {"ISR": ("cfbench", "isr"), "CSR": ("cfbench", "csr"), "DRFR": ("infobench", "drfr")}

SIDES = ((0.05, 0.05), (0.2, 0.2), (0.05, 0.2))
"""Shares of the verdicts that the two sides leave undecided."""


RATES_MET = ((MET, MET), (MET, 0.8))
"""Shares of the constraints that two models meet."""


def difference_tables(data_sets: int) -> None:
    """Print what comparing two models finds, with undecided verdicts."""
    print(
        "\ntwo models compared, by what is undecided on either side: the true difference, the mean"
    )
    print(
        "over data sets, in points; how often p < 0.05, and how often the interval holds the truth"
    )
    for name, models in product(RATES, RATES_MET):
        for what, rise in (("at random", 0.0), ("harder rows", RISE), ("of unmet only", None)):
            for shares in SIDES:
                sides = " and ".join(f"{share:.0%}" for share in shares)
                key = [SEED, len(name + what), round(100 * sum(shares)), round(100 * models[1])]
                random = np.random.default_rng(key)
                truth = _difference(_two(random, 100_000, models, shares, rise), name)
                found = [
                    _compared(_two(random, ROWS, models, shares, rise), name, truth)
                    for _ in range(max(20, data_sets))
                ]
                figures = [truth, *np.mean(found, axis=0)]
                shown = "  ".join(f"{100 * figure:5.1f}" for figure in figures)
                print(f"{name}, undecided {what}, {sides}: {shown}", flush=True)


def _two(
    random: np.random.Generator,
    rows: int,
    models: tuple[float, float],
    shares: tuple[float, float],
    rise: float | None,
) -> tuple[Truth, Truth]:
    """Simulate two models on the same rows.

    Args:
        random: where the data come from.
        rows: how many.
        models: shares of the constraints that they meet.
        shares: that are undecided, of unmet verdicts where ``rise`` is ``None``.
        rise: how much more is undecided in harder rows.
    """
    hardness = random.normal(size=(rows, 1))
    weight = np.exp((rise or 0.0) * hardness)
    sides = []
    for rate, share in zip(models, shares, strict=True):
        own = random.normal(size=(rows, CONSTRAINTS))
        met = np.sqrt(0.3) * hardness + np.sqrt(0.7) * own < NormalDist().inv_cdf(rate)
        open_ = random.random(met.shape) < np.minimum(1, share * weight / weight.mean())
        sides.append(Truth(met, open_ & ~met if rise is None else open_))
    return sides[0], sides[1]


def _difference(sides: tuple[Truth, Truth], name: str) -> float:
    """Compute the difference of verdicts that are all decided."""
    first, second = (
        float((side.met.all(axis=1) if name == "ISR" else side.met).mean()) for side in sides
    )
    return first - second


def _compared(sides: tuple[Truth, Truth], name: str, truth: float) -> tuple[float, bool, bool]:
    """Compare two models; return the difference, if it is found, and if its interval is right."""
    undecided = sides[0].undecided | sides[1].undecided
    clusters = Clusters()
    differences = Differences(clusters)
    rate = RATES[name]
    for number, left in enumerate(undecided.sum(axis=1).tolist()):
        clusters.begin(number)
        hits = [int((side.met[number] & ~undecided[number]).sum()) for side in sides]
        alone, shared = (
            [
                RowOutcome(VerdictCounts(), VerdictCounts(met, CONSTRAINTS - left - met, undecided))
                for met in hits
            ]
            for undecided in (left, 0)
        )
        rows = PairRows((alone[0], alone[1]), (shared[0], shared[1]))
        differences.add(rate, dict(parts(rows, ("strict", "strict")))[rate])
    measured = differences.result(rate, seed=0)
    low, high = measured["difference"]["interval"] or (-1.0, 1.0)
    p, value = measured["p"], measured["difference"]["value"] or 0.0
    return value, p is not None and p < LEVEL, low <= truth <= high
