"""The flags of models and of how they are called, once for all commands that call one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from cyclopts import Parameter

from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heedful.models.base import Model, Sampling
    from heedful.models.options import CallOptions

Names = Annotated[list[str], Parameter(negative="", name=["--model", "-m"])]


@dataclass(frozen=True, kw_only=True)
class ConnectionFlags:
    """The models that are called, and their address.

    Attributes:
        model: A name at --base-url, a FOLDER or local:NAME in this process, any:PROVIDER/NAME, or
            PLUGIN:NAME.
        base_url: Where an OpenAI-compatible API answers, up to and without /chat/completions.
        api_key: The key; better in the environment, where the shell's history does not keep it.
        api_key_env: The environment variable that holds the key.
        header: Extra HTTP headers, as NAME=VALUE.
        body: Extra fields of the request, as JSON.
    """

    # Spelled out, as a subclass's annotations are evaluated in the module of the subclass.
    model: Annotated[list[str], Parameter(negative="", name=["--model", "-m"])] = field(
        default_factory=list
    )
    base_url: str = "https://api.openai.com/v1"
    api_key: Annotated[str | None, Parameter(name=["--api-key", "-k"])] = None
    api_key_env: str = "OPENAI_API_KEY"
    header: Annotated[list[str], Parameter(negative="")] = field(default_factory=list)
    body: str | None = None


@dataclass(frozen=True, kw_only=True)
class CallFlags(ConnectionFlags):
    """How answers are sampled, and how many calls are made at a time.

    Attributes:
        temperature: Default: 0, or 1 where several answers to a prompt are sampled.
        top_p: As the API has it.
        max_completion_tokens: Tokens an answer may have.
        max_concurrency: Calls in flight at most; the number adapts to what the server accepts.
        rpm: Calls per minute at most.
        tpm: Tokens per minute at most.
        timeout: Seconds that one call may take.
        device: The device of a model in this process. Default: a GPU where there is one.
        dtype: Its precision. Default: bfloat16 on a GPU, float32 on a CPU.
        batch_size: Prompts that a model in this process answers at a time.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_completion_tokens: Annotated[
        int | None, Parameter(name=["--max-completion-tokens", "--max_completion_tokens"])
    ] = None
    max_concurrency: Annotated[int, Parameter(name=["--max-concurrency", "--max_concurrency"])] = 64
    rpm: int | None = None
    tpm: int | None = None
    timeout: float = 600.0
    device: str | None = None
    dtype: Literal["float32", "bfloat16", "float16"] | None = None
    batch_size: int = 16


def options(calls: CallFlags) -> CallOptions:
    """Return the options of calls that the flags give, without those that have their defaults."""
    from heedful.models.options import CallOptions

    given = given_flags(calls, CallOptions.__annotations__)
    if calls.header:
        given["headers"] = dict(_pair(header) for header in calls.header)
    if calls.body is not None:
        given["body"] = _object("--body", calls.body)
    return cast("CallOptions", given)


def given_flags(flags: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the flags that don't have their defaults, of some names."""
    default = type(flags)()
    values = ((name, getattr(flags, name, None)) for name in names)
    return {name: value for name, value in values if value != getattr(default, name, None)}


def sampling(calls: CallFlags, temperature: float = 0.0) -> Sampling:
    """Make the sampling settings."""
    from heedful.models.options import sampling as make

    return make(temperature, **options(calls))


def connect(calls: CallFlags) -> list[Model]:
    """Connect to the models, which share one limit on calls in flight."""
    from heedful.models.named import connect as connect_models

    return connect_models(calls.model, **options(calls))


def connect_one(calls: CallFlags) -> Model:
    """Connect to the one model of a command."""
    if len(calls.model) != 1:
        number = len(calls.model)
        what = f"{number} models are given, but only one is used" if number else "no model is given"
        raise UsageError(what, hint="name one with --model")
    (model,) = connect(calls)
    return model


def _pair(header: str) -> tuple[str, str]:
    name, equals, value = header.partition("=")
    if not equals or not name.strip():
        # The value may be a secret, so it is not repeated.
        raise UsageError(
            f"--header {name.strip()!r} has no value", hint="write --header NAME=VALUE"
        )
    return name.strip(), value


def _object(flag: str, text: str | None) -> dict[str, Any]:
    """Read a flag that holds a JSON object."""
    try:
        value = {} if text is None else json.loads(text)
    except ValueError as error:
        raise UsageError(f"{flag} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f"{flag} isn't a JSON object", hint='write for example {"top_k": 20}')
    return value
