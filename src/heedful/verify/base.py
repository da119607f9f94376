"""What a verifier is, and how a check finds its verifier.

A verifier is a function that takes a :class:`~heedful.verify.text.Response` and keyword-only
arguments, and returns a :class:`Finding`. The decorator :func:`verifier` gives it an id. The types
of its arguments are read from its signature, so a check with wrong arguments is refused before the
function is called.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import reprlib
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from heedful.errors import VerifierError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

    from heedful.schema import Check
    from heedful.verify.text import Response

__all__ = ["Finding", "Relation", "amount", "check", "compare", "describe", "known", "verifier"]

Relation = Literal["less than", "at least"]
"""How IFEval and its family compare a count with its bound."""

Wording = str | Callable[..., str]

_BUILT_IN = ("heedful.verify.ifeval",)
_PLUGINS = "heedful.verifiers"
_BINDINGS_KEPT = 8192


@dataclass(frozen=True, slots=True)
class Finding:
    """A verifier's verdict.

    Attributes:
        met: whether the response does what was asked.
        found: what was found, e.g. ``"412 words, asked for less than 400"``.
    """

    met: bool
    found: str


@dataclass(frozen=True, slots=True)
class _Verifier:
    """A registered function and how its constraint is worded."""

    id: str
    function: Callable[..., Finding]
    wording: Wording


@dataclass(frozen=True, slots=True)
class _Binding:
    """A verifier with the arguments of one check, validated."""

    verifier: _Verifier
    arguments: Mapping[str, Any]


_registry: dict[str, _Verifier] = {}
_bindings: dict[tuple[str, str], _Binding] = {}


def verifier[F: Callable[..., Finding]](
    id: str,  # noqa: A002 - what the data calls it
    *,
    describe: Wording,
) -> Callable[[F], F]:
    """Register a function as the verifier of an id.

    Args:
        id: the id that checks name, e.g. ``length_constraints:number_words``.
        describe: the constraint in words: a template over the function's keyword arguments, or a
            function that takes them.

    Returns:
        A decorator; the function itself is left as it is.

    Raises:
        VerifierError: another function has that id.
    """

    def register(function: F) -> F:
        if not function.__module__.startswith("heedful.verify."):
            _load_built_in()
        taken = _registry.get(id)
        if taken is not None and _origin(taken.function) != _origin(function):
            raise VerifierError(
                f"the verifier id {id!r} is taken by {_origin(taken.function)}",
                where=_origin(function),
                mend="give it an id of its own",
            )
        _registry[id] = _Verifier(id, function, describe)
        _bindings.clear()
        return function

    return register
