"""What tables of differences share: their cells, and what many intervals together say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.reporting.notation import interval, p_value, percent, signed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    Difference = Mapping[str, Any]

COLUMNS = ("first", "second", "Δ", "95 %", "n", "decided")
ADJUSTED = (*COLUMNS[:4], "p (Holm)", *COLUMNS[4:])
"""The columns of :func:`cells`."""

CHANCE = 0.05
"""Of intervals of 95 %, how many miss a difference of nothing."""

FEW = 30
"""Samples; with fewer a percentile interval misses more often: see docs/compare.md."""


def cells(measured: Difference, *, adjusted: bool = False) -> tuple[str, ...]:
    """Write a difference, with its adjusted p-value or without."""
    difference = measured["difference"]
    p = measured["p_holm"] if adjusted else None
    return (
        percent(measured["first"]["value"], 1),
        percent(measured["second"]["value"], 1),
        signed(difference["value"], 1),
        interval(difference["interval"], signed),
        *(("–" if p is None else p_value(p),) if adjusted else ()),
        f"{measured['compared']:,}",
        percent(measured["coverage"], 1),
    )


def delta(measured: Difference) -> float:
    """Return the difference, 0 where there is none."""
    return measured["difference"]["value"] or 0.0


def apart(measured: Difference) -> bool:
    """Whether the interval of a difference excludes 0."""
    bounds = measured["difference"]["interval"]
    return bounds is not None and (bounds[0] > 0 or bounds[1] < 0)


def many(measures: Collection[Difference], what: str) -> str:
    """Say how far several intervals that are read together can be trusted; nothing of one.

    Args:
        measures: the differences; their p-values have been adjusted for their number.
        what: what their number is that of, such as ``groups``.
    """
    known = [each for each in measures if each["difference"]["interval"] is not None]
    if len(known) < 2:  # noqa: PLR2004 - several
        return ""
    tested = sum(each["p_holm"] is not None and each["p_holm"] < CHANCE for each in measures)
    few = f" With n below {FEW} intervals are too narrow: go by p."
    return (
        f"{sum(map(apart, known)):,} of {len(known):,} intervals exclude 0; were there no "
        f"difference at all, about {CHANCE * len(known):.1f} would. {tested:,} p-values, adjusted "
        f"for the number of {what} (Holm), are below {CHANCE}."
    ) + few * any(each["compared"] < FEW for each in known)
