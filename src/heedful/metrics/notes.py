"""Notes to a summary: what its numbers leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.metrics.gathering import GROUPS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.metrics.outcomes import RowOutcome

DROPPED = {"dropped": f"more than {GROUPS} values"}
"""Stands in a breakdown for its groups."""


def notes(
    by: Mapping[str, Any],
    rows: Sequence[tuple[RowOutcome, int, bool]],
    *,
    misfits: int,
    unplaced: int,
) -> list[str]:
    """Say what the numbers leave out."""
    said = [
        f"no breakdown by {name}: {groups['dropped']}"
        for name, groups in by.items()
        if groups == DROPPED
    ]
    empty = sum(count for row, count, _ in rows if not row.verdicts.total)
    if empty:
        said.append(f"samples with no constraints, which count in no rate: {empty}")
    penalised = sum(count for row, count, _ in rows if row.penalised)
    if penalised:
        what = "samples with negative weights, which are only in the weighted scores"
        said.append(f"{what}: {penalised}")
    above = sum(count for row, count, _ in rows if row.penalised and row.benchmark == "ruverbench")
    if above:
        said.append(
            "RuVerBench's recall divides by the sum of all weights, as its code does: with "
            f"negative ones it can be above 100 % (samples: {above})"
        )
    if misfits:
        said.append(
            "critiques with more or fewer judgments than their checklist has constraints: "
            f"{misfits}; constraints without a judgment count as unparsed"
        )
    if unplaced:
        said.append(
            "SysBench turns without a system_id or a turn from 1 to 5, which are not in SSR: "
            f"{unplaced}"
        )
    unrated = sum(
        count
        for row, count, rated in rows
        if row.verdicts.total and not rated and row.benchmark != "multiif"
    )
    if unrated and any(rated for _, _, rated in rows):
        what = "samples with a constraint that has no check, which are not in IFEval's rates"
        said.append(f"{what}: {unrated}")
    return said
