"""Charts with two axes: lines of points with their intervals, and heat maps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from heedful.reporting.chart import (
    COLOURS,
    CONFIG,
    LETTER_WIDTH,
    STEP,
    colour_channel,
    dash_channel,
    shape_channel,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.reporting.chart import Spec

__all__ = ["Axis", "Line", "Point", "bounds_of", "heat_map", "line_chart"]


EDGE_PIXELS = 12
"""Pixels between the first and last number of the axis below and the chart's edges."""

SIDE_PIXELS = 280
"""Pixels of a name beside or below a heat map."""

WHITE_FROM = 0.63
"""Shade of a heat map, from 0 to 1, on which white can be read as well as black."""

LEVEL_LETTERS = 12
"""Letters of a column's name that stand level below a heat map; longer ones slant."""


class Point(NamedTuple):
    """A value of a line, with its interval where there is one."""

    x: float | str
    y: float
    low: float | None = None
    high: float | None = None


class Line(NamedTuple):
    """Points of one kind."""

    name: str
    points: Sequence[Point]
    joined: bool = True


class Axis(NamedTuple):
    """Meaning and scale of a side of a chart."""

    label: str
    logarithmic: bool = False
    names: Sequence[str] = ()
    percent: bool = False
    bounds: tuple[float, float] | None = None

    def channel(self, field: str) -> Spec:
        """Lay it out as a channel of an encoding."""
        axis: Spec = {"title": self.label, "domain": False}
        if self.names:
            slant = f"width < {LETTER_WIDTH * sum(len(name) + 2 for name in self.names)}"
            axis |= {
                "labelAngle": {"expr": f"{slant} ? -30 : 0"},
                "labelAlign": {"expr": f"{slant} ? 'right' : 'center'"},
            }
            return {"field": field, "type": "ordinal", "sort": list(self.names), "axis": axis}
        scale: Spec = {"zero": False, "nice": self.bounds is None and not self.logarithmic}
        if self.logarithmic:
            scale["type"] = "log"
        if self.bounds is not None:
            scale["domain"] = list(self.bounds)
        elif field == "x":
            scale["padding"] = EDGE_PIXELS
        if self.percent:
            axis["format"] = ".0%"
        return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}


def bounds_of(lines: Sequence[Line], others: Sequence[float] = ()) -> tuple[float, float]:
    """Choose the ends of an axis of shares, in steps of 5 %, so that it holds all intervals."""
    values = [value for line in lines for p in line.points for value in (p.y, p.low, p.high)]
    known = [*(value for value in values if value is not None), *others]
    if not known:
        return 0.0, 1.0
    low, high = math.floor(20 * min(known)) - 1, math.ceil(20 * max(known)) + 1
    return max(0, low) / 20, min(20, high) / 20


def line_chart(
    lines: Sequence[Line], x: Axis, y: Axis, *, level: tuple[float, str] | None = None
) -> Spec:
    """Draw lines of points with their intervals."""
    names = shorten(line.name for line in lines)
    order = list(names.values())
    rows = [
        {
            "series": names[line.name],
            "x": point.x,
            "y": point.y,
            "low": point.low,
            "high": point.high,
            "joined": line.joined,
        }
        for line in lines
        for point in line.points
    ]
    across, up = x.channel("x"), y.channel("y")
    layers = _layers(order, up, _tooltip(x, y))
    shared: Spec = {"x": across, "y": up, "color": {"value": COLOURS[0]}}
    if len(order) > 1:
        shared["color"] = colour_channel(order)
        if x.names:  # side by side, or their intervals would cover each other
            shared["xOffset"] = {"field": "series", "sort": order}
            across["scale"] = {"paddingInner": 0.4, "paddingOuter": 0.2}
    for layer in layers:
        layer["encoding"] = {**shared, **layer["encoding"]}
    if level is not None:
        layers += _level(level, up)
    return {
        "width": "container",
        "height": 320,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": rows},
        "layer": layers,
        "config": CONFIG,
    }


def _tooltip(x: Axis, y: Axis) -> list[Spec]:
    """Say what a point is: its line, its place, its value and interval."""
    number = ".1%" if y.percent else ".4~g"
    return [
        {"field": "series", "title": "of", "type": "nominal"},
        {"field": "x", "title": x.label, "type": "nominal" if x.names else "quantitative"},
        *(
            {"field": field, "title": title, "type": "quantitative", "format": number}
            for field, title in (("y", y.label), ("low", "from"), ("high", "to"))
        ),
    ]


def _layers(order: Sequence[str], up: Spec, tooltip: Sequence[Spec]) -> list[Spec]:
    """Draw the lines, the intervals on them and the points on these."""
    return [
        {
            "transform": [{"filter": "datum.joined"}],
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {"strokeDash": dash_channel(order)},
        },
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.5},
            "encoding": {"y": {**up, "field": "low"}, "y2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 56, "opacity": 1},
            "encoding": {"shape": shape_channel(order), "tooltip": tooltip},
        },
    ]


def _level(level: tuple[float, str], up: Spec) -> list[Spec]:
    """Draw a dashed line at a value, with its meaning at the right."""
    here = {"data": {"values": [{"y": level[0], "means": level[1]}]}}
    place = {"y": {**up, "field": "y"}}
    end: Spec = {"type": "text", "align": "right", "dy": -6, "color": "var(--quiet)"}
    return [
        {
            **here,
            "mark": {"type": "rule", "strokeDash": [5, 4], "color": "var(--quiet)"},
            "encoding": place,
        },
        {
            **here,
            "mark": end,
            "encoding": {
                **place,
                "x": {"value": "width"},
                "text": {"field": "means", "type": "nominal"},
            },
        },
    ]


def heat_map(
    down: tuple[str, Sequence[str]],
    across: tuple[str, Sequence[str]],
    values: Sequence[Sequence[float | None]],
    *,
    marked: Sequence[tuple[int, int]] = (),
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Spec:
    """Draw a table of shares, in per cent, the higher the darker."""
    rows, columns = shorten(down[1]), shorten(across[1])
    cells = [
        {
            "down": rows[row],
            "across": columns[column],
            "value": value,
            "marked": (place, number) in marked,
        }
        for place, row in enumerate(down[1])
        for number, (column, value) in enumerate(zip(across[1], values[place], strict=True))
    ]
    longest = max(map(len, columns.values()), default=0)
    sides: Spec = {
        "y": _side("down", down[0], rows),
        "x": _side("across", across[0], columns),
    }
    sides["x"]["axis"]["labelAngle"] = -40 if longest > LEVEL_LETTERS else 0
    tooltip = [
        {"field": "down", "title": down[0], "type": "nominal"},
        {"field": "across", "title": across[0], "type": "nominal"},
        {"field": "value", "title": "share", "type": "quantitative", "format": ".1%"},
    ]
    return {
        "width": {"step": 60 if longest > LEVEL_LETTERS else max(60, 9 * longest)},
        "height": {"step": 34},
        "data": {"values": cells},
        "encoding": sides,
        "layer": _cell_layers(bounds, tooltip),
        "config": CONFIG,
    }


def _cell_layers(bounds: tuple[float, float], tooltip: Sequence[Spec]) -> list[Spec]:
    """Draw the shades, the frames of the cells that are marked, and the numbers."""
    dark = bounds[0] + WHITE_FROM * (bounds[1] - bounds[0])
    ink = {"condition": {"test": f"datum.value > {dark}", "value": "#ffffff"}, "value": "#1b1f24"}
    shade = {"domain": list(bounds), "range": ["#eaf3fa", "#0b3d66"], "clamp": True}
    value = {"field": "value", "type": "quantitative"}
    decided = [{"filter": "isValid(datum.value)"}]
    frame = {"type": "rect", "filled": False, "stroke": "var(--series-2)", "strokeWidth": 3}
    return [
        {
            "transform": decided,
            "mark": {"type": "rect"},
            "encoding": {"color": {**value, "scale": shade, "legend": None}, "tooltip": tooltip},
        },
        {
            "transform": [*decided, {"filter": "datum.marked"}],
            "mark": {**frame, "tooltip": None},
        },
        {
            "transform": decided,
            "mark": {"type": "text"},
            "encoding": {"text": {**value, "format": ".1%"}, "color": ink},
        },
    ]


def _side(field: str, title: str, names: Mapping[str, str]) -> Spec:
    axis = {"title": title, "domain": False, "ticks": False}
    axis |= {"labelLimit": SIDE_PIXELS, "maxExtent": SIDE_PIXELS + STEP}
    return {"field": field, "type": "nominal", "sort": list(names.values()), "axis": axis}
