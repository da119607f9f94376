"""Kinds of charts: lines of points, heat maps, and a row for each name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.reporting.chart import COLOURS, CONFIG, shorten
from heedful.reporting.notation import INTERVAL, interval, percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.reporting.chart import Spec

SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "triangle-left")
DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (6, 3), (2, 3), (8, 3, 2, 3))

STEP = 24
"""Pixels from one row of a chart to the next."""

TWO_LINE_STEP = 38
"""The same, where names have two lines."""

LEGEND_LETTERS = 48
"""Letters of a name that a legend shows."""

LETTER_WIDTH, SYMBOL_WIDTH = 7, 30
"""Pixels of a letter in a legend, and of a symbol with the space around it."""

NAMES_AXIS: Spec = {
    "title": None,
    "grid": True,
    "ticks": False,
    "domain": False,
    "labelPadding": 8,
    "labelExpr": "split(datum.label, '\\n')",
}
"""The axis of names at the left."""

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
        _told("series", "of"),
        {"field": "x", "title": x.label, "type": "nominal" if x.names else "quantitative"},
        *(_told(*each, number) for each in (("y", y.label), ("low", "from"), ("high", "to"))),
    ]


def _told(field: str, title: str, number: str = "") -> Spec:
    """Lay out a line of a tooltip: words, or a number in a format."""
    kind = {"type": "quantitative", "format": number} if number else {"type": "nominal"}
    return {"field": field, "title": title, **kind}


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
        "y": _names_axis("down", down[0], rows),
        "x": _names_axis("across", across[0], columns),
    }
    sides["x"]["axis"]["labelAngle"] = -40 if longest > LEVEL_LETTERS else 0
    tooltip = [_told("down", down[0]), _told("across", across[0]), _told("value", "share", ".1%")]
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


def _names_axis(field: str, title: str, names: Mapping[str, str]) -> Spec:
    axis = {"title": title, "domain": False, "ticks": False}
    axis |= {"labelLimit": SIDE_PIXELS, "maxExtent": SIDE_PIXELS + STEP}
    return {"field": field, "type": "nominal", "sort": list(names.values()), "axis": axis}


# --- a row for each name ---

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
) -> Spec:
    """Draw shares as points with their intervals."""
    names = shorten(estimate.name for estimate in estimates)
    rows = [
        {
            "name": names[estimate.name],
            "series": estimate.series,
            "value": _per_cent(estimate.value),
            "told": percent(estimate.value, 1),
            "interval": interval(estimate.interval),
            "low": None if estimate.interval is None else _per_cent(estimate.interval[0]),
            "high": None if estimate.interval is None else _per_cent(estimate.interval[1]),
            "counts": estimate.counts,
        }
        for estimate in estimates
    ]
    several = len(order) > 1
    scale = {"domain": [0, 100], "nice": False}
    axis: Spec = {"title": title, "tickCount": 5, "domain": False}
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
                "scale": {"domain": kinds, "range": list(colours.values())},
                "legend": legend_columns(kinds),
            },
            "order": {"field": "order", "type": "quantitative"},
            "tooltip": [_told(*down), _told(*kind), _told("count", "count", ",")],
        },
        "config": CONFIG,
    }


def _per_cent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 4)


def _estimate_tooltip(*, several: bool) -> list[Spec]:
    return [
        _told("name", "of"),
        *([_told("series", "in")] if several else []),
        _told("told", "%"),
        _told("interval", INTERVAL),
        _told("counts", "counts"),
    ]


# --- channels ---


def colour_channel(order: Sequence[str]) -> Spec:
    """Tell series apart by colour, with a legend in as many columns as have room."""
    return _series(order, [COLOURS[at % len(COLOURS)] for at in range(len(order))])


def legend_columns(names: Sequence[str]) -> Spec:
    """Lay out a legend in as many columns as the chart's width has room for."""
    wide = LETTER_WIDTH * min(max(map(len, names), default=0), LEGEND_LETTERS) + SYMBOL_WIDTH
    return {
        "columns": {"expr": f"clamp(floor(width / {wide}), 1, {max(1, len(names))})"},
        "labelLimit": {
            "expr": f"clamp(width - {SYMBOL_WIDTH}, 120, {LEGEND_LETTERS * LETTER_WIDTH})"
        },
    }


def shape_channel(order: Sequence[str]) -> Spec:
    """Tell series apart by shape; seven shapes over six colours repeat together after 42."""
    return _series(order, [SHAPES[at % len(SHAPES)] for at in range(len(order))])


def dash_channel(order: Sequence[str]) -> Spec:
    """Tell lines apart by dashes too, once colours begin again."""
    dashes = [list(DASHES[(at // len(COLOURS)) % len(DASHES)]) for at in range(len(order))]
    return {**_series(order, dashes), "legend": None}


def _series(order: Sequence[str], looks: Sequence[Any]) -> Spec:
    legend = legend_columns(order) if len(order) > 1 else None
    scale = {"domain": list(order), "range": looks}
    return {"field": "series", "type": "nominal", "scale": scale, "legend": legend}
