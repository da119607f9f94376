"""Results of grading, as a table for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.reporting.notation import percent
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.bench.grading.grading import GradeCounts

__all__ = ["grading_table"]


def grading_table(counts: Mapping[str, GradeCounts]) -> Table:
    """Lay out the counts by set: how many are correct, and how far the labels agree.

    Every rate is of the decided items; the coverage says how many those are.
    """
    rows = [(name, *_cells([each])) for name, each in counts.items()]
    if len(counts) > 1:
        rows.append(("all", *_cells(list(counts.values()))))
    columns = ("set", "n", "correct %", "counts", "coverage", "labels %", "counts")
    return Table("", columns, rows)


def _cells(counts: list[GradeCounts]) -> list[str]:
    items, correct, decided, agreed, labelled = (
        sum(getattr(each, count) for each in counts)
        for count in ("items", "correct", "decided", "agreed", "labelled")
    )
    return [
        f"{items:,}",
        percent(correct / decided if decided else None),
        f"{correct:,} / {decided:,}",
        percent(decided / items if items else None, 1),
        percent(agreed / labelled if labelled else None),
        f"{agreed:,} / {labelled:,}",
    ]
