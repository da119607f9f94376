"""Configurations of runs: how two differ, in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping


def differences(stored: Mapping[str, Any], config: Mapping[str, Any]) -> list[str]:
    """Say in which values a run's configuration differs from the one it has now.

    >>> was, now = ([{"judge": "compiled", "grammar": number}] for number in (1, 2))
    >>> differences({"judges": was}, {"judges": now})
    ['compiled: grammar was 1, now 2']
    """
    return [
        _difference(key, stored.get(key), config.get(key))
        for key in sorted({*stored, *config})
        if stored.get(key) != config.get(key)
    ]


def _difference(key: str, was: Any, now: Any) -> str:
    """Say in an error how a value of the configuration differs."""
    if key == "input":
        return "the input is another one, or was changed"
    if _show(was) == _show(now):  # what differs is within
        if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
            pairs = zip(was, now, strict=True)
            return "; ".join(_difference(key, one, other) for one, other in pairs if one != other)
        if isinstance(was, dict) and isinstance(now, dict):
            name = was.get("judge", key)
            within = differences(was, now)
            return "; ".join(f"{name}: {each}" for each in within)
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


def forget_stub(db: sqlite3.Connection) -> bool:
    """Forget a run in which nothing was ever done, as where its first call was refused."""
    done = ("outputs", "calls", "usage", "batch_requests")
    if any(db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in done):  # noqa: S608
        return False
    db.execute("DELETE FROM inputs")
    db.execute("DELETE FROM meta WHERE key != 'sessions'")
    return True
