"""Rates and differences of runs with undecided verdicts against the truth, for ``coverage.py``."""

from __future__ import annotations

from itertools import product
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from heedful import Constraint, Critique, Judgment, Sample
from heedful.analysis.compare.differences import Clusters, Differences, parts
from heedful.core.nouns import Status
from heedful.metrics import Summary
from heedful.metrics.contrasts import LEVEL
from heedful.metrics.outcomes import RowOutcome, VerdictCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 200
TURNS = 5
CONSTRAINTS = 5
MET = 0.88
RISE = 0.7
"""Logarithm of how much more is undecided in a row that is harder by a standard deviation."""

SEED = 20260102


class Truth(NamedTuple):
    """Simulated verdicts, and which of them are undecided; shape (rows, constraints)."""

    met: NDArray[np.bool_]
    undecided: NDArray[np.bool_]


def undecided_tables(data_sets: int) -> None:
    """Print the mean of rates with undecided verdicts, beside the truth, and their coverage."""
    print("\nundecided verdicts; in %: the truth, and the mean over data sets of: complete cases")
    print("(before), known rows only, heedful; then its interval's coverage and mean width")
    for (what, rise), (name, sysbench), correlation, share in product(
        LOST.items(), (("ISR", False), ("SSR", True)), (0.0, 0.3, 0.6), (0.05, 0.1, 0.2)
    ):
        print(f"{name}, {what}, correlation {correlation}, {share:4.0%} undecided:", end=" ")
        print(_line(data_sets, (correlation, share, rise), sysbench=sysbench), flush=True)


LOST: dict[str, float | None] = {"at random": 0.0, "harder rows": RISE, "of unmet only": None}
"""Which verdicts are undecided."""

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
        first, second = (
            RowOutcome(VerdictCounts(), VerdictCounts(met, CONSTRAINTS - left - met, left))
            for met in hits
        )
        differences.add(rate, dict(parts(first, second, ("strict", "strict")))[rate])
    measured = differences.result(rate, seed=0)
    low, high = measured["difference"]["interval"] or (-1.0, 1.0)
    p, value = measured["p"], measured["difference"]["value"] or 0.0
    return value, p is not None and p < LEVEL, low <= truth <= high


def _line(data_sets: int, setting: tuple[float, float, float | None], *, sysbench: bool) -> str:
    """Simulate data sets of a setting: correlation within rows, share undecided, and its rise."""
    random = np.random.default_rng([SEED, *(round(100 * (number or 0.0)) for number in setting)])
    large = _simulate(random, 100_000, setting)
    truth = _rate(large.met, sysbench=sysbench)
    complete: list[float] = []
    known: list[float] = []
    measured = []
    for _ in range(max(20, data_sets)):
        data = _simulate(random, ROWS, setting)
        decided = np.asarray(~data.undecided.any(axis=1))
        failed = np.asarray((~data.met & ~data.undecided).any(axis=1))
        for rows, rates in ((decided, complete), (decided | failed, known)):
            whole = rows.reshape(-1, TURNS).all(axis=1).repeat(TURNS) if sysbench else rows
            if whole.any():
                met = data.met | ~failed[:, None] & data.undecided
                rates.append(_rate(met[whole], sysbench=sysbench))
        measured.append(_summary(data, sysbench=sysbench))
    hits = sum(low <= truth <= high for _, (low, high) in measured)
    value = sum(value for value, _ in measured) / len(measured)
    means = (sum(rates) / max(1, len(rates)) for rates in (complete, known))
    width = sum(high - low for _, (low, high) in measured) / len(measured)
    return "  ".join(
        f"{100 * figure:5.1f}" for figure in (truth, *means, value, hits / len(measured), width)
    )


def _simulate(
    random: np.random.Generator, rows: int, setting: tuple[float, float, float | None]
) -> Truth:
    correlation, share, rise = setting
    shape = (rows, CONSTRAINTS)
    hardness = random.normal(size=(rows, 1))
    normal = np.sqrt(correlation) * hardness + np.sqrt(1 - correlation) * random.normal(size=shape)
    weight = np.exp((rise or 0.0) * hardness)
    undecided = random.random(shape) < np.minimum(1, share * weight / weight.mean())
    met = normal < NormalDist().inv_cdf(MET)
    return Truth(met, undecided & ~met if rise is None else undecided)


def _rate(met: NDArray[np.bool_], *, sysbench: bool) -> float:
    """Compute the rate of verdicts that are all decided."""
    passed = met.all(axis=1)
    if not sysbench:
        return float(passed.mean())
    return float(passed.reshape(-1, TURNS).cumprod(axis=1).sum(axis=1).mean() / TURNS)


def _summary(data: Truth, *, sysbench: bool) -> tuple[float, tuple[float, float]]:
    summary = Summary()
    checklist = tuple(Constraint(text=f"c{place}") for place in range(CONSTRAINTS))
    states = {True: Judgment(status=Status.MET), False: Judgment(status=Status.UNMET)}
    open_ = Judgment(status=Status.FAILED)
    for number, (met, undecided) in enumerate(zip(data.met, data.undecided, strict=True)):
        tags: dict[str, str | int] = {
            "benchmark": "sysbench",
            "system_id": number // TURNS,
            "turn": number % TURNS + 1,
        }
        judgments = tuple(
            open_ if missing else states[bool(hit)]
            for hit, missing in zip(met, undecided, strict=True)
        )
        sample = Sample(id=str(number), checklist=checklist, tags={**tags} if sysbench else {})
        summary.add(sample, Critique(judgments=judgments))
    family, name = ("sysbench", "ssr") if sysbench else ("cfbench", "isr")
    measured = summary.result()["metrics"][family][name]
    low, high = measured["interval"]
    return measured["value"], (low, high)
