"""The verifier of JSON, and the keywords of JSON Schema that constraints on responses use.

Source: RFC 8259, and JSON Schema, draft 2020-12, validation vocabulary. fastjsonschema decides; a
schema comes from a data file, so only keywords on a list reach it: none that reads a file or an
address, and no pattern that could take long.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from heedful.core.errors import UndecidedError, VerifierError
from heedful.verify.base import Finding, quoted, verifier, worded
from heedful.verify.custom.parts import Outcome, decide
from heedful.verify.text.lines import FENCES

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.verify.text.layout import Layout
    from heedful.verify.text.prepared import Response

BLANKS = " \t\n\r"
"""All white space that RFC 8259 allows around a value; Python's ``strip`` takes more."""
_LONGEST_INTEGER = 4000
"""Digits; Python refuses to read many more."""


def parse(text: str) -> Any:
    """Parse JSON as RFC 8259 defines it: without the ``NaN`` and ``Infinity`` that Python takes."""
    return json.loads(text, parse_int=_integer, parse_constant=refuse_constant)


def _integer(written: str) -> float:
    return int(written) if len(written) <= _LONGEST_INTEGER else float(written)


def refuse_constant(name: str) -> Any:
    """Refuse ``NaN``, ``Infinity`` and ``-Infinity``, as ``parse_constant`` of :mod:`json`."""
    raise ValueError(f"{name} is not a JSON value")


# --- the verifier -------------------------------------------------------------------------------


@verifier(
    "heedful:json",
    describe=lambda schema, **args: worded(
        "Respond with JSON[ with the keys {keys}][ that fits the schema {schema}],"
        " and nothing else.",
        args | {"schema": json.dumps(schema, ensure_ascii=False) if schema else None},
    ),
)
def json_value(
    response: Response,
    *,
    keys: list[str] | None = None,
    schema: dict[str, Any] | None = None,
    alone: bool = False,
) -> Finding:
    """The response is JSON, alone or in one code block."""
    text = response.text.strip(BLANKS)
    document = response.layout.document if text.startswith(FENCES) else text
    try:
        value = parse(document)
    except RecursionError:
        return decide(None, "it is nested too deeply to be read")
    except ValueError as error:
        return _not_json(response.layout, error, alone=alone)
    if not isinstance(value, dict | list):
        return decide(None, "a bare value, neither object nor array")
    if schema is not None and (wrong := fault(value, schema)) is not None:
        return Finding(met=False, found=f"JSON that does not fit its schema: {wrong}")
    return decide(*_has_keys(value, keys or []))


def _not_json(layout: Layout, error: ValueError, *, alone: bool) -> Finding:
    text = layout.text
    if _is_json(text.strip()):
        return Finding(met=False, found="JSON with white space around it that JSON has not")
    blocks = ["\n".join(line.text for line in block[1:-1]) for block in layout.blocks_of("code")]
    if any(map(_is_json, [*blocks, *_embedded(text)])):
        return decide(False if alone else None, "JSON with other text around it")
    return Finding(met=False, found=f"not JSON: {error}")


def _embedded(text: str) -> list[str]:
    spans = [(text.find(a), text.rfind(b)) for a, b in ("{}", "[]")]
    return [text[start : end + 1] for start, end in spans if 0 <= start < end]


def _is_json(text: str) -> bool:
    try:
        return isinstance(parse(text), dict | list)
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


# --- schemas ------------------------------------------------------------------------------------

_VALUES = frozenset({
    "type", "enum", "const", "required", "minItems", "maxItems", "uniqueItems", "minLength",
    "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "minProperties", "maxProperties",
})  # fmt: skip
_SCHEMA = frozenset({"items", "additionalProperties", "not"})
_SCHEMAS = frozenset({"anyOf", "allOf", "oneOf"})
_TEXTS = frozenset({"pattern", "format"})
_KNOWN = _VALUES | _SCHEMA | _SCHEMAS | _TEXTS | {"properties"}
_IGNORED = frozenset({"$schema", "$id", "$comment", "title", "description", "default", "examples"})
_FORMATS = frozenset({
    "date", "date-time", "email", "hostname", "ipv4", "ipv6", "time", "uri",
})  # fmt: skip
_DIALECTS = "json-schema.org/"
_COMPILED = 256
"""Schemas in the cache."""


def fault(value: Any, schema: Any) -> str | None:
    """Say how a value does not fit a schema, or ``None`` where it does."""
    from fastjsonschema import JsonSchemaValueException

    cleaned = json.dumps(_cleaned(schema, "$"), ensure_ascii=False)
    try:
        _compiled(cleaned)(value)
    except JsonSchemaValueException as error:
        return "$" + str(error.message).removeprefix("data")
    return None


def _cleaned(schema: Any, place: str) -> Any:
    """Leave of a schema what validates, and refuse what is not on the list."""
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict):
        raise VerifierError(f"a schema is an object, not {schema!r}", where=place)
    unknown = schema.keys() - _KNOWN - _IGNORED
    if unknown:
        raise VerifierError(
            f"the schema's keyword {min(unknown)!r} is not known",
            where=place,
            hint=f"the keywords are {', '.join(sorted(_KNOWN))}",
        )
    if _DIALECTS not in str(schema.get("$schema", _DIALECTS)):
        raise VerifierError(
            f"the schema is in a language of its own, {schema['$schema']!r}",
            where=f"{place}.$schema",
            hint="leave $schema out, or name a draft of json-schema.org",
        )
    return {
        keyword: _cleaned_value(keyword, value, f"{place}.{keyword}")
        for keyword, value in schema.items()
        if keyword in _KNOWN
    }


def _cleaned_value(keyword: str, value: Any, place: str) -> Any:
    if keyword in _SCHEMA:
        return _cleaned(value, place)
    if keyword in _SCHEMAS and isinstance(value, list):
        return [_cleaned(schema, place) for schema in value]
    if keyword == "properties" and isinstance(value, dict):
        return {name: _cleaned(schema, f"{place}.{name}") for name, schema in value.items()}
    if keyword in _TEXTS and not isinstance(value, str):
        raise VerifierError(f"a {keyword} is a text, not {value!r}", where=place)
    if keyword in _TEXTS and value not in _FORMATS:
        # A pattern comes from a data file, and may make a search go back without end.
        raise UndecidedError(f"cannot be decided by code: the {keyword} {value[:80]!r}")
    return value


@lru_cache(maxsize=_COMPILED)
def _compiled(schema: str) -> Callable[[Any], object]:
    """Compile a cleaned schema, written as JSON."""
    import fastjsonschema

    invalid = fastjsonschema.JsonSchemaDefinitionException
    definition: dict[str, Any] | bool = json.loads(schema)
    try:
        validate: Callable[[Any], object] = fastjsonschema.compile(definition, use_default=False)
    except (invalid, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise VerifierError(f"this isn't a JSON schema: {error}", where=schema[:80]) from error
    return validate
