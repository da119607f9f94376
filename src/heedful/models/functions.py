"""Models that users have at hand: functions, pipelines of transformers, engines of vLLM."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from heedful.core.errors import ModelError, UsageError
from heedful.core.text import amount
from heedful.models.base import Completion, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heedful.core.nouns import Message
    from heedful.models.base import Model, Sampling

__all__ = ["identity"]

BATCH = 64
"""Prompts that are given to a pipeline or an engine at a time."""

GATHER_S = 0.005
"""How long a batch waits for prompts that come at the same time."""

MAX_TOKENS = 1024
"""Tokens that a pipeline may generate where the sampling doesn't say; its own default is 20."""


def as_model(given: object) -> Model:
    """Take what a user calls a model for one.

    Args:
        given: a model; an object with an async ``generate``; a function of the messages (a list of
            ``{"role", "content"}``) that returns the text, sync or async; a text-generation
            pipeline of transformers; or an ``LLM`` of vLLM.

    Raises:
        UsageError: it is something else.
    """
    if isinstance(given, type):
        raise UsageError(f"the model is the class {given.__name__}", hint="give an instance of it")
    if callable(getattr(given, "chat", None)) and hasattr(given, "llm_engine"):
        return BatchedModel(given, _vllm)
    if callable(given) and hasattr(given, "tokenizer") and hasattr(given, "task"):
        return BatchedModel(given, _pipeline)
    if callable(getattr(given, "generate", None)):
        complete = all(hasattr(given, name) for name in ("name", "config", "close"))
        return cast("Model", given) if complete else NamedModel(given)
    if callable(given):
        return FunctionModel(given)
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


class NamedModel:
    """A user's object with ``generate`` and without some of what a model has besides."""

    def __init__(self, given: Any) -> None:
        self._given = given
        self.name: str = getattr(given, "name", None) or identity(given)["name"]

    @property
    def config(self) -> Mapping[str, Any]:
        """Its name, unless it says more."""
        return getattr(self._given, "config", None) or {"model": self.name}

    async def generate(
        self, messages: Sequence[Message], sampling: Sampling, *, sample: int = 0
    ) -> Completion:
        """Answer as the object does; a plain text is a completion."""
        call = self._given.generate
        if "sample" in inspect.signature(call).parameters:
            call = partial(call, sample=sample)
        return await _answer(lambda: call(messages, sampling), self.name)

    async def close(self) -> None:
        """Close the object, if it can be closed."""
        close = getattr(self._given, "close", None)
        result = close() if callable(close) else None
        if inspect.isawaitable(result):
            await result


class FunctionModel:
    """A function of the messages that returns the text; one that isn't async runs in a thread."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.config: Mapping[str, Any] = {"model": identity(function)}
        self.name: str = self.config["model"]["name"]

    async def generate(
        self, messages: Sequence[Message], sampling: Sampling, *, sample: int = 0
    ) -> Completion:
        """Call the function; its exceptions are failures of this call alone."""
        del sampling, sample
        return await _answer(lambda: self._function(plain(messages)), self.name)

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


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


class BatchedModel:
    """A pipeline or an engine that is called with many prompts at once, from one thread."""

    def __init__(self, engine: Any, call: Callable[..., list[Completion]]) -> None:
        self._engine = engine
        self._call = call
        self._waiting: list[tuple[list[dict[str, str]], Sampling, asyncio.Future[Completion]]] = []
        self._working: asyncio.Task[None] | None = None
        model = getattr(engine, "model", None)
        config = getattr(model, "config", None) or getattr(engine, "llm_engine", None)
        where = getattr(config, "_name_or_path", None)
        if where is None and config is not None:
            where = getattr(getattr(config, "model_config", None), "model", None)
        self.name: str = str(where or type(engine).__name__)

    @property
    def config(self) -> Mapping[str, Any]:
        """Its name, and what runs it."""
        return {"model": self.name, "engine": type(self._engine).__name__}

    async def generate(
        self, messages: Sequence[Message], sampling: Sampling, *, sample: int = 0
    ) -> Completion:
        """Wait for the batch that holds these messages."""
        if sampling.seed is not None:
            sampling = sampling.model_copy(update={"seed": sampling.seed + sample})
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._waiting.append((plain(messages), sampling, future))
        if self._working is None:
            self._working = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(GATHER_S)
                sampling = self._waiting[0][1]
                batch = [each for each in self._waiting if each[1] == sampling][:BATCH]
                self._waiting = [each for each in self._waiting if each not in batch]
                try:
                    prompts = [each[0] for each in batch]
                    results = await asyncio.to_thread(self._call, self._engine, prompts, sampling)
                    if len(results) != len(batch):
                        what = f"gave {amount(len(results), 'answer')} to {len(batch)}"
                        raise ModelError(what, where=self.name)  # noqa: TRY301 - as any other
                except Exception as error:  # noqa: BLE001 - any of the engine's own
                    failure = ModelError(f"{type(error).__name__}: {error}", where=self.name)
                    for *_, future in batch:
                        if not future.cancelled():
                            future.set_exception(failure)
                    continue
                for (*_, future), result in zip(batch, results, strict=True):
                    if not future.cancelled():
                        future.set_result(result)
        finally:
            self._working = None

    async def close(self) -> None:
        """Leave the engine to its owner."""


def _pipeline(
    engine: Any, prompts: list[list[dict[str, str]]], sampling: Sampling
) -> list[Completion]:
    """Call a text-generation pipeline of transformers."""
    options: dict[str, Any] = {"max_new_tokens": sampling.max_tokens or MAX_TOKENS}
    if sampling.temperature:
        options |= {"do_sample": True, "temperature": sampling.temperature}
        options |= {} if sampling.top_p is None else {"top_p": sampling.top_p}
    else:
        options["do_sample"] = False
    results = engine(prompts, return_full_text=False, **options)
    return [Completion(text=each[0]["generated_text"]) for each in results]


def _vllm(engine: Any, prompts: list[list[dict[str, str]]], sampling: Sampling) -> list[Completion]:
    """Call an engine of vLLM."""
    from vllm import SamplingParams  # type: ignore[import-not-found]

    names = ("temperature", "top_p", "max_tokens", "seed")
    given = {name: getattr(sampling, name) for name in names}
    params = SamplingParams(
        **{"max_tokens": None} | {name: value for name, value in given.items() if value is not None}
    )
    results = engine.chat(prompts, sampling_params=params, use_tqdm=False)
    return [
        Completion(
            text=each.outputs[0].text,
            finish_reason=each.outputs[0].finish_reason,
            usage=Usage(
                prompt_tokens=len(each.prompt_token_ids or ()),
                completion_tokens=len(each.outputs[0].token_ids),
            ),
        )
        for each in results
    ]
