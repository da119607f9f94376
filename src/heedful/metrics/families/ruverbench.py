"""RuVerBench: the recall of a rubric's points.

Its points are above 0. With others its recall would be above 100 %, so only its own rows have it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.metrics.family import Family, scored
from heedful.metrics.rubrics import RubricScore, over_sum

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from heedful.metrics.outcomes import RowOutcome

SCORE = RubricScore("recall", over_sum)


def notes(rows: Sequence[tuple[RowOutcome, int]]) -> Iterator[str]:
    """Say where recall can be above 100 %."""
    above = sum(count for row, count in rows if row.penalised and row.benchmark == FAMILY.name)
    if above:
        yield (
            "RuVerBench's recall divides by the sum of all weights, as its code does: with "
            f"negative ones it can be above 100 % (samples: {above})"
        )


FAMILY = Family(
    "ruverbench",
    "RuVerBench",
    scored("ruverbench", SCORE),
    order=14,
    score=SCORE,
    notes=notes,
)
