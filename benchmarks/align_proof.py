"""Measure how often the gain that ``heedful align`` proves holds: coverage, and false claims.

A data set has labelled criteria in instructions of one to four. A judge errs with a rate of its
own, partly on the same criteria as the others (difficult ones); each candidate is such a judge. The
candidates are tried by halving on the instructions that choose, and the best is measured on the
others against the present judge. Its true gain is the difference of the error rates, over criteria
that are met and that are unmet alike. ``--all`` compares further intervals on the same data.

    python benchmarks/align_proof.py --data-sets 500
"""

import argparse
import math
from collections import Counter
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from heedful.analysis.align.trials import BALANCED, halve
from heedful.analysis.meta.measures import rate_difference
from heedful.metrics.agreement import RATES
from heedful.metrics.clusters import CHOOSING
from heedful.metrics.proportions import student

UNMET = 0.3
ERROR = 0.2
SHARED = 0.5
"""The share of a judge's errors that difficult criteria cause."""

FEWEST = 5
"""Instructions that a proof needs."""

Floats = NDArray[np.float64]


def data_set(random: np.random.Generator, labels: int, errors: Floats) -> tuple[Floats, Floats]:
    """Return each judge's cells by instruction, shape (judges, instructions, 4), and true gains."""
    sizes: list[int] = []
    while sum(sizes) < labels:
        sizes.append(min(int(random.integers(1, 5)), labels - sum(sizes)))
    of = np.repeat(np.arange(len(sizes)), sizes)
    label = random.random(labels) >= UNMET
    hard = 0.5 * random.random(labels) + 0.5 * random.random(len(sizes))[of]
    judges = len(errors)
    own = random.random((judges, labels))
    # A difficult criterion is one for all; a judge errs on those below its rate.
    shared = random.random((judges, labels)) < SHARED
    rank = np.searchsorted(np.sort(_hardness(random)), hard) / DRAWS
    wrong = np.where(shared, rank[None, :], own) < errors[:, None]
    met = label[None, :] != wrong
    cells = np.zeros((judges, len(sizes), 4))
    for place, chosen in enumerate((label & met, ~label & met, label & ~met, ~label & ~met)):
        for judge in range(judges):
            cells[judge, :, place] = np.bincount(of, chosen[judge], len(sizes))
    return cells, errors[0] - errors


DRAWS = 20_000
_DRAWN: list[Floats] = []


def _hardness(random: np.random.Generator) -> Floats:
    if not _DRAWN:
        fixed = np.random.default_rng(0)
        _DRAWN.append(0.5 * fixed.random(DRAWS) + 0.5 * fixed.random(DRAWS))
    del random
    return _DRAWN[0]


def paired(first: Floats, second: Floats) -> Counter[tuple[float, ...]]:
    """Count instructions by the cells of two judges."""
    rows = np.concatenate([first, second], axis=1)
    return Counter(tuple(map(float, row)) for row in rows)


def gain(counts: Counter[tuple[float, ...]]) -> float:
    """Return how much better the first judge is."""
    if not counts:
        return 0.0
    sums = np.array([[n * value for value in key] for key, n in counts.items()]).sum(axis=0)
    return mean_rate(sums[:4]) - mean_rate(sums[4:])


def mean_rate(cells: Floats) -> float:
    """Return the balanced accuracy; what has no label counts as 0."""
    values = [float(RATES[rate](cells)) for rate in BALANCED]
    return fmean(0.0 if math.isnan(value) else value for value in values)


def clustered_t(first: Floats, second: Floats) -> tuple[float, float]:
    """Linearise the difference over clusters, with Student's quantile."""
    residuals = np.zeros(len(first))
    value = 0.0
    for place, other in ((0, 2), (3, 1)):
        of = first[:, place] + first[:, other]
        total = max(of.sum(), 1.0)
        difference = first[:, place] - second[:, place]
        rate = difference.sum() / total
        value += rate / 2
        residuals += (difference - rate * of) / total / 2
    n = len(first)
    margin = student(n - 1) * math.sqrt(n / (n - 1) * float((residuals**2).sum()))
    return value - margin, value + margin


def bca(first: Floats, second: Floats, random: np.random.Generator) -> tuple[float, float]:
    """Resample clusters, bias-corrected and accelerated."""
    from statistics import NormalDist

    normal = NormalDist()

    def value(sums: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            met = (sums[..., 0] - sums[..., 4]) / (sums[..., 0] + sums[..., 2])
            unmet = (sums[..., 3] - sums[..., 7]) / (sums[..., 1] + sums[..., 3])
        result: Floats = (np.nan_to_num(met) + np.nan_to_num(unmet)) / 2
        return result

    rows = np.concatenate([first, second], axis=1)
    n = len(rows)
    weights = random.multinomial(n, np.full(n, 1 / n), size=2000)
    values = value(weights @ rows)
    whole = float(value(rows.sum(axis=0)))
    below = float(((values < whole).mean() + (values <= whole).mean()) / 2)
    bias = normal.inv_cdf(min(max(below, 1e-3), 1 - 1e-3))
    without = value(rows.sum(axis=0) - rows)
    away = without.mean() - without
    scale = float((away**2).sum()) ** 1.5
    acceleration = float((away**3).sum()) / 6 / scale if scale else 0.0
    ends = []
    for z in (-1.96, 1.96):
        at = bias + (bias + z) / (1 - acceleration * (bias + z))
        ends.append(float(np.quantile(values, normal.cdf(at))))
    return ends[0], ends[1]


def cell(
    sets: int, candidates: int, labels: int, better: float, seed: int, *, every: bool
) -> dict[str, list[tuple[float, float, float]]]:
    """Simulate one cell: for each kind of interval its ends and the true gain, of each data set."""
    random = np.random.default_rng([seed, candidates, labels, round(1000 * better)])
    found: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(sets):
        errors = np.full(candidates + 1, ERROR)
        if better:
            errors[1:] = np.clip(ERROR + random.normal(0, better, candidates), 0.01, 0.5)
        cells, gains = data_set(random, labels, errors)
        part = random.random(cells.shape[1])
        rungs = [part < 1 / 6, (part >= 1 / 6) & (part < CHOOSING)]
        prove = np.array(part >= CHOOSING)

        def compared(at: int, rung: int) -> Counter[tuple[float, ...]]:
            return paired(cells[at][rungs[rung]], cells[0][rungs[rung]])  # noqa: B023

        (chosen, _, own), *_ = halve(range(1, candidates + 1), compared, gain, len(rungs))
        if own <= 0 or prove.sum() < FEWEST:
            continue  # none is better on choose: nothing is claimed
        first, second = cells[chosen][prove], cells[0][prove]
        ends = {"heedful": rate_difference(paired(first, second), BALANCED, 0)["interval"]}
        if every:
            ends |= {"clustered t": clustered_t(first, second), "BCa": bca(first, second, random)}
        for name, interval in ends.items():
            if interval is not None:
                found.setdefault(name, []).append((*interval, float(gains[chosen])))
    return found


def main() -> None:
    """Print a table: a row for each cell and interval."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-sets", type=int, default=500)
    parser.add_argument("--candidates", type=int, nargs="+", default=[8, 40])
    parser.add_argument("--labels", type=int, nargs="+", default=[40, 100, 200])
    parser.add_argument("--better", type=float, nargs="+", default=[0.0, 0.05])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="other intervals beside heedful's")
    given = parser.parse_args()
    print("| spread | candidates | labels | interval | covers | claims a gain | width | proofs |")
    print("| ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |")
    for better in given.better:
        for candidates in given.candidates:
            for labels in given.labels:
                found = cell(
                    given.data_sets, candidates, labels, better, given.seed, every=given.all
                )
                for name, each in found.items():
                    covers = fmean(low <= true <= high for low, high, true in each)
                    claims = sum(low > 0 for low, _, _ in each) / given.data_sets
                    width = fmean(high - low for low, high, _ in each)
                    print(
                        f"| {better:g} | {candidates} | {labels} | {name} | {100 * covers:.1f} % | "
                        f"{100 * claims:.1f} % | {100 * width:.1f} | {len(each)} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
