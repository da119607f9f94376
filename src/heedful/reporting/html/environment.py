"""The templates of pages, with all that is put into them escaped, and the files that pages need."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.core.text import amount
from heedful.core.turns import pieces

if TYPE_CHECKING:
    from typing import Any

    from jinja2 import Environment
    from markupsafe import Markup

ASSETS = Path(__file__).parent / "assets"
"""The folder of scripts and styles; where the first come from stands in its README."""

CHART_SCRIPTS = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js", "charts.js")
"""Scripts of a page with charts, in this order."""

LICENSED = ("vega", "vega-lite", "vega-embed", "bundled")
"""Libraries whose licences accompany the scripts of charts."""

TEMPLATES = Path(__file__).parent / "templates"

MARKS_KEPT = 8
"""Marks shown on one letter; no script stacks as many."""

_MARKS = r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_STACKED = re.compile(f"({_MARKS}{{{MARKS_KEPT}}}){_MARKS}+")
_JOINTS = re.compile(r"(?<=\w)([_:/])(?=\w)")
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u200b\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
"""Characters that are invisible, change the text direction, or aren't allowed in HTML."""


def asset(name: str) -> str:
    """Return the text of one of the files that pages need."""
    return (ASSETS / name).read_text(encoding="utf-8")


def self_contained(*, charts: bool) -> dict[str, Any]:
    """Return what the template of a page needs that makes no request."""
    from markupsafe import Markup

    style, theme = asset("theme.css"), asset("theme.js")
    scripts = [asset(name) for name in CHART_SCRIPTS] if charts else []
    policy = [
        "default-src 'none'",
        f"script-src {' '.join(map(_digest, [theme, *scripts]))}",
        f"style-src {_digest(style)}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return {
        "policy": "; ".join(policy),
        "licences": [asset(f"{name}.LICENSE") for name in LICENSED] if charts else [],
        # Ours, from the package: the only text of the page that is not escaped.
        "style": Markup(style),  # noqa: S704
        "theme": Markup(theme),  # noqa: S704
        "scripts": [Markup(script) for script in scripts],  # noqa: S704
    }


def _digest(text: str) -> str:
    """Return what a content security policy calls an inline script or style by."""
    value = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(value).decode()}'"


def said(text: object, limit: int | None = None) -> Markup:
    r"""Make what a file or a model said safe to show, and show all that it said.

    Everything is escaped. Control characters, and those that change the direction of the text
    after them, appear by their number. Put it into an element of the class ``said`` with
    ``dir="auto"``, so that its direction is its own too.

    >>> print(said("<b>\x00"))
    &lt;b&gt;<span class="control">U+0000</span>
    """
    from markupsafe import Markup, escape

    whole = str(text).replace("\r\n", "\n")
    shown = whole if limit is None else whole[:limit]
    shown = _STACKED.sub(r"\1", shown)
    parts, end = [], 0
    for match in _CONTROLS.finditer(shown):
        parts += [escape(shown[end : match.start()]), _control(match.group())]
        end = match.end()
    parts.append(escape(shown[end:]))
    left = 0 if limit is None else max(0, len(whole) - limit)
    if left:
        parts.append(Markup('<span class="quiet"> … {:,} more characters</span>').format(left))
    return Markup().join(parts)


def breakable(text: object, limit: int | None = None) -> Markup:
    """Make a name safe to show as :func:`said` does; it may be broken where its parts meet."""
    from markupsafe import Markup

    return Markup(_JOINTS.sub(r"\1<wbr>", str(said(text, limit))))  # noqa: S704 - what said returns is escaped


def _control(character: str) -> Markup:
    from markupsafe import Markup

    return Markup('<span class="control">U+{:04X}</span>').format(ord(character))


@cache
def environment(*folders: Path) -> Environment:
    """Return the templates: those in the folders given, and the parts that all pages share.

    Whatever a template writes is escaped; what it names and is not there is an error.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_writable,
    )
    made.filters |= {"said": said, "breakable": breakable, "pieces": pieces, "zip": zip}
    made.globals["amount"] = amount
    return made


def _writable(value: object) -> object:
    """Replace halves of surrogate pairs, which JSON may smuggle in and no file can hold."""
    if type(value) is not str or value.isascii():
        return value
    return value.encode("utf-8", "replace").decode()
