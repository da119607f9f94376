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


class TwiceError(Exception):
    """A key of an object has two values; the message names it."""


def find(
    text: str, wanted: Callable[[dict[str, Any]], bool], *, once: bool = False
) -> list[dict[str, Any]]:
    """Find the objects that are wanted, wherever in a text they are; none within another.

    With ``once``, a key with two values is refused: JSON's last would win in silence.
    """
    # Models write line ends inside JSON strings, which only the lenient decoder takes.
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_once if once else None)
    objects = []
    at = 0
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
            at = end
    return objects


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built: dict[str, Any] = {}
    for key, value in pairs:
        if key in built and built[key] != value:
            raise TwiceError(f"{key} is answered twice")
        built[key] = value
    return built
