"""Flags made from the options types that commands call: each documented option is a flag.

A command that is decorated with :func:`takes` gets the options that were given as keywords, ready
to be handed on.
"""

from __future__ import annotations

import builtins
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ForwardRef,
    Literal,
    NamedTuple,
    Optional,
    TypedDict,
    TypeVar,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)

from cyclopts import Parameter
from docstring_parser import parse

from heedful.core.errors import UsageError
from heedful.engine.options import taken
from heedful.models.options import CallOptions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from heedful.models.base import Model, Sampling


C = TypeVar("C", bound=Callable[..., int])

# Flags of single commands that have the same names everywhere.
Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")]
Output = Annotated[Path | None, Parameter(name=["--output", "-o"])]
RequiredOutput = Annotated[Path, Parameter(name=["--output", "-o"])]
Format = Annotated[str | None, Parameter(name=["--format", "-f"])]
Switch = Annotated[bool, Parameter(negative="")]
Judge = Annotated[str | None, Parameter(name=["--judge", "-j"])]
Scoring = Literal["strict", "faithful"]
Reasoning = Literal["strip", "keep"]

NAMES = {
    "aggregate": ["--aggregate", "-a"],
    "api_key": ["--api-key", "-k"],
    "checks": ["--check"],
    "format": ["--format", "-f"],
    "headers": ["--header"],
    "log_file": ["--log-file", "--log_file"],
    "log_level": ["--log-level", "--log_level"],
    "max_completion_tokens": ["--max-completion-tokens", "--max_completion_tokens"],
    "max_concurrency": ["--max-concurrency", "--max_concurrency"],
    "model": ["--model", "-m"],
    "output": ["--output", "-o"],
    "port": ["--port", "-p"],
    "quiet": ["--quiet", "-q"],
    "task": ["--task", "-t"],
    "thresholds": ["--threshold"],
    "timeout_s": ["--grading-timeout"],
}
"""Flags that aren't just named like their option."""

TYPES: dict[str, Any] = {
    "body": str,
    "headers": list[str],
    "model": list[str],
    "prices": Path,
    "reasoning": Reasoning,
}
"""Types of flags whose option is more than a command line can hold."""

BOTH_WAYS = frozenset(
    {
        "balance",
        "charts",
        "explain",
        "gradient_checkpointing",
        "group_by_length",
        "keep_adapter",
        "lora_4bit",
        "measure",
        "share_prompts",
    }
)
"""Switches that can also be turned off."""


class FlagGroup(NamedTuple):
    """A panel of the help, and what its options are taken from: types, or functions.

    All documented options are flags, without some; or only those that are named.
    """

    title: str
    sources: tuple[Any, ...]
    without: Collection[str] = ()
    only: Collection[str] = ()

    def but(self, *names: str) -> FlagGroup:
        """Leave out options that a command doesn't have."""
        return self._replace(without={*self.without, *names})

    def has(self, name: str, documented: Collection[str]) -> bool:
        """Whether an option is a flag."""
        return name in (self.only or documented) and name not in self.without


def takes(*panels: FlagGroup, **texts: str) -> Callable[[C], C]:
    """Give a command the flags of panels.

    Its docstring may document options that their source doesn't; ``texts`` replaces what the help
    says of an option.
    """

    def decorate(command: C) -> C:
        said = _texts(command) | texts
        flags = {name: flag for panel in panels for name, flag in _flags(panel, said)}
        signature = inspect.signature(command)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        derived = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
            for name in flags.keys() - {each.name for each in own}
        ]
        derived.sort(key=lambda each: list(flags).index(each.name))

        @wraps(command)
        def run(*args: Any, **given: Any) -> int:
            return command(*args, **_settled(given, flags))

        run.__signature__ = signature.replace(parameters=[*own, *derived])  # type: ignore[attr-defined]
        run.__annotations__ = flags | command.__annotations__
        return run  # type: ignore[return-value]

    return decorate


def _flags(panel: FlagGroup, texts: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for source in panel.sources:
        documented = _texts(source) | dict(texts)
        for name, (hint, default) in _options(source).items():
            if not panel.has(name, documented):
                continue
            kind: Any = TYPES.get(name) or _kind(_resolved(hint, source.__module__))
            text = documented[name]
            shown = default if default or type(default) in (int, float) else None
            if shown is not None and "Default:" not in text:
                text += f" Default: {shown}."
            flag = Parameter(
                name=NAMES.get(name), help=text, negative=None if name in BOTH_WAYS else ""
            )
            group = (Parameter(group=panel.title),) if panel.title else ()
            yield name, Annotated[Optional[kind], flag, *group]  # noqa: UP045 - a value


def _texts(source: Any) -> dict[str, str]:
    """Read what the docstrings of a type and those it inherits from say of each option."""
    texts: dict[str, str] = {}
    for each in reversed(inspect.getmro(source)) if inspect.isclass(source) else [source]:
        described = parse(inspect.cleandoc(vars(each).get("__doc__") or each.__doc__ or "")).params
        texts |= {one.arg_name: " ".join((one.description or "").split()) for one in described}
    return texts


def _options(source: Any) -> dict[str, tuple[Any, Any]]:
    """List the annotation and the default of each option."""
    if is_typeddict(source):
        return {name: (hint, None) for name, hint in source.__annotations__.items()}
    empty = inspect.Parameter.empty
    return {
        name: (each.annotation, None if each.default is empty else each.default)
        for name, each in inspect.signature(source).parameters.items()
    }


class _Names(dict[str, Any]):
    """The names in a module; one that only type checkers know stands for any value."""

    def __missing__(self, name: str) -> Any:
        return Any


def _resolved(hint: Any, module: str) -> Any:
    """Evaluate an annotation where it was written."""
    if isinstance(hint, ForwardRef):
        return _resolved(hint.__forward_arg__, hint.__forward_module__ or module)
    if not isinstance(hint, str):
        return hint
    known = {"os": os, "Path": Path, "Sequence": Sequence, "Mapping": Mapping}
    names = _Names({**vars(builtins), **known, **vars(sys.modules[module])})
    return eval(hint, {}, names)  # noqa: S307 - an annotation of ours


def _kind(hint: Any) -> Any:
    """Choose what a flag takes in the place of an option's type."""
    parts = [part for part in get_args(hint) if part is not NoneType]
    if get_origin(hint) not in (Union, UnionType):
        parts = [hint]
    if any(get_origin(part) is os.PathLike for part in parts):
        return Path
    (kind, *_) = parts
    if get_origin(kind) in (Sequence, tuple):
        return list[_kind(get_args(kind)[0])]  # type: ignore[misc]
    return str if kind is Any else kind


def _settled(given: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """Make options of flags: those that were given, in the form in which Python takes them."""
    options = {
        name: value for name, value in given.items() if value is not None or name not in flags
    }
    if "headers" in options:
        options["headers"] = dict(map(_pair, options["headers"]))
    if "body" in options:
        options["body"] = _object(options["body"])
    columns = options.pop("map", None)
    if columns is not None:
        if "format" in options:
            raise UsageError("--map and --format are both given", hint="leave out --format")
        options["format"] = f"map:{columns}"
    return options


def listed(words: str) -> list[str]:
    """Take words apart at their commas."""
    return [word.strip() for word in words.split(",") if word.strip()]


def _pair(header: str) -> tuple[str, str]:
    name, equals, value = header.partition("=")
    if not equals or not name.strip():
        # The value may be a secret, so it is not repeated.
        hint = "write --header NAME=VALUE"
        raise UsageError(f"--header {name.strip()!r} has no value", hint=hint)
    return name.strip(), value


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"--body is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError("--body isn't a JSON object", hint='write for example {"top_k": 20}')
    return value


class ModelOptions(TypedDict, total=False):
    """The models that are called.

    Attributes:
        model: A name at --base-url, a FOLDER or local:NAME in this process, any:PROVIDER/NAME, or
            PLUGIN:NAME.
    """

    model: Sequence[str]


MODEL = FlagGroup("Model", (ModelOptions, CallOptions))


def connected(
    options: dict[str, Any], names: Sequence[str], *, temperature: float = 0.0
) -> tuple[list[Model], Sampling]:
    """Connect to models, which share one limit on calls in flight; and say how they answer."""
    from heedful.models.named import connect
    from heedful.models.options import CONCURRENCY, sampling

    calls = taken(options, CallOptions)
    options["concurrency"] = calls.get("max_concurrency", CONCURRENCY)
    return connect(names, **calls), sampling(temperature, **calls)


def the_model(options: dict[str, Any]) -> str:
    """Take the name of the one model of a command."""
    names = options.pop("model", [])
    if len(names) != 1:
        what = f"{len(names)} models are given, but only one is used"
        raise UsageError(what if names else "no model is given", hint="name one with --model")
    return str(names[0])
