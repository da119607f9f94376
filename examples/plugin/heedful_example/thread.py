"""An executor: calls are made in a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from heedful import Message
    from heedful.models import Completion, Model, Sampling

__all__ = ["Elsewhere", "make"]


class Elsewhere:
    """Stands for a model whose calls are made in another loop."""

    def __init__(self, model: Model, loop: asyncio.AbstractEventLoop) -> None:
        self._model, self._loop = model, loop
        self.name, self.config = model.name, model.config

    async def generate(
        self, messages: Sequence[Message], sampling: Sampling, *, sample: int = 0
    ) -> Completion:
        """Answer; errors are those of the model."""
        call = self._model.generate(messages, sampling, sample=sample)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, self._loop))

    async def close(self) -> None:
        """Close the model's connections where they were opened."""
        call = asyncio.run_coroutine_threadsafe(self._model.close(), self._loop)
        await asyncio.wrap_future(call)


@asynccontextmanager
async def make(concurrency: int) -> AsyncIterator[Callable[[Model], Model]]:  # noqa: ARG001
    """Start the thread; what is given returns what is called in a model's place."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    places: dict[int, Elsewhere] = {}
    try:
        yield lambda model: places.setdefault(id(model), Elsewhere(model, loop))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
