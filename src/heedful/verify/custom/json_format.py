"""The verifier of JSON for users' own constraints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from heedful.verify.base import Finding, quoted, verifier
from heedful.verify.custom.json_schema import BLANKS, fault, parse
from heedful.verify.custom.parts import Outcome, decide
from heedful.verify.custom.structure import bounds
from heedful.verify.markup import code_block_alone, code_blocks

if TYPE_CHECKING:
    from heedful.verify.text.prepared import Response


def _describe_json(
    keys: list[str] | None,
    schema: dict[str, Any] | None,
    at_least: int | None,
    at_most: int | None,
    *,
    alone: bool,
) -> str:
    del alone
    what = f" with the keys {quoted(keys)}" if keys else ""
    what += f" that fits the schema {json.dumps(schema, ensure_ascii=False)}" if schema else ""
    what += f" with {bounds(at_least, at_most)} keys" if (at_least, at_most) != (None, None) else ""
    return f"Respond with JSON{what}, and nothing else."


@verifier("heedful:json", describe=_describe_json)
def json_value(
    response: Response,
    *,
    keys: list[str] | None = None,
    schema: dict[str, Any] | None = None,
    at_least: int | None = None,
    at_most: int | None = None,
    alone: bool = False,
) -> Finding:
    """The response is JSON, alone or in one code block."""
    text = response.text.strip(BLANKS)
    blocks = code_blocks(text)
    block = code_block_alone(text) if len(blocks) == 1 else None
    try:
        value, exact = parse(text if block is None else block)
    except RecursionError:
        return decide(None, "it is nested too deeply to be read")
    except ValueError as error:
        return _not_json(text, blocks, error, alone=alone)
    if not isinstance(value, dict | list):
        return decide(None, "a bare value, neither object nor array")
    if schema is not None:
        wrong = fault(value, schema) if exact else None
        if wrong is not None or not exact:
            return decide(*_misfit(wrong))
    if (at_least, at_most) != (None, None):
        outcome, reason = _has_so_many(value, at_least or 0, at_most)
        if not outcome:
            return decide(outcome, reason)
    return decide(*_has_keys(value, keys or []))


def _not_json(text: str, blocks: list[str], error: ValueError, *, alone: bool) -> Finding:
    if _is_json(text.strip()):
        return Finding(met=False, found="JSON with white space around it that JSON has not")
    if any(map(_is_json, [*blocks, *_embedded(text)])):
        return decide(False if alone else None, "JSON with other text around it")
    return Finding(met=False, found=f"not JSON: {error}")


def _misfit(wrong: str | None) -> tuple[Outcome, str]:
    if wrong is None:
        return None, "a number with more digits than can be compared, or a name that occurs twice"
    return False, f"JSON that does not fit its schema: {wrong}"


def _embedded(text: str) -> list[str]:
    spans = [(text.find(a), text.rfind(b)) for a, b in ("{}", "[]")]
    return [text[start : end + 1] for start, end in spans if 0 <= start < end]


def _is_json(text: str) -> bool:
    try:
        return isinstance(parse(text)[0], dict | list)
    except (ValueError, RecursionError):
        return False


def _has_keys(value: Any, keys: list[str]) -> tuple[Outcome, str]:
    objects = value if isinstance(value, list) else [value]
    if keys and not objects:
        return None, "an array without any object"
    missing = [
        key for key in keys if not all(isinstance(each, dict) and key in each for each in objects)
    ]
    if not missing:
        return True, "valid JSON" + (f" with {quoted(keys)}" if keys else "")
    everywhere = _keys(value)
    if all(key in everywhere for key in missing):
        return None, f"the keys {quoted(missing)} stand deeper in the JSON"
    return False, f"JSON without the keys {quoted([k for k in missing if k not in everywhere])}"


def _has_so_many(value: Any, at_least: int, at_most: int | None) -> tuple[Outcome, str]:
    """Check the number of an object's keys; those of objects within it may count."""
    if not isinstance(value, dict):
        return None, "an array, whose objects may be meant"
    numbers = range(len(value), len(_keys(value)) + 1)
    most = numbers[-1] if at_most is None else at_most
    fits = {at_least <= number <= most for number in numbers}
    return (fits.pop() if len(fits) == 1 else None), f"an object of {len(value)} keys"


def _keys(value: Any) -> list[str]:
    keys: list[str] = []
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            keys += each
            left += each.values()
        elif isinstance(each, list):
            left += each
    return keys
