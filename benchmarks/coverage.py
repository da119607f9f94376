"""Coverage of every kind of interval, and size and power of every test, on simulated data.

    python benchmarks/coverage.py [--quick] [--only WORD]

Simulates data whose truth is known, with verdicts of a cluster that vary together, over numbers of
clusters, true rates and correlations. It prints, for each kind of interval and number of clusters,
the least and the mean coverage over all rates and correlations in %, and the mean width in points;
for each test its greatest size and mean power; the bias of differences when one side leaves more
verdicts undecided.

The least of many cells is low by chance. So a cell that covers less than 93.5 %, or whose test
rejects more than 6 %, is simulated again with fresh and more data sets, which count alone.
"""

from __future__ import annotations

import argparse
from collections import Counter
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from coverage_undecided import difference_tables

import heedful.metrics.calibration
from heedful.metrics import contrasts
from heedful.metrics.agreement import (
    RATES,
    alpha_estimate,
    coincidences,
    krippendorff_alpha,
    rate_estimates,
    weighted_kappa_estimate,
)
from heedful.metrics.calibration import calibration
from heedful.metrics.contrasts import LEVEL, contrast, swapped_totals
from heedful.metrics.prediction_powered import Stratum, powered_mean, small_sample
from heedful.metrics.proportions import Spread, mean_interval, rate_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ends = Sequence[float] | None
    Random = np.random.Generator

SIZES = (5, 9, 20, 50, 200)
RATES_TRUE = (0.5, 0.7, 0.9, 0.95, 1.0)
CORRELATIONS = (0.0, 0.3, 0.6)
TASKS = 3
SWAPS = 499
SAMPLES = 1000
"""Random swaps of a test, and samples for a calibration error; the product makes 10,000."""

FEW_SWAPS = partial(swapped_totals, swaps=SWAPS)

FRESH = 5
"""How many times as many data sets a doubtful cell is simulated again with."""

LOW_COVERAGE = 0.935
HIGH_SIZE = 0.06

SEED = 20260101
ROUNDING = 1e-9


class Outcome(NamedTuple):
    """One simulated data set: the truth, the interval, and a p-value where there is a test."""

    truth: float
    interval: Ends
    p: float | None = None


class Kind(NamedTuple):
    """A kind of interval.

    Attributes:
        name: as it is printed.
        cells: true values and correlations to simulate.
        simulate: makes a data set of so many clusters and computes the interval.
        cost: how many times fewer data sets are simulated than of the quickest.
    """

    name: str
    cells: Sequence[tuple[Any, float]]
    simulate: Callable[[Random, int, Any, float], Outcome]
    cost: int = 1


def beta(random: Random, n: int, rate: float, correlation: float) -> Floats:
    """Sample the rates of clusters."""
    if not correlation or rate in (0, 1):
        return np.full(n, float(rate))
    strength = (1 - correlation) / correlation
    return random.beta(rate * strength, (1 - rate) * strength, n)


def clusters(
    random: Random, n: int, sizes: tuple[int, int], rate: float, correlation: float
) -> list[tuple[float, float]]:
    """Sample clusters of so many units each, of which so many count: beta-binomial."""
    units = random.integers(sizes[0], sizes[1], n, endpoint=True)
    hits = random.binomial(units, beta(random, n, rate, correlation))
    return list(zip(hits.astype(float).tolist(), units.astype(float).tolist(), strict=True))


def of_rate(
    random: Random,
    n: int,
    rate: float,
    correlation: float,
    *,
    sizes: tuple[int, int],
    interval: Callable[[list[tuple[float, float]]], Ends],
) -> Outcome:
    """Simulate a rate."""
    return Outcome(rate, interval(clusters(random, n, sizes, rate, correlation)))


def pooled(pairs: Sequence[tuple[float, float]]) -> Ends:
    """Compute the interval of a rate over clusters."""
    return rate_interval(Spread.of(Counter(pairs).items()))


def shares(pairs: Sequence[tuple[float, float]]) -> Ends:
    """Compute the interval of the mean of the clusters' own rates."""
    return pooled([(hits / units, 1.0) for hits, units in pairs])


ONE, NONE = (1.0, 1.0), (0.0, 1.0)
"""A sample that passes, and another."""


def over_tasks(pairs: Sequence[tuple[float, float]]) -> Ends:
    """Compute the interval of a mean over tasks."""
    parts = (pairs[task::TASKS] for task in range(TASKS))
    return mean_interval([Counter((pair,) for pair in part) for part in parts])


def unequal_tasks(random: Random, n: int, rate: float, _correlation: float) -> Outcome:
    """Simulate a mean over tasks of unequal sizes: 2 samples, a quarter of n, and n."""
    tasks = list(zip((2, max(2, n // 4), n), (0.5, rate, (1 + rate) / 2), strict=True))
    hits = [(int(random.binomial(size, own)), size) for size, own in tasks]
    clusters: list[Counter[tuple[tuple[float, float], ...]]] = [
        Counter([(ONE,)] * h + [(NONE,)] * (size - h)) for h, size in hits
    ]
    return Outcome(sum(own for _, own in tasks) / 3, mean_interval(clusters))


def ssr(random: Random, n: int, rate: float, correlation: float) -> Outcome:
    """Simulate SysBench's SSR: leading turns of five that are all met."""
    systems = random.random((n, 5)) < beta(random, n, rate, correlation)[:, None]
    leading = systems.cumprod(axis=1).sum(axis=1) / 5
    if not correlation or rate in (0, 1):
        truth = sum(rate**k for k in range(1, 6)) / 5
    else:
        strength = (1 - correlation) / correlation
        steps = [(rate * strength + k) / (strength + k) for k in range(5)]
        truth = float(np.cumprod(steps).sum() / 5)
    return Outcome(truth, pooled([(share, 1.0) for share in leading.tolist()]))


JUDGES = (
    (0.5, 0.9, 0.9),
    (0.7, 0.9, 0.8),
    (0.8, 0.95, 0.9),
    (0.9, 0.9, 0.6),
    (0.6, 1.0, 0.9),
    (0.7, 1.0, 1.0),
    (0.95, 0.98, 0.6),
    (0.97, 0.95, 0.8),
    (0.98, 0.99, 0.99),
)
"""Share of constraints met, sensitivity and specificity."""

VERDICTS = 5
"""Labelled verdicts of an instruction."""


def judged(
    random: Random, n: int, judge: tuple[float, float, float], correlation: float
) -> Counter[tuple[float, ...]]:
    """Sample confusion matrices of instructions: errors of one instruction go together."""
    rate, sensitivity, specificity = judge
    met = random.random((n, VERDICTS)) < beta(random, n, rate, correlation)[:, None]
    right = np.where(
        met,
        random.random((n, VERDICTS)) < beta(random, n, sensitivity, correlation)[:, None],
        random.random((n, VERDICTS)) < beta(random, n, specificity, correlation)[:, None],
    )
    cells = [met & right, ~met & ~right, met & ~right, ~met & right]
    counts = np.stack([cell.sum(axis=1) for cell in cells], axis=1).astype(float)
    return Counter(map(tuple, counts.tolist()))


def expected(judge: tuple[float, float, float]) -> tuple[float, float, float, float]:
    """Return the expected confusion matrix of a judge."""
    rate, sensitivity, specificity = judge
    tp, tn = rate * sensitivity, (1 - rate) * specificity
    return tp, 1 - rate - tn, rate - tp, tn


def of_agreement(
    random: Random,
    n: int,
    judge: tuple[float, float, float],
    correlation: float,
    *,
    name: str,
) -> Outcome:
    """Simulate a rate over verdicts and labels."""
    counts = judged(random, n, judge, correlation)
    truth = float(RATES[name](expected(judge)))
    return Outcome(truth, rate_estimates(counts, (name,))[name]["interval"])


def of_alpha(
    random: Random, n: int, judge: tuple[float, float, float], correlation: float
) -> Outcome:
    """Simulate Krippendorff's alpha of a judge and the labels."""
    tp, fp, fn, tn = expected(judge)
    both, split = np.array(coincidences((2, 0))), np.array(coincidences((1, 1)))
    # Of very many units, as the formula corrects for few.
    total = 1e9 * (tp * both + tn * np.array(coincidences((0, 2))) + (fp + fn) * split)
    counts: Counter[tuple[float, ...]] = Counter()
    for (met, wrong, missed, unmet), number in judged(random, n, judge, correlation).items():
        mixed = wrong + missed
        counts[2 * mixed, 2 * met + mixed, 2 * unmet + mixed] += number
    return Outcome(float(krippendorff_alpha(total)), alpha_estimate(counts)["interval"])


def of_weighted_kappa(random: Random, n: int, noise: float, correlation: float) -> Outcome:
    """Simulate two sides' values of 0, 1/2 and 1, of which the second has some at random."""
    levels = np.array([0.0, 0.5, 1.0])
    shares = np.array([0.1, 0.2, 0.7])
    first = random.choice(levels, (n, VERDICTS), p=shares)
    kept = random.random((n, VERDICTS)) >= beta(random, n, noise, correlation)[:, None]
    second = np.where(kept, first, random.choice(levels, (n, VERDICTS), p=shares))
    columns = [first * 0 + 1, first, second, first**2 + second**2, first * second]
    sums = np.stack([column.sum(axis=1) for column in columns], axis=1)
    return Outcome(
        1 - noise, weighted_kappa_estimate(Counter(map(tuple, sums.tolist())))["interval"]
    )


UNLABELLED = 600
"""Verdicts of a judge beside the labels that ``heedful calibrate`` has."""

FEW_LABELS = (
    (0.3, 0.9, 0.8),
    (0.8, 0.9, 0.8),
    (0.95, 0.9, 0.8),
    (0.9, 0.98, 0.95),
    (0.95, 1.0, 0.6),
)


def of_few_labels(
    random: Random, n: int, judge: tuple[float, float, float], correlation: float, *, units: int
) -> Outcome:
    """Simulate a rate from the labels of n rows and the verdicts on all."""
    rate, sensitivity, specificity = judge
    shares = beta(random, n + UNLABELLED, rate, correlation)[:, None]
    met = random.random((n + UNLABELLED, units)) < shares
    said = random.random(met.shape) < np.where(met, sensitivity, 1 - specificity)
    labels, verdicts = met.mean(axis=1).tolist(), said.mean(axis=1).tolist()
    strata = [Stratum(labels[:n], verdicts[:n], verdicts[n:])]
    return Outcome(rate, small_sample(strata, powered_mean(strata))["interval"])


LEAST = -4
"""The score of a response that makes all mistakes."""


def signed(random: Random, n: int, rate: float, correlation: float) -> Outcome:
    """Simulate scores of rubrics: four criteria of one point, four mistakes of minus four."""
    good = random.binomial(4, beta(random, n, rate, correlation))
    bad = random.binomial(4, beta(random, n, (1 - rate) / 4, correlation))
    scores = (good + LEAST * bad) / 4
    scaled = Spread.of((((score - LEAST) / (1 - LEAST), 1.0), 1) for score in scores.tolist())
    low, high = rate_interval(scaled, values=True) or (0.0, 1.0)
    ends = [LEAST + end * (1 - LEAST) for end in (low, high)]
    return Outcome(rate + LEAST * (1 - rate) / 4, ends)


LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
LEVEL_SHARES = np.array([0.05, 0.1, 0.15, 0.15, 0.2, 0.35])


def of_calibration(random: Random, n: int, excess: float, correlation: float) -> Outcome:
    """Simulate the calibration of a judge whose confidence is too high by some excess."""
    stated = random.choice(LEVELS, (n, VERDICTS), p=LEVEL_SHARES)
    normal = np.sqrt(correlation) * random.normal(size=(n, 1))
    normal = normal + np.sqrt(1 - correlation) * random.normal(size=(n, VERDICTS))
    thresholds = {level: _quantile(level - excess) for level in LEVELS.tolist()}
    right = normal < np.vectorize(thresholds.get)(stated)
    counted = [
        Counter(zip(confidences, outcomes, strict=True))
        for confidences, outcomes in zip(stated.tolist(), right.tolist(), strict=True)
    ]
    measured: Any = calibration(counted)
    accuracy = LEVELS - excess
    brier = float((LEVEL_SHARES * (LEVELS**2 - 2 * LEVELS * accuracy + accuracy)).sum())
    return Outcome(brier, measured["brier"]["interval"])


def _quantile(share: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(share) if 0 < share < 1 else (np.inf if share >= 1 else -np.inf)


SIDES = ((0.5, 0.5), (0.8, 0.8), (0.95, 0.95), (0.7, 0.5), (0.9, 0.8), (0.95, 0.8), (1.0, 0.8))
"""True rates of two sides."""


def of_sides(
    random: Random,
    n: int,
    rates: tuple[float, float],
    correlation: float,
    *,
    units: int,
    kind: str = "pooled",
) -> Outcome:
    """Simulate a paired difference; half of what a cluster has in common is on both sides."""
    normal = np.sqrt(correlation / 2) * random.normal(size=(n, 1, 1))
    normal = normal + np.sqrt(correlation / 2) * random.normal(size=(n, 1, 2))
    normal = normal + np.sqrt(1 - correlation) * random.normal(size=(n, units, 2))
    met = normal < np.array([_quantile(rate) for rate in rates])
    hits = met.sum(axis=1).astype(float)
    size = float(units)
    sums = Counter(
        (first / size, 1.0, second / size, 1.0) if kind == "shares" else (first, size, second, size)
        for first, second in hits.tolist()
    )
    result = contrast({"": sums}, seed=0)
    return Outcome(rates[0] - rates[1], result["difference"]["interval"], result["p"])


def kinds() -> Iterator[Kind]:
    """Name every kind of interval."""
    plain = [(rate, 0.0) for rate in RATES_TRUE]
    grid = list(product(RATES_TRUE, CORRELATIONS))
    for name, sizes, interval in (
        ("mean share, 2 to 8 constraints (CSR)", (2, 8), shares),
        ("pooled, 2 to 8 constraints (DRFR, by type)", (2, 8), pooled),
        ("8 samples an instruction (ISR)", (8, 8), pooled),
        ("16 samples an instruction (ISR)", (16, 16), pooled),
    ):
        yield Kind(name, grid, partial(of_rate, sizes=sizes, interval=interval))
    single = partial(of_rate, sizes=(1, 1))
    yield Kind("samples that pass or fail (ISR, PSR)", plain, partial(single, interval=pooled))
    yield Kind("mean over 3 tasks", plain, partial(single, interval=over_tasks))
    yield Kind("mean over tasks of 2, n / 4 and n", plain, unequal_tasks)
    yield Kind("leading turns of five (SSR)", grid, ssr)
    yield Kind("signed score, -4 to 1 (HealthBench)", grid, signed)
    judges = list(product(JUDGES, (0.0, 0.3)))
    for name in RATES:
        yield Kind(f"meta: {name}", judges, partial(of_agreement, name=name), 2)
    yield Kind("meta: alpha", judges, of_alpha, 2)
    noises = list(product((0.0, 0.05, 0.2, 0.5), (0.0, 0.3)))
    yield Kind("meta: weighted kappa", noises, of_weighted_kappa, 2)
    whole, parts = (partial(of_few_labels, units=units) for units in (1, 5))
    few = list(product(FEW_LABELS, CORRELATIONS))
    yield Kind("calibrate: responses fully met", few[:: len(CORRELATIONS)], whole, 2)
    yield Kind("calibrate: constraints met", few, parts, 2)
    excesses = list(product((0.0, 0.02, 0.1, 0.2), (0.0, 0.3)))
    yield Kind("meta: Brier score", excesses, of_calibration, 3)
    sides = list(product(SIDES, (0.0, 0.5)))
    yield Kind("compare: samples (ISR)", sides, partial(of_sides, units=1))
    shared = partial(of_sides, units=4, kind="shares")
    yield Kind("compare: mean share of 4 (CSR)", sides, shared, 2)
    yield Kind("compare: 4 constraints pooled (DRFR)", sides, partial(of_sides, units=4), 2)


def run(kind: Kind, n: int, data_sets: int) -> Iterator[tuple[tuple[Any, float], list[Outcome]]]:
    """Simulate all cells of a kind, the doubtful ones again."""
    number = max(20, data_sets // kind.cost)
    for place, (value, correlation) in enumerate(kind.cells):
        name = int.from_bytes(kind.name.encode()[:32])
        random = np.random.default_rng([SEED, n, place, name])
        outcomes = [kind.simulate(random, n, value, correlation) for _ in range(number)]
        if _doubtful(value, outcomes):
            outcomes = [kind.simulate(random, n, value, correlation) for _ in range(FRESH * number)]
        yield (value, correlation), outcomes


def _doubtful(value: Any, outcomes: Sequence[Outcome]) -> bool:
    hits = held(outcomes)
    same = isinstance(value, tuple) and len(value) == len(SIDES[0]) and value[0] == value[1]
    return bool(hits and sum(hits) < LOW_COVERAGE * len(hits)) or (
        same and sum(map(_rejected, outcomes)) > HIGH_SIZE * len(outcomes)
    )


def held(outcomes: Sequence[Outcome]) -> list[bool]:
    """Tell which intervals hold the truth."""
    return [
        outcome.interval[0] - ROUNDING <= outcome.truth <= outcome.interval[1] + ROUNDING
        for outcome in outcomes
        if outcome.interval is not None
    ]


def _rejected(outcome: Outcome) -> bool:
    return outcome.p is not None and outcome.p < LEVEL


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the data sets")
    parser.add_argument("--only", default="", help="kinds whose name contains this")
    options = parser.parse_args()
    data_sets = 40 if options.quick else 400
    contrasts.swapped_totals = FEW_SWAPS
    heedful.metrics.calibration.SAMPLES = SAMPLES  # type: ignore[attr-defined]
    print("least / mean coverage in %, mean width in points, by number of clusters")
    print(f"{'':46}" + "".join(f"{n:>18}" for n in SIZES))
    tests: dict[str, dict[int, list[tuple[tuple[Any, float], list[Outcome]]]]] = {}
    for kind in kinds():
        if options.only not in kind.name:
            continue
        line = f"{kind.name:46}"
        by_size: dict[int, list[tuple[tuple[Any, float], list[Outcome]]]] = {}
        for n in SIZES:
            cells = by_size[n] = list(run(kind, n, data_sets))
            line += _coverage([outcomes for _, outcomes in cells])
        print(line, flush=True)
        if any(outcome.p is not None for _, outcomes in by_size[SIZES[-1]] for outcome in outcomes):
            tests[kind.name] = by_size
    if tests:
        print("\ngreatest size / mean power in %, share of p-values that the interval contradicts")
    for name, by_size in tests.items():
        print(f"{name:46}" + "".join(_test(by_size[n]) for n in SIZES))
    if not options.only or "undecided" in options.only:
        difference_tables(data_sets // 2)


def _coverage(cells: Sequence[Sequence[Outcome]]) -> str:
    shares, widths = [], []
    for outcomes in cells:
        hits = held(outcomes)
        if hits:
            shares.append(sum(hits) / len(hits))
            known = [outcome.interval for outcome in outcomes if outcome.interval is not None]
            widths.append(sum(high - low for low, high in known) / len(known))
    if not shares:
        return f"{'–':>18}"
    width = 100 * sum(widths) / len(widths)
    return f"{100 * min(shares):7.1f} /{100 * sum(shares) / len(shares):5.1f}{width:4.0f}"


def _test(cells: Sequence[tuple[tuple[Any, float], Sequence[Outcome]]]) -> str:
    sizes, powers, contradictions, total = [0.0], [0.0], 0, 0
    for ((first, second), _), outcomes in cells:
        rejected = list(map(_rejected, outcomes))
        (sizes if first == second else powers).append(sum(rejected) / len(rejected))
        for outcome, small in zip(outcomes, rejected, strict=True):
            low, high = outcome.interval or (0.0, 0.0)
            contradictions += small != (low > 0 or high < 0)
            total += 1
    power = sum(powers) / max(1, len(powers) - 1)
    return f"{100 * max(sizes):6.1f} /{100 * power:5.1f}{100 * contradictions / total:5.1f}"


if __name__ == "__main__":
    main()
