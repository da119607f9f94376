"""For the site: docstrings as Markdown. Sessions of Python become code, and roles plain names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from griffe import Extension

if TYPE_CHECKING:
    from griffe import Object

_SESSION = re.compile(r"^(?P<code>[ ]*>>> .*\n(?:[ ]*\S.*\n?)*)", re.MULTILINE)
_ROLE = re.compile(r":\w+:`~?(?:[\w.]+\.)?(\w+)`")


class Markdown(Extension):  # type: ignore[misc] # typed only where griffe is installed
    """Rewrites docstrings before they are parsed."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of whatever was found."""
        if obj.docstring is not None:
            text = _ROLE.sub(r"`\1`", obj.docstring.value)
            obj.docstring.value = _SESSION.sub(
                lambda match: "```python\n" + match["code"].rstrip() + "\n```\n", text
            )
