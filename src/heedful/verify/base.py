"""Verifiers, and how a check finds its verifier.

A verifier is a function that takes a :class:`~heedful.verify.text.prepared.Response` and
keyword-only arguments, and returns a :class:`Finding`. The decorator :func:`verifier` gives it an
id. The types of its arguments are read from its signature, so a check with wrong arguments is
refused before the function is called.

IFEval reads a response twice (Zhou et al. 2023, arXiv 2311.07911, section 3): strictly, as it is,
and loosely, where a constraint is met if any of eight variants meets it: with and without the first
line, the last line, both; each of these as it is and without asterisks.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import random
import re
import reprlib
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from heedful.core import plugins
from heedful.core.errors import UndecidedError, UsageError, VerifierError
from heedful.verify.text.prepared import Response

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

    from heedful.core.nouns import Check
    from heedful.core.turns import ToolCall

__all__ = ["describe"]

Relation = Literal["less than", "at least"]
"""Relations by which IFEval and its family compare a count with a bound."""

Wording = str | Callable[..., str]

_F = TypeVar("_F", bound=Callable[..., "Finding | bool"])

_BUILT_IN = (
    "heedful.verify.ifeval.content",
    "heedful.verify.ifeval.multiif",
    "heedful.verify.ifbench.words",
    "heedful.verify.ifbench.places",
    "heedful.verify.ifbench.format",
    "heedful.verify.ifeval.extra",
    "heedful.verify.custom.counting",
    "heedful.verify.custom.parts",
    "heedful.verify.custom.phrases",
    "heedful.verify.custom.start_end",
    "heedful.verify.custom.formatting",
    "heedful.verify.custom.forms",
    "heedful.verify.custom.language",
    "heedful.verify.custom.json_format",
    "heedful.verify.custom.tools",
)
_PLUGINS = "heedful.verifiers"
_MOST_BINDINGS = 8192


@dataclass(frozen=True, slots=True)
class Finding:
    """A verifier's verdict.

    Attributes:
        met: whether the response meets the constraint.
        found: the reason in a few words, e.g. ``"412 words, asked for less than 400"``.
    """

    met: bool
    found: str


@dataclass(frozen=True, slots=True)
class _Verifier:
    """A registered function and how its constraint is worded."""

    id: str
    function: Callable[..., Finding | bool]
    wording: Wording
    decides_empty: bool = False


@dataclass(frozen=True, slots=True)
class _Binding:
    """A verifier with the arguments of one check, validated."""

    verifier: _Verifier
    arguments: dict[str, Any]


_registry: dict[str, _Verifier] = {}
_bindings: dict[tuple[str, str], _Binding] = {}


def verifier(
    id: str,  # noqa: A002 - what the data calls it
    *,
    describe: Wording = "",
    decides_empty: bool = False,
) -> Callable[[_F], _F]:
    """Register a function as the verifier of an id.

    Args:
        id: the id that checks name, e.g. ``length_constraints:number_words``.
        describe: the constraint in words: a template over the function's keyword arguments, see
            :func:`worded`, or a function that takes them; by default the first line of the
            function's docstring.
        decides_empty: whether it decides a response without text, which else meets no check.

    Returns:
        A decorator; the function itself is left as it is.

    Raises:
        VerifierError: another function has that id already.
    """

    def register(function: _F) -> _F:
        if function.__module__ not in _BUILT_IN:
            _load_built_in()
        taken = _registry.get(id)
        if taken is not None and origin(taken.function) != origin(function):
            raise VerifierError(
                f"the verifier id {id!r} is taken by {origin(taken.function)}",
                where=origin(function),
                hint="give it an id of its own",
            )
        summary = (function.__doc__ or id).partition("\n")[0]
        _registry[id] = _Verifier(id, function, describe or summary, decides_empty)
        _bindings.clear()
        return function

    return register


def known(id: str) -> bool:  # noqa: A002 - what the data calls it
    """Say whether a verifier has that id, built in, a plugin's, or the caller's own."""
    return _find(id) is not None


def arguments(id: str) -> dict[str, Any]:  # noqa: A002 - what the data calls it
    """Return the JSON schema of a verifier's arguments."""
    entry = _find(id)
    if entry is None:
        raise _unknown(id)
    return _arguments(entry.function).json_schema()


def describe(check: Check) -> str:
    """Describe a check in English, e.g. ``"Write at least 300 words."``."""
    binding = _bind(check)
    wording = binding.verifier.wording
    try:
        if callable(wording):
            return wording(**binding.arguments)
        return worded(wording, binding.arguments)
    except Exception as error:
        raise _broken(check, "cannot be worded", error) from error


_OPTIONAL = re.compile(r"\[([^\[\]]*\{(\w+)[^\[\]]*)\]")


def worded(wording: str, arguments: dict[str, Any]) -> str:
    """Fill a wording in; what is in brackets stands only where its argument is given.

    ``{bounds}`` are those of ``at_least`` and ``at_most``, beyond the usual "at least one".
    """
    numbers = arguments.get("at_least"), arguments.get("at_most")
    given = {name: value for name, value in arguments.items() if value}
    if numbers not in {(None, None), (1, None)}:
        given["bounds"] = bounds(*numbers)
    wording = _OPTIONAL.sub(lambda part: part[1] if part[2] in given else "", wording)
    return wording.format_map(
        {
            name: quoted(value) if isinstance(value, list) else value
            for name, value in (arguments | given).items()
        }
    )


def check(check: Check, response: Response) -> Finding:
    """Decide one check on one response, exactly as it stands (IFEval's strict reading).

    A response of nothing but white space meets no check, unless the verifier decides it.
    """
    binding = _bind(check)
    if response.empty and not binding.verifier.decides_empty:
        return Finding(met=False, found="the response is empty")
    fenced = "```" in response.text or "~~~" in response.text
    unfenced = response.unfenced if fenced and _is_of_content(check) else None
    if unfenced is None:
        return _run(check, binding, response)
    content, is_all = unfenced
    finding = _run(check, binding, content)
    open_ = not is_all or _is_of_fences(check)
    if open_ and finding.met is not _run(check, binding, response).met:
        raise UndecidedError("cannot be decided by code: it stands in a block of Markdown")
    return finding


def _is_of_content(check: Check) -> bool:
    """Whether a check is of what is written, as a reader sees it; of several, each is."""
    return check.id.startswith("heedful:") and "checks" not in check.args


_OF_FENCES = frozenset(
    {"code_blocks", "markdown_marks", "code_block", "code", "markdown", "plain_text"}
)


def _is_of_fences(check: Check) -> bool:
    """Whether it may matter to a check that the response is a block of Markdown."""
    values = {str(check.args.get(name)) for name in ("unit", "format")}
    return bool(
        check.id in {"heedful:json", "heedful:wrapped"}
        or values & _OF_FENCES
        or "`" in str(check.args)
    )


def _run(check: Check, binding: _Binding, response: Response) -> Finding:
    try:
        finding = binding.verifier.function(response, **binding.arguments)
    except VerifierError:
        raise
    except Exception as error:
        raise _broken(check, "failed on this response", error) from error
    if isinstance(finding, bool):  # of a user's own function, which has no more to say
        return Finding(met=finding, found="met" if finding else "not met")
    if not isinstance(finding, Finding):
        raise VerifierError(
            f"the verifier returned {reprlib.repr(finding)}, which is neither a Finding nor a bool",
            where=check.id,
            hint=f"fix {origin(binding.verifier.function)}",
        )
    return finding


def amount(number: int, noun: str) -> str:
    """Name a number of things."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def compare(number: int, relation: Relation, bound: int, noun: str) -> Finding:
    """Compare a count with its bound."""
    met = number < bound if relation == "less than" else number >= bound
    return Finding(met=met, found=f"{amount(number, noun)}, asked for {relation} {bound}")


def exactly(number: int, required: int, noun: str) -> Finding:
    """Compare a count with the required one."""
    return Finding(met=number == required, found=f"{amount(number, noun)}, asked for {required}")


def bounds(at_least: int | None, at_most: int | None) -> str:
    """Word a range of numbers."""
    if at_least is None and at_most is None:
        raise VerifierError("no bound is given", hint="give at_least, at_most or both")
    if at_least is None:
        return f"at most {at_most}"
    if at_most is None:
        return f"at least {at_least}"
    if at_least > at_most:
        raise VerifierError(f"at_least is {at_least} and at_most {at_most}", hint="swap them")
    return f"exactly {at_least}" if at_least == at_most else f"{at_least} to {at_most}"


def none(number: int, noun: str, which: str = "") -> Finding:
    """Require that there is none of something."""
    return Finding(met=not number, found=f"{amount(number, noun)}{which}, none allowed")


def unless(wrong: Iterable[str], problem: str, otherwise: str) -> Finding:
    """Require that nothing is wrong; of what is wrong, the first five are named, each once."""
    named = list(dict.fromkeys(wrong))[:5]
    return Finding(met=not named, found=f"{problem}: {quoted(named)}" if named else otherwise)


def quoted(words: Sequence[str]) -> str:
    """List words in quotes."""
    return ", ".join(f"'{word}'" for word in words)


# --- from an id and arguments to a function ready to call ---------------------------------------


def _bind(check: Check) -> _Binding:
    """Find the verifier and validate the arguments, once for all equal checks."""
    key = (check.id, repr(check.args))
    binding = _bindings.get(key)
    if binding is None:
        entry = _find(check.id)
        if entry is None:
            raise _unknown(check.id)
        binding = _Binding(entry, validated(entry.function, entry.id, check.args))
        if len(_bindings) >= _MOST_BINDINGS:
            _bindings.clear()
        _bindings[key] = binding
    return binding


def _find(id: str) -> _Verifier | None:  # noqa: A002 - what the data calls it
    """Look among the built-in verifiers first: plugins cost time to find."""
    for module in _BUILT_IN:
        if id in _registry:
            break
        # One by one, the most usual first: a short command needs few of them.
        importlib.import_module(module)
    if id not in _registry:
        _load_plugins()
    return _registry.get(id)


@functools.cache
def _load_built_in() -> None:
    for module in _BUILT_IN:
        importlib.import_module(module)


@functools.cache
def _load_plugins() -> tuple[str, ...]:
    """Import what the entry points name, once; return why some could not be imported."""
    failures = []
    for name in plugins.names(_PLUGINS):
        try:
            plugins.load(_PLUGINS, name)
        except UsageError as error:
            failures.append(str(error))
            plugins.warn(str(error))
    return tuple(failures)


def _unknown(id: str) -> VerifierError:  # noqa: A002 - what the data calls it
    import difflib

    near = difflib.get_close_matches(id, _registry, n=1)
    failures = _load_plugins()
    if failures:
        hint = f"it may belong to a plugin: {'; '.join(failures)}"
    elif near:
        hint = f"did you mean {near[0]}?"
    else:
        hint = f"register one with heedful.verify.verifier or the entry-point group {_PLUGINS}"
    return VerifierError(f"no verifier has the id {id!r}", hint=hint)


def _broken(check: Check, problem: str, error: Exception) -> VerifierError:
    return VerifierError(
        f"the check {problem}: {type(error).__name__}: {error}",
        where=check.id,
        hint="check its arguments; if they are right, report a bug in the verifier",
    )


# --- arguments, read from the signatures of verifiers ---------------------------------------------


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


class StrictAndLoose(NamedTuple):
    """Result of a check on a response: the strict finding and the loose verdict."""

    strict: Finding
    loose: bool


def _surely(requirement: Check, response: Response) -> bool:
    """Check whether a variant meets a check; one on which it is undecided does not."""
    try:
        return check(requirement, response).met
    except UndecidedError:
        return False


class Readings:
    """One response, prepared once for all the checks on it."""

    def __init__(
        self,
        text: str,
        *,
        seed: int | None = None,
        sample: str = "",
        calls: Sequence[Sequence[ToolCall]] | None = None,
    ) -> None:
        self._seed = None if seed is None else f"{seed}/{sample}"
        self._whole = Response(text, calls=calls)
        self._variants: list[Response] | None = None

    def read(self, requirement: Check, position: int = 0) -> StrictAndLoose:
        """Decide a check in both readings."""
        strict = self._decide(requirement, self._whole, f"{position}/strict")
        if self._seed is None:
            loose = strict.met or any(_surely(requirement, each) for each in self._others())
        else:
            # The published code takes one random number a reading, the same for all variants.
            loose = any(
                self._decide(requirement, each, f"{position}/loose").met
                for each in (self._whole, *self._others())
            )
        return StrictAndLoose(strict, loose)

    def _decide(self, requirement: Check, response: Response, place: str) -> Finding:
        if self._seed is not None:
            response.faithful = random.Random(f"{self._seed}/{place}")
        return check(requirement, response)

    def _others(self) -> list[Response]:
        """Make the variants that differ from the response, each text once."""
        if self._variants is None:
            text = self._whole.text
            # IFEval strips the shortened variants, and only those.
            lines = text.split("\n")
            shortened = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
            variants = (text, *shortened)
            texts = dict.fromkeys([*variants, *(each.replace("*", "") for each in variants)])
            others = [each for each in texts if each != text and each.strip()]
            self._variants = [Response(each, calls=self._whole.calls) for each in others]
        return self._variants
