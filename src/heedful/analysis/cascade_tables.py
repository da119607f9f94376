"""The tables of a replayed cascade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.text import amount
from heedful.reporting.document import Document
from heedful.reporting.notation import INTERVAL, interval, percent, signed
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["document"]

SHOWN = 12
"""Thresholds in a terminal; all are in the JSON file."""


def document(result: Mapping[str, Any]) -> Document:
    """Lay out a replay as a document."""
    points = result["points"]
    step = max(1, -(-len(points) // SHOWN))
    shown = [*points[:-1:step], points[-1]]
    rows = [
        (
            _threshold(point["threshold"]),
            percent(point["accuracy"]["value"]),
            interval(point["accuracy"]["interval"]),
            percent(point["goes_on"], 1),
            percent(point["saving"], 1),
        )
        for point in shown
    ]
    columns = ("confidence from", "% right", INTERVAL, "% that goes on", "% saved")
    note = (
        f"Saved are {result['unit']} of the large judge. What stays undecided isn't right. "
        f"The truth: {result['truth']}."
    )
    if result["left_out"]:
        left_out = amount(result["left_out"], "row")
        note += f" Left out: {left_out} that aren't the same in both runs."
    return Document("Cascade", [_chosen(result)], [Table("Thresholds", columns, rows, note)])


def _threshold(value: float | None) -> str:
    return "never" if value is None else f"{value:.3g}"


def _chosen(result: Mapping[str, Any]) -> str:
    chosen, observed = result["chosen"], result["observed"]
    margin = f"{100 * result['margin']:g} points"
    if chosen["threshold"] is not None:
        return (
            f"Trust the small judge from a confidence of {_threshold(chosen['threshold'])}. On the "
            f"other half ({amount(chosen['rows'], 'row')}) that {_effect(chosen)}."
        )
    unproven = ""
    if observed["threshold"] is not None:
        unproven = (
            " Over all rows, trusting the small judge from a confidence of "
            f"{_threshold(observed['threshold'])} {_effect(observed)}, which proves nothing."
        )
    return (
        f"No threshold is shown to lose less than {margin} on half of "
        f"{amount(result['rows'], 'row')}: let the large judge decide, or judge more rows."
        f"{unproven}"
    )


def _effect(point: Mapping[str, Any]) -> str:
    difference = point["difference"]
    return (
        f"saves {percent(point['saving'], 1)} % and changes accuracy by "
        f"{signed(difference['value'])} points ({interval(difference['interval'], signed)})"
    )
