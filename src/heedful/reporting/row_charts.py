"""Charts with a row for each name: estimates, verdicts, and what became of solutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from heedful.reporting.chart import (
    COLOURS,
    CONFIG,
    NAMES_AXIS,
    STEP,
    TWO_LINE_STEP,
    colour_channel,
    legend_columns,
    shape_channel,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.reporting.chart import Spec

__all__ = ["FLOWS", "Counts", "Estimate", "estimates_chart", "flows_chart", "verdicts_chart"]

SERIES_STEP = 14
"""Pixels from one series of a row to the next."""


class Estimate(NamedTuple):
    """A share, or a difference of shares, with its interval."""

    name: str
    value: float | None
    interval: Sequence[float] | None = None
    counts: str = ""
    series: str = ""


def estimates_chart(
    estimates: Sequence[Estimate],
    title: str = "%",
    *,
    order: Sequence[str] = (),
    bounds: tuple[float, float] = (0, 100),
) -> Spec:
    """Draw shares, or differences of shares, as points with their intervals."""
    names = shorten(estimate.name for estimate in estimates)
    rows = [
        {
            "name": names[estimate.name],
            "series": estimate.series,
            "value": _per_cent(estimate.value),
            "low": None if estimate.interval is None else _per_cent(estimate.interval[0]),
            "high": None if estimate.interval is None else _per_cent(estimate.interval[1]),
            "counts": estimate.counts,
        }
        for estimate in estimates
    ]
    several = len(order) > 1
    scale = {"domain": list(bounds), "nice": False}
    axis: Spec = {"title": title, "tickCount": 5, "domain": False}
    if bounds[0] < 0:
        zero = {"test": "datum.value === 0", "value": "var(--quiet)"}
        axis["gridColor"] = {"condition": zero, "value": "var(--line)"}
    encoding: Spec = {
        "y": {"field": "name", "type": "nominal", "sort": list(names.values()), "axis": NAMES_AXIS},
        "tooltip": _estimate_tooltip(several=several),
        "color": colour_channel(order) if several else {"value": COLOURS[0]},
    }
    point: Spec = {"x": {"field": "value", "type": "quantitative", "scale": scale, "axis": axis}}
    if several:
        domain = {"domain": list(order)}
        encoding["yOffset"] = {"field": "series", "type": "nominal", "scale": domain}
        point["shape"] = shape_channel(order)
    step = TWO_LINE_STEP if any("\n" in estimate.name for estimate in estimates) else STEP
    low_high = {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}}
    rule = {"type": "rule", "strokeWidth": 2, "opacity": 0.65}
    dot = {"type": "point", "filled": True, "size": 64, "opacity": 1}
    return {
        "width": "container",
        "height": {"step": SERIES_STEP if several else step},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": rows},
        "encoding": encoding,
        "layer": [{"mark": rule, "encoding": low_high}, {"mark": dot, "encoding": point}],
        "config": CONFIG,
    }


class Counts(NamedTuple):
    """The verdicts on one kind of constraint, or of one run."""

    name: str
    met: int
    unmet: int
    undecided: int


def verdicts_chart(counts: Sequence[Counts]) -> Spec:
    """Draw verdicts as bars: met and unmet from 0 to the right, undecided to the left.

    What is not decided is thus apart from both, and no part of a whole with them.
    """
    short = shorten(bar.name for bar in counts)
    rows = [
        {
            "name": short[bar.name],
            "verdict": verdict,
            "count": count,
            "place": sign * count,
            "order": order,
        }
        for bar in counts
        for order, (verdict, count, sign) in enumerate(
            (("met", bar.met, 1), ("unmet", bar.unmet, 1), ("undecided", bar.undecided, -1))
        )
    ]
    colours = {verdict: f"var(--{verdict})" for verdict in ("met", "unmet", "undecided")}
    across = _side("place", "verdicts")
    across["axis"]["labelExpr"] = "format(abs(datum.value), ',')"
    bars = _stacked_bars(("name", "of"), across, ("verdict", "verdict"), colours)
    return {**bars, "height": {"step": STEP}, "data": {"values": rows}}


FLOWS = {
    "stays correct": "var(--series-2)",
    "becomes correct": "var(--series-5)",
    "becomes incorrect": "var(--series-3)",
    "stays incorrect": "var(--series-4)",
    "undecided": "var(--undecided)",
}
"""Changes of a solution in one step, from best to unknown."""


def flows_chart(steps: Mapping[str, Mapping[str, int]]) -> Spec:
    """Draw what became of solutions, step by step, as stacked bars."""
    ways = list(FLOWS)
    rows = [
        {"step": step, "way": way, "count": counts.get(way, 0), "order": order}
        for step, counts in steps.items()
        for order, way in enumerate(ways)
        if counts.get(way, 0)
    ]
    across = _side("count", "solutions")
    bars = _stacked_bars(("step", "in"), across, ("way", "solutions"), FLOWS)
    return {**bars, "height": {"step": TWO_LINE_STEP}, "data": {"values": rows}}


def _side(field: str, title: str) -> Spec:
    """Count on the axis below."""
    axis = {"title": title, "tickCount": 6, "domain": False}
    return {"field": field, "type": "quantitative", "axis": axis}


def _stacked_bars(
    down: tuple[str, str], across: Spec, kind: tuple[str, str], colours: Mapping[str, str]
) -> Spec:
    """Draw a stacked bar for each name, in the order of the rows."""
    kinds = list(colours)
    scale = {"domain": kinds, "range": list(colours.values())}
    legend = legend_columns(kinds)
    return {
        "width": "container",
        "mark": {"type": "bar", "height": {"band": 0.62}},
        "encoding": {
            "y": {"field": down[0], "type": "nominal", "sort": None, "axis": NAMES_AXIS},
            "x": across,
            "color": {
                "field": kind[0],
                "type": "nominal",
                "sort": kinds,
                "scale": scale,
                "legend": legend,
            },
            "order": {"field": "order", "type": "quantitative"},
            "tooltip": [
                {"field": down[0], "title": down[1], "type": "nominal"},
                {"field": kind[0], "title": kind[1], "type": "nominal"},
                {"field": "count", "title": "count", "type": "quantitative", "format": ","},
            ],
        },
        "config": CONFIG,
    }


def _per_cent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 4)


def _estimate_tooltip(*, several: bool) -> list[Spec]:
    fields = [("name", "of"), ("value", "%"), ("low", "from"), ("high", "to"), ("counts", "counts")]
    if several:
        fields.insert(1, ("series", "in"))
    return [
        {"field": field, "title": title, "type": "nominal"}
        if field in {"name", "series", "counts"}
        else {"field": field, "title": title, "type": "quantitative", "format": ".1f"}
        for field, title in fields
    ]
