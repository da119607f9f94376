"""JSON objects in the midst of a judge's reply: models put fences and prose around them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_OBJECT = re.compile(r'\{\s*"')
_STARTS = 1000
"""Braces from which an object is tried; bounds the time that a hostile reply can take."""


class UnclearError(Exception):
    """The objects in a reply have more than one reading; the message says why."""


def find(
    text: str, wanted: Callable[[dict[str, Any]], bool], states: re.Pattern[str] | None = None
) -> list[dict[str, Any]]:
    """Find the objects that are wanted, wherever in a text they are; none within another."""
    # Models write line ends inside JSON strings, which only the lenient decoder takes.
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_once if states else None)
    objects = []
    outside = []
    at = done = 0
    for _ in range(_STARTS):
        match = _OBJECT.search(text, at)
        if match is None:
            break
        at = match.end()
        try:
            value, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and wanted(value):
            objects.append(value)
            outside.append(text[done : match.start()])
            at = done = end
    outside.append(text[done:])
    stray = states.search("\n".join(outside)) if objects and states else None
    if stray:
        raise UnclearError(f"{stray[0]} stands outside the JSON objects that can be read")
    return objects


def key(names: str) -> str:
    """Write a regular expression that finds keys of an object, valid JSON or not."""
    marks = r"[\\\"'“”‘’`]"
    return rf"(?:{marks}(?:{names}){marks}+|[{{,]\s*(?:{names}))\s*[:：=]"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object, refusing a key with two values: JSON's last would win in silence."""
    built: dict[str, Any] = {}
    for key, value in pairs:
        if key in built and built[key] != value:
            raise UnclearError(f"{key} is answered twice")
        built[key] = value
    return built
