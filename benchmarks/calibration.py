"""How often the interval of ``heedful calibrate`` holds the truth.

python benchmarks/calibration.py    # about a minute

A judge is right on 90 % of what is met and 80 % of what is unmet. A row is met or not (isr), or has
five constraints whose difficulty they share (csr). The truth of csr is that of 200,000 rows.
"""

from __future__ import annotations

import random
import sys

from heedful.metrics.prediction_powered import (
    Stratum,
    powered_mean,
    small_sample,
)

SENSITIVITY, SPECIFICITY = 0.9, 0.8
UNLABELLED = 600


def row(chance: random.Random, rate: float, kind: str) -> tuple[float, float]:
    """Draw a row: its label, and the judge's verdict."""
    count = 1 if kind == "isr" else 5
    difficulty = rate if kind == "isr" else min(1.0, max(0.0, chance.gauss(rate, 0.25)))
    labels = [chance.random() < difficulty for _ in range(count)]
    verdicts = [chance.random() < (SENSITIVITY if y else 1 - SPECIFICITY) for y in labels]
    return sum(labels) / count, sum(verdicts) / count


def stratum(chance: random.Random, rate: float, kind: str, labels: int, rest: int) -> Stratum:
    """Draw labelled rows and others."""
    pairs = [row(chance, rate, kind) for _ in range(labels)]
    others = [row(chance, rate, kind)[1] for _ in range(rest)]
    return Stratum([y for y, _ in pairs], [f for _, f in pairs], others)


def covered(rate: float, kind: str, labels: int, times: int = 1000) -> tuple[float, ...]:
    """Return how often an interval holds the truth, and its half-width.

    Returns:
        Both of the interval that is reported; of PPI++'s own; the half-width of labels alone.
    """
    truth = rate
    if kind == "csr":
        chance = random.Random(99)
        truth = sum(row(chance, rate, kind)[0] for _ in range(200_000)) / 200_000
    chance = random.Random(7)
    sums = [0.0] * 5
    for _ in range(times):
        strata = [stratum(chance, rate, kind, labels, UNLABELLED)]
        own = powered_mean(strata)
        for at, (low, high) in enumerate((small_sample(strata, own)["interval"], own["interval"])):
            sums[2 * at] += low <= truth <= high
            sums[2 * at + 1] += (high - low) / 2
        sums[4] += (own["classical_interval"][1] - own["classical_interval"][0]) / 2
    return tuple(each / times for each in sums)


def main() -> int:
    """Print the table."""
    sys.stdout.write("rate  truth  labels  held %  half-width  PPI++ %  half-width  labels alone\n")
    for kind in ("isr", "csr"):
        for rate in (0.3, 0.5, 0.8, 0.95):
            for labels in (6, 12, 30, 60, 100, 200):
                held, wide, own, own_wide, alone = covered(rate, kind, labels)
                line = f"{kind}   {rate:.2f}    {labels:4}  {100 * held:6.1f}      {wide:.4f}"
                line = f"{line}   {100 * own:6.1f}      {own_wide:.4f}        {alone:.4f}"
                sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
