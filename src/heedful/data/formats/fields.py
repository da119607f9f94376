"""Fields of records, read with errors that name them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from heedful.core.errors import RowError
from heedful.core.log import logger
from heedful.core.reasoning import THOUGHTS
from heedful.core.turns import Message
from heedful.data.formats import chat
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from heedful.core.nouns import Sample

__all__ = ["explain", "optional_text", "row_id", "text"]

T = TypeVar("T")


def text(record: Mapping[str, Any], key: str, name: str | None = None) -> str:
    """Return a field that must be there and be text.

    Raises:
        RowError: it is missing, or of another type; the error calls it by its key or the name.
    """
    if key not in record:
        raise RowError(f"{name or key} is missing")
    return _text(record[key], name or key)


def optional_text(record: Mapping[str, Any], key: str) -> str | None:
    """Return a field that may be absent or null, and must otherwise be text.

    Raises:
        RowError: it is of another type.
    """
    value = record.get(key)
    return None if value is None else _text(value, key)


def response_text(record: Mapping[str, Any], key: str = "response") -> str | None:
    """Return a response, which may be absent or null; a number counts as its digits.

    Spreadsheets turn an answer such as 42 into a number, and leave NaN where there is none.
    """
    value = record.get(key)
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    return optional_text(record, key)


def _text(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
        return "".join(_part(part, f"{name}[{place}]") for place, part in enumerate(value))
    hint = ""
    if isinstance(value, bool | int | float):
        hint = f"; write it as text: {json.dumps(json.dumps(value))}"
    raise RowError(f"{name} is {shown(value)}{hint or ', not text'}")


def _part(part: dict[str, Any], name: str) -> str:
    """Return the text of a part of a message, as chat APIs have them."""
    kind = part.get("type", "text")
    if kind in THOUGHTS:
        return ""
    if isinstance(part.get("text"), str) and kind in {"text", "input_text", "output_text"}:
        return str(part["text"])
    raise RowError(f"{name} is of type {kind!r:.40}; heedful reads parts that are text")


def row_id(record: Mapping[str, Any], number: int, *keys: str) -> str:
    """Return the first of the keys that holds an id, as text; else ``row-<number>``.

    Raises:
        RowError: the id is neither text nor a whole number.
    """
    for key in keys:
        value = record.get(key)
        if value is None or value == "":
            continue
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            return str(value)
        raise RowError(f"{key} is {shown(value)}; an id is text or a whole number")
    return f"row-{number}"


def messages(value: Any, name: str) -> tuple[Message, ...]:
    """Read a list of ``{"role": ..., "content": ...}``; a message keeps its other fields."""
    if not isinstance(value, list) or not value:
        raise RowError(f"{name} is {shown(value)}, not a list of messages")
    turns = []
    for place, item in enumerate(value):
        where = f"{name}[{place}]"
        if not isinstance(item, dict):
            raise RowError(f"{where} is {shown(item)}, not a message with role and content")
        role = text(item, "role", f"{where}.role")
        if chat.is_plain(item):
            turns.append(Message.model_validate(item | {"role": role}))
        else:
            turns += chat.turns(item | {"role": role}, where)
    return tuple(turns)


def prompt_of(sample: Sample) -> str | None:
    """Return the last user turn, which responses are joined on."""
    turns = (turn.content for turn in reversed(sample.conversation) if turn.role == "user")
    return next(turns, None)


def explain(error: ValidationError) -> str:
    """Turn pydantic's report into one sentence on the first field that is wrong."""
    first = error.errors(include_url=False)[0]
    name = ""
    for part in first["loc"]:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else str(part)
    if first["type"] == "missing":
        return f"{name} is missing"
    try:
        if first["type"] == "string_type":
            _text(first["input"], name)
    except RowError as typed:
        return typed.what
    return f"{name} is {shown(first['input'])}: {first['msg'][0].lower()}{first['msg'][1:]}"


def made(make: Callable[..., T], *record: object) -> T:
    """Call a function of a format; an error that it didn't expect costs its row only."""
    try:
        return make(*record)
    except RowError:
        raise
    except ValidationError as error:
        raise RowError(explain(error)) from error
    except Exception as error:
        logger.debug("what failed the next row", exc_info=True)
        raise RowError(f"it cannot be read: {type(error).__name__}: {error}") from error
