"""Code inside something else: a JSON reply, an interactive session, a quotation.

A completion is taken out of it only where its own lines define nothing, so that a program that
holds JSON, or shows a session in its docstring, stays as it is.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 200_000
"""Characters; a longer text is taken as it is."""

_STARTS = 20
"""Places in a text at which JSON may begin."""

_CODE_KEYS = re.compile(
    r"(?:final_?)?(?:code|program|solution|answer|completion|implementation|function|body|response|output|content)",
    re.IGNORECASE,
)
_OPENS = re.compile(r"[{\[](?=\s*[\"'{\[])")
_PROMPT = re.compile(
    r"^[ \t]*(?:>>>|\.\.\.|In ?\[\d+\]:|[ \t]+\.\.\.:)(?: (?P<code>.*))?$", re.MULTILINE
)
_QUOTED = re.compile(r"^> ?", re.MULTILINE)
_NUMBERED = re.compile(r"^[ \t]*\d+(?:[:.|]|(?=[ \t]))[ \t]?", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,}).*$", re.MULTILINE)


def unwrapped(text: str, name: str) -> str:
    """Take the code out of what it is wrapped in."""
    if len(text) > LONGEST:
        return text
    defines = re.compile(rf"\b(?:def\s+{re.escape(name)}\b|{re.escape(name)}\s*=)")
    held = _of_json(text, defines)
    if held is not None:
        return held
    prompted = [match["code"] or "" for match in _PROMPT.finditer(text)]
    if defines.search("\n".join(prompted)):
        return "\n".join(prompted) + "\n"
    for marks in (_QUOTED, _NUMBERED):
        lines = [line for line in _FENCE.sub("", text).splitlines() if line.strip()]
        if defines.search(text) and len(lines) > 1 and all(map(marks.match, lines)):
            return textwrap.dedent(marks.sub("", text))
    return text


def _of_json(text: str, defines: re.Pattern[str]) -> str | None:
    """Return the code in the JSON of a text; ``None`` where there is none."""
    line = text.strip().strip('"')
    if "\n" not in line and r"\n" in line and defines.search(line) and line[:1] not in "{[":
        return str(_loaded(f'"{line}"') or "") or None
    for start in list(_OPENS.finditer(text))[:_STARTS]:
        found = list(_strings(_loaded(text[start.start() :])))
        defining = [code for _, code in found if defines.search(code)]
        named = [code for key, code in found if _CODE_KEYS.fullmatch(key)]
        if defining or named:
            return (defining or named)[-1]
    return None


def _loaded(text: str) -> Any:
    """Read the JSON, or the Python literal, that a text begins with; ``None`` where it is none."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text)[0]
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text.strip().strip("`").strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _strings(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Give the strings of JSON with their keys; a list of lines is one string."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        yield key, "\n".join(value)
    elif isinstance(value, list | dict):
        pairs = value.items() if isinstance(value, dict) else ((key, each) for each in value)
        for name, each in pairs:
            yield from _strings(each, str(name))
