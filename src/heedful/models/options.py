"""Options of calls to models, the same for all that make them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from heedful.models.base import Sampling

__all__ = ["CONNECTION", "CallOptions", "flag", "sampling"]

OPENAI_URL = "https://api.openai.com/v1"
CONCURRENCY = 64
ABOVE_ZERO = ("max_concurrency", "rpm", "tpm", "timeout", "batch_size")

CONNECTION = (*ABOVE_ZERO, "base_url", "api_key", "api_key_env", "headers", "device", "dtype")
"""The options that say where and how fast, but not how an answer comes about."""


class CallOptions(TypedDict, total=False):
    """How models are called.

    Attributes:
        base_url: Where an OpenAI-compatible API answers, up to and without /chat/completions.
            Default: https://api.openai.com/v1.
        api_key: The key; better in the environment, where the shell's history does not keep it.
        api_key_env: The environment variable that holds the key. Default: OPENAI_API_KEY.
        headers: Extra HTTP headers, as NAME=VALUE.
        body: Extra fields of the request, as JSON.
        temperature: Default: 0, or 1 where several answers to a prompt are sampled.
        top_p: As the API has it.
        max_completion_tokens: Tokens an answer may have.
        max_concurrency: Calls in flight at most; the number adapts to what the server accepts.
            Default: 64.
        rpm: Calls per minute at most.
        tpm: Tokens per minute at most.
        timeout: Seconds that one call may take. Default: 600.
        device: The device of a model in this process. Default: a GPU where there is one.
        dtype: Its precision. Default: bfloat16 on a GPU, float32 on a CPU.
        batch_size: Prompts that a model in this process answers at a time. Default: 16.
    """

    base_url: str
    api_key: str | None
    api_key_env: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    temperature: float | None
    top_p: float | None
    max_completion_tokens: int | None
    max_concurrency: int
    rpm: int | None
    tpm: int | None
    timeout: float
    device: str | None
    dtype: Literal["float32", "bfloat16", "float16"] | None
    batch_size: int


def flag(name: str) -> str:
    """Write an option as the flag of the command line."""
    return f"--{name.replace('_', '-')}"


def sampling(default_temperature: float = 0.0, **options: Unpack[CallOptions]) -> Sampling:
    """Make the sampling settings."""
    from heedful.models.base import Sampling

    temperature = options.get("temperature")
    if temperature is not None and not 0 <= temperature < math.inf:
        raise UsageError(f"--temperature is {temperature}", hint="give 0 or more")
    tokens = options.get("max_completion_tokens")
    if tokens is not None and tokens < 1:
        raise UsageError(f"--max-completion-tokens is {tokens}", hint="give at least 1")
    return Sampling(
        temperature=default_temperature if temperature is None else temperature,
        top_p=options.get("top_p"),
        max_tokens=tokens,
        extra=dict(options.get("body", {})),
    )
