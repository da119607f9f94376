"""How often the intervals of rates cover the truth, on simulated runs.

    python benchmarks/interval_coverage.py [--runs 1000] [--bootstrap]

Simulates runs whose true rate is known, with verdicts of a cluster that go together, and prints
for each kind of rate and number of clusters the least and the mean coverage of the 95 % intervals
over true rates of 50 to 100 % and correlations of 0 to .6, and their mean width in points. With
``--bootstrap`` it also prints the percentile bootstrap of rows and that of clusters.
"""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from heedful.metrics.proportions import Spread, mean_interval, rate_interval
from heedful.metrics.statistics import bootstrap_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

    Pair = tuple[float, float]
    Interval = tuple[float, float] | None

SIZES = (5, 8, 9, 20, 50, 200)
RATES = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
CORRELATIONS = (0.0, 0.1, 0.3, 0.6)
TASKS = 3
SEED = 20260101
ROUNDING = 1e-9


def clusters(
    draw: np.random.Generator, n: int, sizes: tuple[int, int], rate: float, correlation: float
) -> list[Pair]:
    """Draw clusters of so many units each, of which so many count: beta-binomial."""
    units = draw.integers(sizes[0], sizes[1], n, endpoint=True)
    rates = np.full(n, rate)
    if correlation and rate < 1:
        strength = (1 - correlation) / correlation
        rates = draw.beta(rate * strength, (1 - rate) * strength, n)
    return [(float(y), float(m)) for y, m in zip(draw.binomial(units, rates), units, strict=True)]


def of_ratio(pairs: Sequence[Pair]) -> Interval:
    """Compute the interval of a rate over clusters."""
    return rate_interval(Spread.of(Counter(pairs).items()))


def of_shares(pairs: Sequence[Pair]) -> Interval:
    """Compute the interval of the mean of the clusters' own rates, as CSR is of samples'."""
    return of_ratio([(y / m, 1.0) for y, m in pairs])


def of_tasks(pairs: Sequence[Pair]) -> Interval:
    """Compute the interval of the mean over tasks."""
    parts = (pairs[task::TASKS] for task in range(TASKS))
    return mean_interval([Counter((pair,) for pair in part) for part in parts])


def by_rows(pairs: Sequence[Pair]) -> Interval:
    """Resample rows, whatever cluster they are of."""
    total, units = (int(sum(column)) for column in zip(*pairs, strict=True))
    counts = {(1.0, 1.0): total, (0.0, 1.0): units - total}
    return bootstrap_interval(counts, name="rows")


def by_clusters(pairs: Sequence[Pair]) -> Interval:
    """Resample clusters."""
    return bootstrap_interval(Counter(pairs), name="clusters")


KINDS: dict[str, tuple[tuple[int, int], Callable[[Sequence[Pair]], Interval]]] = {
    "samples (ISR)": ((1, 1), of_ratio),
    "constraints pooled, 2 to 8 a sample (DRFR)": ((2, 8), of_ratio),
    "mean share, 2 to 8 a sample (CSR)": ((2, 8), of_shares),
    "4 samples an instruction": ((4, 4), of_ratio),
    "8 samples an instruction": ((8, 8), of_ratio),
    "16 samples an instruction": ((16, 16), of_ratio),
    "mean over 3 tasks, samples": ((1, 1), of_tasks),
}

BOOTSTRAPS: dict[str, tuple[tuple[int, int], Callable[[Sequence[Pair]], Interval]]] = {
    f"{name}, bootstrap of {what}": ((size, size), method)
    for name, size in (("samples", 1), ("8 samples an instruction", 8))
    for what, method in (("rows", by_rows), ("clusters", by_clusters))
}


def simulate(
    kind: tuple[tuple[int, int], Callable[[Sequence[Pair]], Interval]],
    n: int,
    *,
    runs: int,
    seed: int = SEED,
) -> list[tuple[float, float]]:
    """Return coverage and mean width of one kind of interval, for each rate and correlation."""
    sizes, interval = kind
    correlations = CORRELATIONS if sizes[1] > 1 else (0.0,)
    cells = []
    for rate, correlation in product(RATES, correlations):
        draw = np.random.default_rng([seed, n, round(100 * rate), round(100 * correlation)])
        ends = [interval(clusters(draw, n, sizes, rate, correlation)) for _ in range(runs)]
        known = [(low, high) for low, high in filter(None, ends)]
        hits = sum(low - ROUNDING <= rate <= high + ROUNDING for low, high in known)
        cells.append((hits / len(known), sum(high - low for low, high in known) / len(known)))
    return cells


def main() -> None:
    """Print a table: a line a kind, a column a number of clusters."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--bootstrap", action="store_true")
    options = parser.parse_args()
    print("least / mean coverage in %, mean width in points")
    print(f"{'clusters':52}" + "".join(f"{n:>19}" for n in SIZES))
    for name, kind in (KINDS | (BOOTSTRAPS if options.bootstrap else {})).items():
        line = f"{name:52}"
        for n in SIZES:
            cells = simulate(kind, n, runs=options.runs)
            least, mean = min(c for c, _ in cells), sum(c for c, _ in cells) / len(cells)
            width = sum(w for _, w in cells) / len(cells)
            line += f"{100 * least:8.1f} /{100 * mean:5.1f}{100 * width:4.0f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
