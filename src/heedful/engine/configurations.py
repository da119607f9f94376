"""Configurations of runs: how two differ, in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def differences(stored: Mapping[str, Any], config: Mapping[str, Any]) -> list[str]:
    """Say in which values a run's configuration differs from the one it has now."""
    return [
        _difference(key, stored.get(key), config.get(key))
        for key in sorted({*stored, *config})
        if stored.get(key) != config.get(key)
    ]


def _difference(key: str, was: Any, now: Any) -> str:
    """Say in an error how a value of the configuration differs."""
    if key == "input":
        return "the input is another one, or was changed"
    return f"{key} was {_show(was)}, now {_show(now)}"


def _show(value: Any) -> str:
    """Show a value of the configuration: judges by their names, the rest as JSON."""
    if value is None:
        return "unset"
    if isinstance(value, dict) and "judge" in value:
        return str(value["judge"])
    if isinstance(value, list) and value:
        return ", ".join(map(_show, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
