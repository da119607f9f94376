"""A model in this process: no server, its answers generated in batches."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from heedful.core.errors import ModelError, UsageError
from heedful.models.folder import find_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import ThreadPoolExecutor

    from heedful.core.nouns import Message
    from heedful.models.base import Completion, Sampling
    from heedful.models.engine import Draft, Engine

GATHERING_S = 0.01
"""Seconds that a batch waits to fill: negligible next to generating."""

DTYPES = ("float32", "bfloat16", "float16")
"""Precisions of weights."""


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    """A call that waits for its answer."""

    messages: Sequence[Message]
    sampling: Sampling
    sample: int
    answer: asyncio.Future[Completion]

    @property
    def size(self) -> int:
        """Characters of the prompt."""
        return sum(len(message.content) for message in self.messages)


class LocalModel:
    """A model in this process, through transformers.

    Calls that wait at the same time are answered in batches, those of about the same length
    together; a thread of its own computes. A batch that does not fit into memory is halved, and so
    are those after it.

    Sample k of a prompt draws its own random numbers, given by seed, k and prompt, whatever else is
    in its batch. Padding changes scores in their last bits, so a batch of another shape can still
    turn a near tie: rarely in float32, more often in bfloat16. ``batch_size=1`` takes that away.
    """

    def __init__(
        self,
        folder: str,
        *,
        device: str | None = None,
        dtype: str | None = None,
        batch_size: int = 16,
    ) -> None:
        """Find the model; it is loaded at the first call and stays while this object does."""
        if find_spec("torch") is None or find_spec("transformers") is None:
            hint = "pip install 'heedful[local]'"
            raise UsageError(
                "a model in this process needs torch and transformers", where=folder, hint=hint
            )
        if dtype is not None and dtype not in DTYPES:
            raise UsageError(f"no such dtype: {dtype!r}", hint=f"one of {', '.join(DTYPES)}")
        if batch_size < 1:
            raise UsageError(f"the batch size is {batch_size}", hint="give at least 1")
        self._folder = find_folder(folder)
        self.name = self._folder.name
        self.protocol = self._folder.protocol
        self.batch_size = batch_size
        self._device = device
        self._dtype = dtype
        self._engine: Engine | None = None
        self._waiting: list[_Request] = []
        self._under_way: Sequence[_Request] = ()
        self._pump: asyncio.Task[None] | None = None
        self._thread: ThreadPoolExecutor | None = None

    def __repr__(self) -> str:
        """Show the name."""
        return f"LocalModel({self.name!r})"

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The name, the content of the folder and the precision: what answers depend on."""
        from heedful.models.engine import device_and_dtype

        _, dtype = device_and_dtype(self._device, self._dtype)
        known = {"model": self.name, "content": self._folder.digest, "dtype": dtype}
        temperature = self.protocol and self.protocol.temperature
        return known if temperature is None else {**known, "confidence_temperature": temperature}

    async def generate(
        self, messages: Sequence[Message], sampling: Sampling, *, sample: int = 0
    ) -> Completion:
        """Answer the messages, in a batch with other calls that wait.

        Temperature and top_p are the model's own where ``sampling`` has ``None``; its ``extra`` may
        hold ``chat_template_kwargs``.

        Raises:
            ModelError: the prompt does not fit into the context or memory, or its template
                refuses it.
            StopRunError: the model cannot be loaded, or cannot do what the sampling needs.
        """
        started = time.perf_counter()
        loop = asyncio.get_running_loop()
        request = _Request(messages, sampling, sample, loop.create_future())
        self._waiting.append(request)
        if self._pump is None or self._pump.done():
            self._pump = loop.create_task(self._answer_all())
        completion = await request.answer
        return completion.model_copy(update={"latency_s": time.perf_counter() - started})

    async def close(self) -> None:
        """Stop generating and end the thread; the weights stay for the next call."""
        for request in (*self._waiting, *self._under_way):
            request.answer.cancel()
        pump, self._pump = self._pump, None
        if pump is not None:
            await asyncio.wait([pump])
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown()
        if self._engine is not None:
            self._engine.free()

    async def _answer_all(self) -> None:
        """Take batches from those who wait, until none does."""
        from concurrent.futures import ThreadPoolExecutor

        loop = asyncio.get_running_loop()
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="heedful-model")
        while self._waiting:
            if len(self._waiting) < self.batch_size:
                await asyncio.sleep(GATHERING_S)
            self._under_way = batch = self._take()
            results = await loop.run_in_executor(self._thread, self._work, batch)
            self._under_way = ()
            for request, result in zip(batch, results, strict=True):
                if request.answer.done():  # its caller was cancelled
                    continue
                if isinstance(result, Exception):
                    request.answer.set_exception(result)
                else:
                    request.answer.set_result(result)

    def _take(self) -> list[_Request]:
        """Pick the request that has waited longest, and those closest to it in length."""
        waiting = [request for request in self._waiting if not request.answer.done()]
        size = waiting[0].size if waiting else 0
        nearest = sorted(waiting[1:], key=lambda request: abs(request.size - size))
        batch = [*waiting[:1], *nearest[: self.batch_size - 1]]
        taken = set(map(id, batch))
        self._waiting = [request for request in waiting if id(request) not in taken]
        return batch

    def _work(self, batch: Sequence[_Request]) -> Sequence[Completion | Exception]:
        """Answer a batch; this runs in the thread."""
        from heedful.models.engine import Engine

        results: dict[int, Completion | Exception] = {}
        drafts: dict[int, Draft] = {}
        try:
            if self._engine is None:
                self._engine = Engine.load(self._folder, self._device, self._dtype)
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            return [error] * len(batch)
        for place, request in enumerate(batch):
            try:
                drafts[place] = self._engine.draft(
                    request.messages, request.sampling, request.sample, request.answer.done
                )
            except Exception as error:  # noqa: BLE001 - as above
                results[place] = error
        answers = self._complete(self._engine, list(drafts.values()))
        results |= zip(drafts, answers, strict=True)
        return [results[place] for place in range(len(batch))]

    def _complete(
        self, engine: Engine, drafts: Sequence[Draft]
    ) -> Sequence[Completion | Exception]:
        """Write the answers, in smaller batches where memory asks for it."""
        if not drafts:
            return []
        try:
            return engine.complete(drafts)
        except MemoryError as error:
            what = str(error)
        except Exception as error:  # noqa: BLE001 - as above
            return [error] * len(drafts)
        # Out of the handler: the error holds on to the memory of the batch.
        if len(drafts) == 1:
            length = len(drafts[0].prompt)
            what = f"a prompt of {length:,} tokens does not fit into memory: {what}"
            return [ModelError(what, where=f"model {self.name}")]
        half = (len(drafts) + 1) // 2
        self.batch_size = min(self.batch_size, half)
        return [*self._complete(engine, drafts[:half]), *self._complete(engine, drafts[half:])]
