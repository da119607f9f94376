"""Fields of records, read with errors that name them.

A format needs little more than these: the text of a field, a list of texts or objects, an id,
messages, labels, tags, and verdicts that are stored beside a response.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, TypeVar

import pydantic_core
from pydantic import ValidationError

from heedful.core.errors import RowError
from heedful.core.log import logger
from heedful.core.noun import located
from heedful.core.nouns import Constraint, Recording
from heedful.core.text import amount
from heedful.core.turns import Message
from heedful.data.formats import chat
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heedful.core.nouns import Sample

T = TypeVar("T")

_YES = ("yes", "y", "true", "1", "1.0", "met", "pass", "passed", "satisfied", "是")
_NO = ("no", "n", "false", "0", "0.0", "unmet", "not met", "fail", "failed", "unsatisfied", "否")
_UNKNOWN = ("", "null", "none", "nan", "unknown")
_VERDICTS = dict.fromkeys(_YES, True) | dict.fromkeys(_NO, False) | dict.fromkeys(_UNKNOWN)
"""Words for a known verdict."""


def wrong(name: str, value: Any, wanted: str) -> RowError:
    """Make the error of a field that holds something else than it should."""
    return RowError(f"{name} is {shown(value)}, not {wanted}")


# --- texts, ids, numbers ------------------------------------------------------------------------


def text(record: Mapping[str, Any], key: str, name: str | None = None) -> str:
    """Return a field that must be there and be text; the error calls it by its key or the name."""
    if key not in record:
        raise RowError(f"{name or key} is missing")
    return _text(record[key], name or key)


def optional_text(record: Mapping[str, Any], key: str) -> str | None:
    """Return a field that may be absent or null, and must otherwise be text."""
    value = record.get(key)
    return None if value is None else _text(value, key)


def response_text(record: Mapping[str, Any], *keys: str) -> str | None:
    """Return a response, by default the field ``response``, else the first key that has one.

    It may be absent or null; a number counts as its digits: spreadsheets turn an answer such as 42
    into a number, and leave NaN where there is none.
    """
    key = next((key for key in keys if record.get(key) is not None), "response")
    value = record.get(key)
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    return optional_text(record, key)


def texts(record: Mapping[str, Any], key: str) -> list[str]:
    """Return a field that must be a list of texts."""
    value = record.get(key)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise wrong(key, value, "a list of texts")
    return value


def objects(record: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return a field that must be a list of objects."""
    value = record.get(key)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise wrong(key, value, "a list of objects")
    return value


def only_texts(value: Any) -> list[str]:
    """Return the texts of a list, whatever else is in it; none where it isn't a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def first_text(value: Any) -> str | None:
    """Return a text, or the first of a list if that is one."""
    first = value[0] if isinstance(value, list) and value else value
    return first if isinstance(first, str) else None


def first_has(record: Mapping[str, Any], key: str, *names: str) -> bool:
    """Tell whether a field is a list whose first item is an object with these names."""
    listed = record.get(key)
    first = listed[0] if isinstance(listed, list) and listed else None
    return isinstance(first, dict) and all(name in first for name in names)


def row_id(record: Mapping[str, Any], number: int, *keys: str) -> str:
    """Return the first of the keys that holds an id, as text; else ``row-<number>``."""
    for key in keys:
        value = record.get(key)
        if value is None or value == "":
            continue
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            return str(value)
        raise RowError(f"{key} is {shown(value)}; an id is text or a whole number")
    return f"row-{number}"


def from_json(value: Any, name: str) -> Any:
    """Decode a text of JSON; anything else is returned as it is."""
    if not isinstance(value, str):
        return value
    try:
        return pydantic_core.from_json(value)  # a third of the time of the standard decoder
    except ValueError:
        pass
    try:
        return json.loads(value)  # takes more, and knows better what is wrong
    except (ValueError, RecursionError) as error:
        raise RowError(f"{name} is {shown(value)}, which is not JSON: {error}") from error


def _text(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
        return chat.text_of(value, name)
    if isinstance(value, bool | int | float):
        raise RowError(
            f"{name} is {shown(value)}; write it as text: {json.dumps(json.dumps(value))}"
        )
    raise wrong(name, value, "text")


# --- conversations ------------------------------------------------------------------------------


def messages(value: Any, name: str) -> tuple[Message, ...]:
    """Read a list of ``{"role": ..., "content": ...}``; a message keeps its other fields."""
    if not isinstance(value, list) or not value:
        raise wrong(name, value, "a list of messages")
    turns = []
    for place, item in enumerate(value):
        where = f"{name}[{place}]"
        if not isinstance(item, dict):
            raise wrong(where, item, "a message with role and content")
        role = text(item, "role", f"{where}.role")
        if chat.is_plain(item):
            turns.append(Message.model_validate(item | {"role": role}))
        else:
            turns += chat.turns(item | {"role": role}, where)
    return tuple(turns)


def user(words: str | None) -> tuple[Message, ...]:
    """Make a conversation of one user turn; an empty one where there is none."""
    return () if words is None else (Message(role="user", content=words),)


def prompt(record: Mapping[str, Any], key: str = "prompt") -> tuple[Message, ...]:
    """Read a prompt: a text, or messages."""
    value = record.get(key)
    if isinstance(value, str):
        return user(value)
    return messages(value, key)


def prompt_of(sample: Sample) -> str | None:
    """Return the last user turn, which responses are joined on."""
    turns = (turn.content for turn in reversed(sample.conversation) if turn.role == "user")
    return next(turns, None)


# --- criteria, labels, verdicts, tags -----------------------------------------------------------


def points(item: Mapping[str, Any], key: str, place: int) -> float | None:
    """Return the points of a criterion; ``None`` where it names none."""
    value = item.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise wrong(f"criterion {place + 1}: {key}", value, "a number")
    return float(value)


def criterion(text: str, weight: float | None = None, **fields: Any) -> Constraint:
    """Make a criterion; what is ``None`` is left out."""
    given = {"text": text, "weight": weight, **fields}
    return Constraint.model_validate(
        {name: value for name, value in given.items() if value is not None}
    )


def labels(value: Any, count: int, name: str = "labels") -> tuple[bool | None, ...] | None:
    """Read known verdicts: true, false, 1, 0, yes, no, met, unmet; null where there is none."""
    if value is None:
        return None
    if not isinstance(value, list):
        raise wrong(name, value, "a list of labels")
    if len(value) != count:
        raise RowError(
            f"{name} has {amount(len(value), 'entry', 'entries')} for {amount(count, 'constraint')}"
        )
    read = [label_of(label) for label in value]
    for label in read:
        if label not in (True, False, None):
            raise wrong(f"one of {name}", label, "true, false or null")
    return tuple(None if label is None else bool(label) for label in read)


def label_of(value: Any) -> Any:
    """Return what a word for a verdict says; anything else as it is."""
    return _VERDICTS.get(value.strip().casefold(), value) if isinstance(value, str) else value


def listed_labels(value: Any) -> Any:
    """Return a row's labels as a list: of one label, or of words in a text, such as ``1, 0, 1``."""
    if isinstance(value, str) and value.lstrip()[:1] not in ("[", ""):
        value = [word.strip() for word in re.split(r"[,;|\n]", value)]
    elif isinstance(value, str):
        value = from_json(value, "labels") if value.strip() else None
    if isinstance(value, float) and math.isnan(value):
        return None
    return [value] if isinstance(value, bool | int | float) else value


def recorded(name: str, verdicts: Sequence[Mapping[str, Any] | None]) -> Recording | None:
    """Make a recording of verdicts, ``None`` for a missing one; nothing where all are missing."""
    if not any(verdict is not None for verdict in verdicts):
        return None
    missing = {"status": "failed", "explanation": "the file holds no verdict on this criterion"}
    return Recording(
        prompt=name,
        verdicts=tuple(dict(missing if verdict is None else verdict) for verdict in verdicts),
    )


def replied(name: str, reply: str | None) -> Recording | None:
    """Make a recording of a judge's reply, if there is one."""
    return None if reply is None else Recording(prompt=name, text=reply)


def verdict(value: Any, explanation: Any = None) -> dict[str, Any] | None:
    """Read a stored yes or no, ``None`` where there is none; what is neither is undecided."""
    if value is None:
        return None
    if isinstance(value, bool) or value in (0, 1):
        why = explanation if isinstance(explanation, str) else ""
        return {"status": bool(value), "explanation": why}
    return {"status": "unparsed", "explanation": f"the verdict is {shown(value)}"}


def tags(benchmark: str, record: Mapping[str, Any], *names: str, **renamed: str) -> dict[str, Any]:
    """Take tags from fields that are text, a number or a boolean, under their names or others."""
    kept: dict[str, Any] = {"benchmark": benchmark}
    for tag, name in (dict(zip(names, names, strict=True)) | renamed).items():
        if isinstance(record.get(name), str | int | float) and record[name] != "":
            kept[tag] = record[name]
    return kept


def without(record: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the fields of a record that a format doesn't map: a sample's ``source``."""
    return {name: value for name, value in record.items() if name not in names}


# --- errors -------------------------------------------------------------------------------------


def explain(error: ValidationError) -> str:
    """Turn pydantic's report into one sentence on the first field that is wrong."""
    first = error.errors(include_url=False)[0]
    name = located(first["loc"]).removeprefix(".")
    if first["type"] == "missing":
        return f"{name} is missing"
    if first["type"] == "extra_forbidden":
        return f"there is no {name!r}"
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
