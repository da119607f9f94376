"""A sweep as a table and a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.text import amount
from heedful.reporting.chart import Chart
from heedful.reporting.document import Document
from heedful.reporting.notation import COVERAGE, INTERVAL, interval, percent, signed
from heedful.reporting.table import Table
from heedful.reporting.xy_charts import Axis, Line, Point, bounds_of, line_chart

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["document"]

RATES = {"balanced_accuracy": "balanced accuracy", "accuracy": "accuracy"}

LOGARITHMIC_FROM = 10
"""Ratio of the highest cost to the lowest from which on the chart's axis is logarithmic."""


def document(summary: Mapping[str, Any]) -> Document:
    """Lay out a sweep as a document."""
    labels = summary["labels"]
    headline = (
        f"{amount(len(summary['protocols']), 'protocol')} on "
        f"{amount(labels['met'] + labels['unmet'], 'labelled constraint')} of "
        f"{amount(labels['instructions'], 'instruction')}. "
        f"Labels: {', '.join(labels['from'])}."
    )
    chart = Chart("frontier", "Accuracy against cost", _chart(summary))
    return Document("Protocols", [headline, _chosen(summary)], [_table(summary), chart])


def _chosen(summary: Mapping[str, Any]) -> str:
    margin = f"{100 * summary['margin']:g} points"
    best = f"Best: {summary['best']}."
    if summary["chosen"] == summary["best"]:
        return f"{best} No cheaper one is shown to lose less than {margin}."
    costs = {each["name"]: each["cost"] for each in summary["protocols"]}
    saved = percent(1 - costs[summary["chosen"]] / costs[summary["best"]], 1)
    return (
        f"{best} Chosen: {summary['chosen']}, the cheapest that is shown to lose less than "
        f"{margin}; it saves {saved} %."
    )


def _table(summary: Mapping[str, Any]) -> Table:
    unit = summary["unit"]
    rows = [
        (
            ("* " if each["frontier"] else "") + each["name"],
            percent(each["accuracy"]["value"], 1),
            interval(each["accuracy"]["interval"]),
            percent(each["coverage"], 1),
            _cost(each["cost"], unit),
            signed(each["difference"]["value"], 1) if each["name"] != summary["best"] else "",
            interval(each["difference"]["interval"], signed)
            if each["name"] != summary["best"]
            else "",
        )
        for each in summary["protocols"]
    ]
    columns = (
        "protocol",
        f"{RATES[summary['rate']]} %",
        INTERVAL,
        COVERAGE,
        f"{unit} for {summary['per']:,}",
        "Δ best",
        INTERVAL,
    )
    note = (
        f"{unit.capitalize()} for {summary['per']:,} constraints. *: on the frontier, nothing is "
        "at least as accurate for less. What stays undecided isn't right. Δ best: paired, with "
        "instructions whole. A → B: a cascade, replayed, whose threshold is chosen on the other "
        "half of the instructions. The best of many is in part lucky: measure it again on rows "
        "that it wasn't chosen on."
    )
    return Table("Accuracy against cost", columns, rows, note).filled()


def _cost(value: float, unit: str) -> str:
    return f"${value:,.4f}" if unit == "dollars" else f"{value:,.0f}"


def _chart(summary: Mapping[str, Any]) -> dict[str, Any]:
    points: dict[str, list[Point]] = {"frontier": [], "other": []}
    for each in summary["protocols"]:
        value, between = each["accuracy"]["value"], each["accuracy"]["interval"] or (None, None)
        if value is not None:
            kind = "frontier" if each["frontier"] else "other"
            points[kind].append(Point(each["cost"], value, *between))
    lines = [Line(name, own, joined=name == "frontier") for name, own in points.items() if own]
    costs = [each["cost"] for each in summary["protocols"]]
    wide = 0 < LOGARITHMIC_FROM * min(costs) <= max(costs)
    x = Axis(f"{summary['unit']} for {summary['per']:,} constraints", logarithmic=wide)
    rate = RATES[summary["rate"]]
    return line_chart(lines, x, Axis(rate, percent=True, bounds=bounds_of(lines)))
