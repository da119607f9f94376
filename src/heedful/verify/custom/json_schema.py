"""JSON as RFC 8259 has it, and the keywords of JSON Schema that constraints on responses use.

Source: JSON Schema, draft 2020-12, validation vocabulary. fastjsonschema decides; a schema comes
from a data file, so only keywords on a list reach it: none that reads a file or an address.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal, InvalidOperation
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from heedful.core.errors import UndecidedError, VerifierError
from heedful.verify.custom.json_formats import fits
from heedful.verify.custom.patterns import Pattern

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
    """
    exact = True

    def number(written: str) -> float:
        nonlocal exact
        value = float(written)
        exact = exact and _is_exact(value, written)
        return value

    def integer(written: str) -> float:
        return int(written) if len(written) <= _LONGEST_INTEGER else number(written)

    def names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal exact
        values = dict(pairs)
        exact = exact and len(values) == len(pairs)
        return values

    value = json.loads(
        text,
        parse_float=number,
        parse_int=integer,
        parse_constant=refuse_constant,
        object_pairs_hook=names,
    )
    return value, exact


def _is_exact(value: float, written: str) -> bool:
    try:
        return math.isfinite(value) and Decimal(repr(value)) == Decimal(written)
    except InvalidOperation:  # an exponent beyond all bounds
        return False


def refuse_constant(name: str) -> Any:
    """Refuse ``NaN``, ``Infinity`` and ``-Infinity``, as ``parse_constant`` of :mod:`json`."""
    raise ValueError(f"{name} is not a JSON value")


_VALUES = frozenset({
    "type", "enum", "const", "required", "minItems", "maxItems", "uniqueItems", "minLength",
    "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf",
})  # fmt: skip
_TEXTS = frozenset({"pattern", "format"})
_SCHEMA = frozenset({"items", "additionalProperties", "not"})
_SCHEMAS = frozenset({"anyOf", "allOf", "oneOf"})
_KNOWN = _VALUES | _SCHEMA | _SCHEMAS | _TEXTS | {"properties"}
_IGNORED = frozenset({"$schema", "$id", "$comment", "title", "description", "default", "examples"})
_DIALECTS = "json-schema.org/"
_LARGE, _SMALL = 10**15, 10**-9
"""Beyond these the division of floats may be wrong in its last digits."""

_COMPILED = 256
"""Schemas in the cache."""


def fault(value: Any, schema: Any) -> str | None:
    """Say how a value does not fit a schema, or ``None`` where it does.

    Knows ``type enum const properties required additionalProperties items minItems maxItems
    uniqueItems minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum
    multipleOf anyOf allOf oneOf not``. Annotations are passed over.

    >>> fault({"age": "9"}, {"properties": {"age": {"type": "integer"}}})
    '$.age must be integer'
    """
    from fastjsonschema import JsonSchemaValueException

    texts: list[tuple[str, str]] = []
    cleaned = json.dumps(_cleaned(schema, "$", texts), ensure_ascii=False)
    validate = _compiled(cleaned, tuple(texts))
    if '"multipleOf"' in cleaned and any(map(_is_large, _numbers(value))):
        raise UndecidedError("cannot be decided by code: a number too large to be divided exactly")
    try:
        validate(value)
    except JsonSchemaValueException as error:
        message = str(error.message)
        if error.rule == "format":  # which is a pattern or a format, by its number
            number = str(error.rule_definition)
            message = f"{message.removesuffix(f'be {number}')}match {' '.join(texts[int(number)])}"
        return "$" + message.removeprefix("data")
    return None


def _numbers(value: Any) -> list[float]:
    numbers: list[float] = []
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            left += each.values()
        elif isinstance(each, list):
            left += each
        elif isinstance(each, int | float):
            numbers.append(each)
    return numbers


def _is_large(number: float) -> bool:
    return isinstance(number, float) and abs(number) >= _LARGE


def _cleaned(schema: Any, place: str, texts: list[tuple[str, str]]) -> Any:
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
    cleaned = {
        keyword: _cleaned_value(keyword, value, f"{place}.{keyword}", texts)
        for keyword, value in schema.items()
        if keyword in _KNOWN - _TEXTS
    }
    on_texts = [
        {"format": _numbered(keyword, schema[keyword], f"{place}.{keyword}", texts)}
        for keyword in sorted(_TEXTS & schema.keys())
    ]
    return cleaned | {"allOf": [*on_texts, *cleaned.get("allOf", [])]} if on_texts else cleaned


def _numbered(keyword: str, value: Any, place: str, texts: list[tuple[str, str]]) -> str:
    if not isinstance(value, str):
        raise VerifierError(f"a {keyword} is a text, not {value!r}", where=place)
    texts.append((keyword, value))
    return str(len(texts) - 1)


def _cleaned_value(keyword: str, value: Any, place: str, texts: list[tuple[str, str]]) -> Any:
    if keyword in _SCHEMA:
        return _cleaned(value, place, texts)
    if keyword in _SCHEMAS and isinstance(value, list):
        return [_cleaned(schema, place, texts) for schema in value]
    if keyword == "properties" and isinstance(value, dict):
        return {name: _cleaned(schema, f"{place}.{name}", texts) for name, schema in value.items()}
    if keyword == "multipleOf" and isinstance(value, float) and abs(value) < _SMALL:
        raise VerifierError(f"multipleOf is {value}, too small to divide by", where=place)
    return value


@lru_cache(maxsize=_COMPILED)
def _compiled(schema: str, texts: tuple[tuple[str, str], ...]) -> Callable[[Any], object]:
    """Compile a cleaned schema, written as JSON, and what the numbers of its formats stand for."""
    import fastjsonschema

    invalid = fastjsonschema.JsonSchemaDefinitionException
    definition: dict[str, Any] | bool = json.loads(schema)
    try:
        validate: Callable[[Any], object] = fastjsonschema.compile(
            definition,
            use_default=False,
            formats={
                str(at): Pattern(text) if keyword == "pattern" else partial(fits, text)
                for at, (keyword, text) in enumerate(texts)
            },
        )
    except (invalid, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise VerifierError(f"this isn't a JSON schema: {error}", where=schema[:80]) from error
    return validate
