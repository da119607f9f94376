"""Cells of tables of differences, and the summary of many tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.metrics.contrasts import LEVEL
from heedful.reporting.notation import (
    COVERAGE,
    INTERVAL,
    NOTHING,
    bounds,
    interval,
    p_value,
    percent,
    signed,
)
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    Difference = Mapping[str, Any]


BOUNDS = (
    "Coverage: decided on both sides. Bounds: the difference if all that is undecided were unmet "
    "on the first side and met on the second, and the other way round."
)

SHORT = "what share was decided on both sides [and the bounds that the rest leaves]"

COLUMNS = ("first", "second", "Δ", INTERVAL, "p", "higher", "n", COVERAGE, "bounds")
ADJUSTED = tuple("p (Holm)" if name == "p" else name for name in COLUMNS)
"""The columns of :func:`cells`, of one test and of several."""

DETAILS = ("n", COVERAGE, "bounds")
"""Columns that a terminal has no room for; :func:`undecided` has the last two."""

GROUP_DETAILS = ("n", "higher", COVERAGE, "bounds")
"""The same for a breakdown."""


def cells(measured: Difference) -> tuple[str, ...]:
    """Write a difference, with its p-value (adjusted, if there are several) and what it shows."""
    difference = measured["difference"]
    return (
        percent(measured["first"]["value"], 1),
        percent(measured["second"]["value"], 1),
        signed(difference["value"], 1),
        interval(difference["interval"], signed),
        NOTHING if measured["p_holm"] is None else p_value(measured["p_holm"]),
        higher(measured),
        f"{measured['compared']:,}",
        percent(measured["coverage"], 1),
        bounds(measured, signed),
    )


def higher(measured: Difference) -> str:
    """Name the side that is shown to be higher, whatever the undecided verdicts are.

    >>> measured = {"p_holm": 0.01, "difference": {"value": -0.2}, "coverage": 1}
    >>> higher(measured), higher({**measured, "p_holm": 0.3})
    ('second', 'neither')
    >>> higher({**measured, "coverage": 0.7, "bounds": [-0.4, 0.1]})
    'open'
    """
    if measured["p_holm"] is None:
        return NOTHING
    if measured["p_holm"] >= LEVEL:
        return "neither"
    if may_turn(measured):
        return "open"
    return "first" if measured["difference"]["value"] > 0 else "second"


def undecided(
    measures: Mapping[str, Difference], title: str, column: str = "metric"
) -> Iterator[Table]:
    """Lay out coverage and bounds apart, for a terminal, if anything is undecided.

    Args:
        measures: by the name of the rate, or of the group.
        title: of the table that they belong to.
        column: what the names are.
    """
    rows = [
        (name, percent(measured["coverage"], 1), bounds(measured, signed) or NOTHING)
        for name, measured in measures.items()
        if measured["coverage"] < 1
    ]
    if rows:
        yield Table(f"Not all decided: {title}", (column, COVERAGE, "bounds"), rows, BOUNDS)


def delta(measured: Difference) -> float:
    """Return the difference, 0 where there is none."""
    return measured["difference"]["value"] or 0.0


def differs(measured: Difference) -> bool:
    """Check whether a difference is shown when it is read alone: its interval excludes 0."""
    return measured["p"] is not None and measured["p"] < LEVEL


def may_turn(measured: Difference) -> bool:
    """Check whether the undecided verdicts may turn a difference round."""
    if measured["coverage"] == 1 or not measured["bounds"]:
        return False
    low, high = measured["bounds"]
    return bool(low <= 0 <= high)


def summary(measures: Collection[Difference], what: str) -> str:
    """Say how far several tests that are read together can be trusted; nothing of a single one."""
    tested = [measure for measure in measures if measure["p"] is not None]
    if len(tested) < 2:  # noqa: PLR2004 - several
        return ""
    adjusted = sum(measure["p_holm"] < LEVEL for measure in tested)
    return (
        f"{sum(map(differs, tested)):,} of {len(tested):,} intervals exclude 0; without any "
        f"difference about {LEVEL * len(tested):.1f} would. {adjusted:,} p-values, adjusted for "
        f"the number of {what} (Holm), are below {LEVEL}."
    )
