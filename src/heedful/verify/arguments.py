"""The arguments of verifiers: read from their signatures, and listed where a check gives others."""

from __future__ import annotations

import functools
import inspect
import reprlib
import typing
from typing import TYPE_CHECKING, Any

from heedful.core.errors import VerifierError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails


def validated(
    function: Callable[..., Any],
    id: str,  # noqa: A002 - what the data calls it
    args: dict[str, Any],
) -> dict[str, Any]:
    """Check a verifier's arguments against its signature; a null counts as absent.

    Data sets pad the arguments of every constraint to the same columns, with nulls.
    """
    from pydantic import ValidationError

    adapter = _arguments(function)
    given = {name: value for name, value in args.items() if value is not None}
    try:
        return dict(vars(adapter.validate_python(given)))
    except ValidationError as error:
        wrong = "; ".join(_complaint(detail) for detail in error.errors())
        raise VerifierError(
            f"its arguments do not fit: {wrong}",
            where=id,
            hint=_allowed(function),
        ) from error


def _complaint(detail: ErrorDetails) -> str:
    name = ".".join(str(part) for part in detail["loc"])
    if detail["type"].startswith("missing"):
        return f"{name} is missing"
    if detail["type"] == "unexpected_keyword_argument":
        return f"{name} is not an argument of it"
    return f"{name} is {reprlib.repr(detail['input'])}: {detail['msg']}"


def schema(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the JSON schema of a verifier's arguments."""
    return _arguments(function).json_schema()


@functools.cache
def _arguments(function: Callable[..., Any]) -> TypeAdapter[Any]:
    """Make the validator of a verifier's keyword-only arguments."""
    from dataclasses import field, make_dataclass

    from pydantic import ConfigDict, TypeAdapter

    fields = [
        (name, hint, field() if default is inspect.Parameter.empty else field(default=default))
        for name, (hint, default) in _signature(function).items()
    ]
    settings = {"__pydantic_config__": ConfigDict(extra="forbid")}
    return TypeAdapter(make_dataclass("Arguments", fields, kw_only=True, namespace=settings))


def _signature(function: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Read the type and default of each keyword-only argument."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    for parameter in parameters:
        if parameter.kind is not parameter.KEYWORD_ONLY or parameter.annotation is parameter.empty:
            raise VerifierError(
                f"its parameter {parameter.name!r} is not keyword-only or has no type",
                where=origin(function),
                hint="write it as (response, *, name: type)",
            )
    annotated = typing.cast("Any", lambda: None)
    annotated.__annotations__ = {each.name: each.annotation for each in parameters}
    try:
        names = getattr(inspect.unwrap(function), "__globals__", {})
        hints = typing.get_type_hints(annotated, globalns=names, include_extras=True)
    except NameError as error:
        raise VerifierError(
            f"a type in its signature is not known at run time: {error}",
            where=origin(function),
            hint="import it outside of TYPE_CHECKING",
        ) from error
    return {each.name: (hints[each.name], each.default) for each in parameters}


def _allowed(function: Callable[..., Any]) -> str:
    names = ", ".join(_signature(function))
    return f"it takes {names}" if names else "it takes no arguments"


def origin(function: Callable[..., Any]) -> str:
    """Say where a function is from, for messages."""
    return f"{function.__module__}.{getattr(function, '__qualname__', function)}"
