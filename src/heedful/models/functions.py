"""Models that users have at hand: functions, and objects with ``generate``."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from heedful.core.errors import ModelError, UsageError
from heedful.models.base import Completion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heedful.core.nouns import Message
    from heedful.models.base import Model, Sampling

__all__ = ["identity"]


def as_model(given: object) -> Model:
    """Take what a user calls a model for one.

    Args:
        given: a model; an object with an async ``generate``; a function of the messages (a list of
            ``{"role", "content"}``) that returns the text, sync or async.

    Raises:
        UsageError: it is something else.
    """
    if isinstance(given, type):
        raise UsageError(f"the model is the class {given.__name__}", hint="give an instance of it")
    generate = getattr(given, "generate", None)
    if callable(generate) and all(hasattr(given, name) for name in ("name", "config", "close")):
        return cast("Model", given)
    if callable(generate) or callable(given):
        return OwnModel(given, generate)
    raise UsageError(
        f"the model is {given!r:.80}",
        hint="give a name, a model, or a function of the messages that returns the text",
    )


def identity(given: Any) -> dict[str, Any]:
    """Identify a user's function or object for a run's configuration.

    A function is identified by its name and code: another function under the same name is not
    taken for it when a run is resumed.
    """
    name = getattr(given, "__qualname__", type(given).__qualname__).rpartition("<locals>.")[2]
    code = getattr(given, "__code__", None)
    if code is None:
        return {"name": name}
    content = code.co_code + repr((code.co_names, _constants(code.co_consts))).encode()
    return {"name": name, "code": hashlib.blake2b(content, digest_size=8).hexdigest()}


def _constants(values: Sequence[Any]) -> list[str]:
    """Write constants without the addresses of inner functions."""
    return [value.co_name if inspect.iscode(value) else repr(value) for value in values]


def plain(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Write messages as chat APIs do."""
    return [{"role": each.role, "content": each.content} for each in messages]


class OwnModel:
    """A user's function of the messages, or object with ``generate`` and without all of the rest.

    What isn't async runs in a thread; an exception is the failure of this call alone.
    """

    def __init__(self, given: Any, generate: Callable[..., Any] | None) -> None:
        self._given = given
        self._generate = generate
        identified = identity(given)
        self.name: str = getattr(given, "name", None) or identified["name"]
        default = {"model": identified if generate is None else self.name}
        self.config: Mapping[str, Any] = getattr(given, "config", None) or default

    async def generate(
        self, messages: Sequence[Message], sampling: Sampling, *, sample: int = 0
    ) -> Completion:
        """Answer as it does; a plain text is a completion."""
        call = self._generate
        if call is None:
            return await _answer(lambda: self._given(plain(messages)), self.name)
        if "sample" in inspect.signature(call).parameters:
            call = partial(call, sample=sample)
        return await _answer(lambda: call(messages, sampling), self.name)

    async def close(self) -> None:
        """Close the object, if it can be closed."""
        close = getattr(self._given, "close", None)
        result = close() if callable(close) else None
        if inspect.isawaitable(result):
            await result


async def _answer(call: Callable[[], Any], name: str) -> Completion:
    try:
        result = await asyncio.to_thread(call)
        if inspect.isawaitable(result):
            result = await result
    except Exception as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{type(error).__name__}: {error}", where=name) from error
    if isinstance(result, Completion):
        return result
    if not isinstance(result, str):
        raise ModelError(f"returned {result!r:.60}, not text", where=name)
    return Completion(text=result, finish_reason="stop", model=name)
