"""How often ``heedful compare`` finds a difference where there is none.

python benchmarks/compare_chance.py [COMPARISONS]
"""

from __future__ import annotations

import random
import sys
from collections import Counter

from heedful.analysis.compare.contrasts import contrast

CONSTRAINTS = 4
ABILITIES = (0.3, 0.9)
"""How likely a constraint of an instruction is met lies between these, on both sides alike."""


def clusters(instructions: int, draw: random.Random) -> Counter[tuple[float, ...]]:
    """Make up the constraints met by two models that are equally good, instruction by instruction.

    Half of the constraints of an instruction on a side share one fate, so they are not independent.
    """
    pairs: Counter[tuple[float, ...]] = Counter()
    for _ in range(instructions):
        chance = draw.uniform(*ABILITIES)
        sides = []
        for _ in range(2):
            together = draw.random() < chance
            met = [together if n % 2 else draw.random() < chance for n in range(CONSTRAINTS)]
            sides += [float(sum(met)), float(CONSTRAINTS)]
        pairs[tuple(sides)] += 1
    return pairs


def measure(instructions: int, comparisons: int) -> None:
    """Count the intervals that exclude 0, and the small p-values."""
    draw = random.Random(instructions)
    excluded = small = 0
    for number in range(comparisons):
        comparison = contrast(
            {"": clusters(instructions, draw)}, name=str(number), seed=0, mirrored=False
        )
        interval, p = comparison["difference"]["interval"], comparison["p"]
        excluded += interval is not None and (interval[0] > 0 or interval[1] < 0)
        small += p is not None and p < 0.05  # noqa: PLR2004 - as is usual
    print(
        f"{instructions:>4} instructions, {comparisons:,} comparisons: "
        f"{100 * excluded / comparisons:.1f} % of intervals exclude 0, "
        f"{100 * small / comparisons:.1f} % of p-values are below 0.05"
    )


if __name__ == "__main__":
    for size in (10, 30, 100, 500):
        measure(size, int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
