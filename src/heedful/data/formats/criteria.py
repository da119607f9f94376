"""Parts that formats of rubrics share: criteria, their points, verdicts stored beside them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Constraint, Message, Recording
from heedful.data.formats.fields import messages
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def objects(record: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return a field that is a list of objects."""
    value = record.get(key)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise RowError(f"{key} is {shown(value)}, not a list of objects")
    return value


def points(item: Mapping[str, Any], key: str, place: int) -> float | None:
    """Return the points of a criterion; ``None`` where it names none."""
    value = item.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RowError(f"criterion {place + 1}: {key} is {shown(value)}, not a number")
    return float(value)


def criterion(text: str, weight: float | None = None, **fields: Any) -> Constraint:
    """Make a criterion; what is ``None`` is left out."""
    given = {"weight": weight, **fields}
    known = {name: value for name, value in given.items() if value is not None}
    return Constraint.model_validate({"text": text, **known})


def prompt(value: Any, key: str) -> tuple[Message, ...]:
    """Read a prompt: a text, or messages."""
    return (
        (Message(role="user", content=value),) if isinstance(value, str) else messages(value, key)
    )


def recorded(name: str, verdicts: Sequence[Mapping[str, Any] | None]) -> Recording | None:
    """Make a recording of verdicts, ``None`` for a missing one; nothing where all are missing."""
    if not any(verdict is not None for verdict in verdicts):
        return None
    missing = {"status": "failed", "explanation": "the file holds no verdict on this criterion"}
    return Recording(
        prompt=name,
        verdicts=tuple(dict(missing if verdict is None else verdict) for verdict in verdicts),
    )


def verdict(value: Any, explanation: Any = None) -> dict[str, Any] | None:
    """Read a stored yes or no; ``None`` where there is none.

    What is neither is undecided, with the reason.
    """
    if value is None:
        return None
    if isinstance(value, bool) or value in (0, 1):
        why = explanation if isinstance(explanation, str) else ""
        return {"status": bool(value), "explanation": why}
    return {"status": "unparsed", "explanation": f"the verdict is {shown(value)}"}


def texts(value: Any) -> list[str]:
    """Return the texts of a list, whatever else is in it; none where it isn't a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def tags(benchmark: str, record: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Take tags from fields that are text, a number or a boolean."""
    kept = {name: record[name] for name in names if isinstance(record.get(name), str | int | float)}
    return {"benchmark": benchmark, **kept}
