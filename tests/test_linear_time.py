"""No text stalls a verifier or a pattern: the time they take grows as its length does."""

import ast
import importlib
import inspect
import pkgutil
import random
import re
import typing
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from inspect import Parameter
from types import ModuleType
from typing import Any, Literal, NamedTuple

import pytest

import heedful
from adversarial import FLOOR_S, SIZE, cpu_s, excess, pairs, repeated, runs
from heedful.core.errors import HeedfulError
from heedful.core.nouns import Check
from heedful.models.redaction import Redactor
from heedful.verify import Response, base, check
from heedful.verify.base import _signature

Mode = Literal["search", "match", "fullmatch"]

# --- patterns -----------------------------------------------------------------------------------

_MODES: dict[str, Mode] = {
    "match": "match",
    "fullmatch": "fullmatch",
    **dict.fromkeys(("search", "findall", "finditer", "split", "sub", "subn"), "search"),
}


class Used(NamedTuple):
    """A pattern, its names, and how the package applies it."""

    pattern: re.Pattern[str]
    names: set[str]
    modes: set[Mode]


def _modules() -> Iterator[ModuleType]:
    for info in pkgutil.walk_packages(heedful.__path__, "heedful."):
        if not info.name.endswith("__main__"):
            with suppress(ImportError):  # of an extra that is not installed
                yield importlib.import_module(info.name)


def _patterns_in(value: object, depth: int = 3) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _patterns_in(each, depth - 1)
    elif depth and isinstance(value, dict):
        yield from _patterns_in([*value, *value.values()], depth - 1)
    elif depth and type(value).__module__.startswith("heedful."):
        yield from _patterns_in(list(getattr(value, "__dict__", {}).values()), depth - 1)


def _applied(module: ModuleType) -> dict[str, set[Mode]]:
    """Say for each name in a module by which methods it is used as a pattern."""
    modes: dict[str, set[Mode]] = defaultdict(set)
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id != "re"
            and node.attr in _MODES
            and node.attr != "split"  # it is a method of texts too
        ):
            modes[node.value.id].add(_MODES[node.attr])
    return modes


@cache
def used_patterns() -> list[Used]:
    """Collect the patterns that the package's modules hold, each once, with how it is applied.

    One that is in a list, or passed on, counts as applied in each way in which its module applies
    what is no pattern of its own; where it applies none, as searched for.
    """
    patterns: dict[tuple[str, int], Used] = {}
    for module in _modules():
        applied = _applied(module)
        own = {name for name, value in vars(module).items() if isinstance(value, re.Pattern)}
        others = {mode for name, modes in applied.items() if name not in own for mode in modes}
        others = others or {"search"}
        for name, value in vars(module).items():
            for pattern in _patterns_in(value):
                key = (pattern.pattern, pattern.flags)
                used = patterns.setdefault(key, Used(pattern, set(), set()))
                used.names.add(f"{module.__name__}.{name}")
                used.modes.update(applied.get(name, others))
    return list(patterns.values())


def _apply(pattern: re.Pattern[str], mode: Mode) -> Callable[[str], object]:
    if mode == "search":
        return lambda text: deque(pattern.finditer(text), 0)
    return pattern.match if mode == "match" else pattern.fullmatch


# --- verifiers ----------------------------------------------------------------------------------

_LIMIT_S = 3.0
"""Of CPU time, for a check: to tell the languages of a long text takes most of a second."""

_ARGUMENTS: dict[str, Any] = {
    "arguments": {"a": 1},
    "checks": [{"id": "heedful:count", "args": {"unit": "words", "at_least": 2}}],
    "language": "en",
    "letter": "a",
    "options": "yes/no",
    "schema": {"type": "object"},
    "which": 1,
}


_NEEDED = ("at_least", "columns")
"""These have no value by default, but a check without any of them asks for nothing."""


def _value(name: str, hint: Any) -> Any:
    """Make up a plausible argument of a type."""
    if name in _ARGUMENTS:
        return _ARGUMENTS[name]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return inner[0]
    if origin is list:
        return [_value("", inner[0])] * (2 if name == "marks" else 1)
    if inner:  # Annotated, or a union with None
        return _value(name, inner[0])
    return {int: 2, float: 50.0, bool: True, str: "a"}[hint]


def _choices(hint: Any) -> list[Any]:
    inner = typing.get_args(hint)
    if typing.get_origin(hint) is typing.Literal:
        return list(inner)
    return [choice for each in inner for choice in _choices(each)]


@cache
def all_checks() -> list[Check]:
    """Make checks of every verifier: with all arguments and with few, and of each named choice."""
    base.known("none of these")  # loads all, plugins too
    checks = {}
    for id_, registered in base._registry.items():  # noqa: SLF001 - it is open, nothing lists it
        hints = _signature(registered.function)
        args = {name: _value(name, hint) for name, (hint, _) in hints.items()}
        few = {
            name: args[name]
            for name, (_, default) in hints.items()
            if default is Parameter.empty or name in _NEEDED
        }
        variants = [args, few]
        for name, (hint, _) in hints.items():
            # A part is found in one way for all verifiers.
            if name != "part" or id_ in {"heedful:count", "heedful:starts_with"}:
                variants += [few | {name: choice} for choice in _choices(hint)]
        for variant in variants:
            checks[id_, repr(variant)] = Check(id=id_, args=variant)
    return list(checks.values())


def stalled(text: Callable[[int], str], *, faithful: bool) -> list[str]:
    """Name the checks that take too long on a text."""
    shared = Response(text(SIZE))

    def decide(response: Response, requirement: Check) -> None:
        response.faithful = random.Random(0) if faithful else None
        with suppress(HeedfulError):
            check(requirement, response)

    slow = []
    for requirement in all_checks():

        def afresh(text: str, requirement: Check = requirement) -> None:
            decide(Response(text), requirement)

        def at_first(_: str, requirement: Check = requirement) -> None:
            decide(shared, requirement)  # with what other checks have worked out of it already

        if cpu_s(at_first, shared.text, _LIMIT_S) >= FLOOR_S:
            ratio = excess(afresh, text, _LIMIT_S)
            if ratio:
                slow.append(f"{requirement.id} {requirement.args}: {ratio:.1f} times")
    return slow


# --- tests --------------------------------------------------------------------------------------

# What a policy that collapses writes, and what has stalled a verifier before.
USUAL = ("~", "*", "\n", "[", "a ", "\U0001f600", "字。", "**a** ")


@pytest.mark.slow
@pytest.mark.parametrize("piece", USUAL)
def test_a_pattern_takes_time_linear_in_the_text(piece: str) -> None:
    assert not _slow_patterns(repeated(piece))


@pytest.mark.slow
def test_a_pattern_takes_time_linear_in_signs_and_blank_lines() -> None:
    assert not _slow_patterns(dict(pairs())["'~', then '\\n'"])


@pytest.mark.slow
@pytest.mark.parametrize("piece", USUAL)
def test_a_check_takes_time_linear_in_the_response(piece: str) -> None:
    assert not stalled(repeated(piece), faithful=False)


@pytest.mark.slow
def test_a_check_takes_time_linear_in_signs_and_blank_lines() -> None:
    assert not stalled(dict(pairs())["'~', then '\\n'"], faithful=False)


@pytest.mark.exhaustive
@pytest.mark.parametrize("piece", runs())
def test_no_run_is_slow(piece: str) -> None:
    assert not _slow_patterns(repeated(piece))
    assert not stalled(repeated(piece), faithful=False)
    assert not stalled(repeated(piece), faithful=True)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("_name", "text"), list(pairs()))
def test_no_pair_is_slow(_name: str, text: Callable[[int], str]) -> None:
    assert not _slow_patterns(text)
    assert not stalled(text, faithful=False)


@pytest.mark.parametrize("piece", ["*", "a", "a*", "sk-***", "< >", "\n", "** "])
def test_redacting_an_error_page_takes_time_linear_in_its_length(piece: str) -> None:
    assert excess(Redactor(["sk-secret"]), repeated(piece)) is None


@pytest.mark.slow
def test_work_that_is_not_linear_is_found() -> None:
    quadratic = re.compile(r"\S*\*{3,}\S*")
    assert excess(_apply(quadratic, "search"), repeated("a"), 0.2) is not None
    assert excess(_apply(re.compile(r"\S+"), "search"), repeated("a")) is None


@pytest.mark.slow
def test_all_patterns_and_verifiers_are_found() -> None:
    names = {name for used in used_patterns() for name in used.names}
    assert {"heedful.verify.text.layout._MARKS", "heedful.models.redaction._MASKED"} <= names
    assert {requirement.id for requirement in all_checks()} == set(base._registry)  # noqa: SLF001
    for requirement in all_checks():
        base.describe(requirement)  # so that its arguments fit


def _slow_patterns(text: Callable[[int], str]) -> list[str]:
    slow = []
    for used in used_patterns():
        for mode in used.modes:
            ratio = excess(_apply(used.pattern, mode), text)
            if ratio:
                slow.append(f"{', '.join(sorted(used.names))} ({mode}): {ratio:.1f} times")
    return slow
