"""JSON as RFC 8259 has it, and the keywords of JSON Schema that constraints on responses use.

Source: JSON Schema, draft 2020-12, validation vocabulary. fastjsonschema decides; a schema comes
from a data file, so only keywords on a list reach it: none that reads a file or an address.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from heedful.core.errors import VerifierError
from heedful.verify.custom.patterns import BoundedPattern

if TYPE_CHECKING:
    from collections.abc import Callable

BLANKS = " \t\n\r"
"""All white space that RFC 8259 allows around a value; Python's ``strip`` takes more."""

_LONGEST_INTEGER = 4000
"""Digits; Python refuses to read many more."""


def parse(text: str) -> tuple[Any, bool]:
    """Parse JSON as RFC 8259 defines it: without the ``NaN`` and ``Infinity`` that Python takes.

    >>> parse("[1, 2.5]")
    ([1, 2.5], True)

    Returns:
        The value, and whether all its numbers are as written: those too large for a float are read
        as infinite.

    Raises:
        ValueError: the text isn't JSON.
        RecursionError: it is nested too deeply.
    """
    exact = True

    def number(written: str) -> float:
        nonlocal exact
        value = float(written)
        exact = exact and math.isfinite(value)
        return value

    def integer(written: str) -> float:
        return int(written) if len(written) <= _LONGEST_INTEGER else number(written)

    value = json.loads(text, parse_float=number, parse_int=integer, parse_constant=refuse_constant)
    return value, exact


def refuse_constant(name: str) -> Any:
    """Refuse ``NaN``, ``Infinity`` and ``-Infinity``, as ``parse_constant`` of :mod:`json`.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{name} is not a JSON value")


_VALUES = frozenset({
    "type", "enum", "const", "required", "minItems", "maxItems", "uniqueItems", "minLength",
    "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf",
})  # fmt: skip
_SCHEMA = frozenset({"items", "additionalProperties", "not"})
_SCHEMAS = frozenset({"anyOf", "allOf", "oneOf"})
_KNOWN = _VALUES | _SCHEMA | _SCHEMAS | {"properties"}
_IGNORED = frozenset({
    "$schema", "$id", "$comment", "title", "description", "default", "examples", "format",
})  # fmt: skip

_PATTERN = "pattern "
"""Begins the name of the format that stands for a pattern."""

_COMPILED = 256
"""Schemas in the cache."""


def fault(value: Any, schema: Any) -> str | None:
    """Say how a value does not fit a schema, or ``None`` where it does.

    Knows ``type enum const properties required additionalProperties items minItems maxItems
    uniqueItems minLength maxLength pattern minimum maximum exclusiveMinimum exclusiveMaximum
    multipleOf anyOf allOf oneOf not``. Annotations are passed over.

    >>> fault({"age": "9"}, {"properties": {"age": {"type": "integer"}}})
    '$.age must be integer'

    Raises:
        UndecidedError: a pattern may take too long on one of the texts.
        VerifierError: the schema has a keyword that is not known, or isn't one.
    """
    from fastjsonschema import JsonSchemaValueException

    patterns: list[str] = []
    cleaned = json.dumps(_cleaned(schema, "$", patterns), ensure_ascii=False)
    try:
        _compiled(cleaned, tuple(patterns))(value)
    except JsonSchemaValueException as error:
        message = str(error.message)
        if error.rule == "format":  # which is a pattern, given a name
            name = str(error.rule_definition)
            pattern = patterns[int(name.removeprefix(_PATTERN))]
            message = f"{message.removesuffix(f'be {name}')}match pattern {pattern}"
        return "$" + message.removeprefix("data")
    return None


def _cleaned(schema: Any, place: str, patterns: list[str]) -> Any:
    """Leave of a schema what validates, and refuse what is not on the list.

    Its patterns become formats, which we decide: fastjsonschema would run them without bounds.

    Raises:
        VerifierError: it has an unknown keyword, or isn't a schema.
    """
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
    return {
        "format" if keyword == "pattern" else keyword: _cleaned_value(
            keyword, value, f"{place}.{keyword}", patterns
        )
        for keyword, value in schema.items()
        if keyword in _KNOWN
    }


def _cleaned_value(keyword: str, value: Any, place: str, patterns: list[str]) -> Any:
    if keyword in _SCHEMA:
        return _cleaned(value, place, patterns)
    if keyword in _SCHEMAS and isinstance(value, list):
        return [_cleaned(schema, place, patterns) for schema in value]
    if keyword == "properties" and isinstance(value, dict):
        return {
            name: _cleaned(schema, f"{place}.{name}", patterns) for name, schema in value.items()
        }
    if keyword == "pattern":
        if not isinstance(value, str):
            raise VerifierError(f"a pattern is a text, not {value!r}", where=place)
        patterns.append(value)
        return f"{_PATTERN}{len(patterns) - 1}"
    return value


@lru_cache(maxsize=_COMPILED)
def _compiled(schema: str, patterns: tuple[str, ...]) -> Callable[[Any], object]:
    """Compile a cleaned schema, written as JSON, and the patterns that its formats stand for.

    Raises:
        VerifierError: it isn't a schema.
    """
    import fastjsonschema

    invalid = fastjsonschema.JsonSchemaDefinitionException
    definition: dict[str, Any] | bool = json.loads(schema)
    try:
        validate: Callable[[Any], object] = fastjsonschema.compile(
            definition,
            use_default=False,
            formats={f"{_PATTERN}{at}": BoundedPattern(each) for at, each in enumerate(patterns)},
        )
    except (invalid, re.error, TypeError, OverflowError, RecursionError) as error:
        raise VerifierError(f"this isn't a JSON schema: {error}", where=schema[:80]) from error
    return validate
