"""The first constraints that responses don't meet, for the screen that a run ends with."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from heedful.core.text import one_line
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful.jobs.evaluation import Evaluation

__all__ = ["unmet"]

SHOWN = 5
ROWS_LOOKED_AT = 1000
LONGEST = {"id": 24, "constraint": 80, "why": 100}
"""Characters of a cell."""


def unmet(evaluation: Evaluation) -> Table | None:
    """Lay out the first unmet constraints, in the order of the input; ``None`` without any.

    Args:
        evaluation: the first thousand rows of it are looked at.
    """
    count = evaluation.summary["verdicts"]["unmet"]
    rows = list(islice(_found(evaluation), SHOWN)) if count else []
    if not rows:
        return None
    left = count - len(rows)
    note = f"The first {len(rows)} of {count:,}; heedful view shows all." if left else ""
    return Table("Unmet", ("sample", "constraint", "why"), rows, note, words=3)


def _found(evaluation: Evaluation) -> Iterator[tuple[str, ...]]:
    for row in islice(evaluation, ROWS_LOOKED_AT):
        for verdict in row.verdicts:
            if verdict.met is False:
                texts = (row.id, verdict.constraint, verdict.explanation)
                yield tuple(map(one_line, texts, LONGEST.values()))
