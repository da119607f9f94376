"""The first faults of responses, for the screen that a run ends with.

A fault is a constraint that isn't met, or a mistake (of negative points) that was made.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from heedful.core.nouns import Status
from heedful.core.rubric import is_fault
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
    """Lay out the first faults, in the order of the input; ``None`` without any."""
    counts = evaluation.summary["verdicts"]
    penalised = any("negative weights" in note for note in evaluation.summary["notes"])
    count = counts["unmet"]
    rows = list(islice(_found(evaluation), SHOWN)) if count or penalised else []
    if not rows:
        return None
    note = ""
    if penalised:
        note = "Mistakes are marked −; heedful view shows all."
    elif count > len(rows):
        note = f"The first {len(rows)} of {count:,}; heedful view shows all."
    return Table(
        "Unmet, and mistakes made" if penalised else "Unmet",
        ("sample", "constraint", "why"),
        rows,
        note,
        words=3,
    )


def _found(evaluation: Evaluation) -> Iterator[tuple[str, ...]]:
    for row in islice(evaluation, ROWS_LOOKED_AT):
        if row.sample is None or row.critique is None:
            continue
        for constraint, judgment in zip(row.sample.checklist, row.critique.judgments, strict=False):
            if is_fault(constraint, judgment.status):
                mark = "− " if judgment.status is Status.MET else ""
                texts = (row.id, mark + constraint.text, judgment.explanation)
                yield tuple(map(one_line, texts, LONGEST.values()))
