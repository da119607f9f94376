"""Charts as Vega-Lite specifications: one kind for pages, the viewer, and files.

A colour in a specification is a custom property of a page's style table (``var(--ink)``): a browser
looks it up when it paints, so the same chart serves light, dark and paper. :meth:`Chart.image`
puts the light theme's colours in their place and renders SVG, PNG or PDF (extra ``charts``).

Series differ by colour, shape and dashes, so that those who see colours otherwise, printers, and
charts with more series than colours can tell them apart.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.util import find_spec
from os.path import commonprefix
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Format = Literal["svg", "png", "pdf"]
"""Formats of a chart's file."""

INSTALL = "pip install 'heedful[charts]'"
"""The command that makes :meth:`Chart.image` possible."""

Spec = dict[str, Any]
"""A Vega-Lite specification."""

TITLE_LETTERS = 80
"""Letters of a line of an image's title."""

AXIS_LETTERS = 28
"""Letters of a name that an axis shows."""

ALIKE_LETTERS = 8
"""Length from which a common beginning of long names is left out."""

NAME_LETTERS = 60
"""Letters of a name that a chart holds; the axis shows fewer where there is no room."""

IMAGE_WIDTH = 640
"""Pixels of an image, where a page would use its own width."""

IMAGE_SCALE = 2
"""Pixels of a PNG for each pixel of a page."""

LIGHT = {
    "ink": "#1b1f24",
    "quiet": "#59626d",
    "line": "#dfe3e7",
    "paper": "#ffffff",
    "met": "#0a6aa8",
    "unmet": "#b9470b",
    "undecided": "#5c6570",
    "series-1": "#6a3fa5",
    "series-2": "#00805c",
    "series-3": "#a34f7f",
    "series-4": "#8f6500",
    "series-5": "#27747f",
    "series-6": "#55606d",
}
"""The light theme of ``theme.css``, for images; a test holds them equal."""

COLOURS = tuple(f"var(--series-{number})" for number in range(1, 7))

CONFIG: Spec = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--quiet)",
        "gridColor": "var(--line)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 200,
    },
    "legend": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--quiet)",
        "labelFontSize": 12,
        "orient": "top",
        "symbolOpacity": 1,
        "symbolStrokeWidth": 0,
        "title": None,
    },
    "range": {"category": list(COLOURS)},
}

_CUSTOM_PROPERTY = re.compile(r"var\(--([\w-]+)\)")


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart, drawn beside the table that holds the same numbers."""

    name: str
    title: str
    spec: Mapping[str, Any]

    def json(self) -> str:
        """Write it as a Vega-Lite document that any tool renders, with its title."""
        whole = {
            "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
            "title": {"text": _lines(self.title), "anchor": "start", "color": "var(--ink)"},
            **self.spec,
        }
        if whole.get("width") == "container":
            whole["width"] = IMAGE_WIDTH
            whole["autosize"] = {"type": "pad", "contains": "content"}
        whole["config"] = {**self.spec.get("config", CONFIG), "background": "var(--paper)"}
        text = json.dumps(whole, ensure_ascii=False, indent=1)
        return _CUSTOM_PROPERTY.sub(lambda match: LIGHT[match[1]], text) + "\n"

    def image(self, format: Format) -> bytes:  # noqa: A002 - as elsewhere
        """Render it."""
        try:
            import vl_convert
        except ImportError as error:
            what = f"a chart as {format.upper()} needs vl-convert"
            raise UsageError(what, hint=INSTALL) from error
        if format == "svg":
            return str(vl_convert.vegalite_to_svg(self.json())).encode()
        if format == "png":
            return bytes(vl_convert.vegalite_to_png(self.json(), scale=IMAGE_SCALE))
        return bytes(vl_convert.vegalite_to_pdf(self.json()))

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        """Show it in a notebook: as an image where that can be made, else by its Vega-Lite."""
        shown: dict[str, Any] = {"text/plain": self.title}
        if can_render():
            shown["image/svg+xml"] = self.image("svg").decode()
        else:
            shown["application/vnd.vegalite.v6+json"] = json.loads(self.json())
        return shown


def _lines(title: str) -> str | list[str]:
    """Break a title that is wider than an image."""
    lines = wrap(title, TITLE_LETTERS)
    return lines if len(lines) > 1 else title


def can_render() -> bool:
    """Check whether charts can be rendered as files: the extra ``charts`` is installed."""
    return find_spec("vl_convert") is not None


def shorten(names: Iterable[str]) -> dict[str, str]:
    """Cut long names, keeping them apart: rows of one name would be drawn as one.

    What long names begin with alike goes first, as an axis shows no more than a name's beginning;
    another name among them keeps its own.

    >>> list(shorten(f"vendor/a-model-with-a-long-name-{size}" for size in ("7B", "70B")).values())
    ['…7B', '…70B']
    """
    whole = list(dict.fromkeys(names))
    groups: dict[str, list[str]] = {}
    for name in whole:
        groups.setdefault(name[:ALIKE_LETTERS], []).append(name)
    alike = {start: _alike(group) for start, group in groups.items()}
    short: dict[str, str] = {}
    for name in whole:
        if name not in short:
            start = alike[name[:ALIKE_LETTERS]]
            cut = f"…{name[start:]}" if start else name
            cut = name if cut in short.values() else cut
            cut = cut if len(cut) <= NAME_LETTERS else f"{cut[:NAME_LETTERS]}…"
            while cut in short.values():
                cut += "’"
            short[name] = cut
    return short


def _alike(names: Sequence[str]) -> int:
    """Count the letters that names begin with alike, up to a word's end; 0 if none are long."""
    if len(names) == 1 or max(map(len, names)) <= AXIS_LETTERS:
        return 0
    prefix = commonprefix(names)  # noqa: RUF071 - names, not paths
    alike = len(re.sub(r"[^\W_]+$", "", prefix))
    return alike if alike >= ALIKE_LETTERS else 0
