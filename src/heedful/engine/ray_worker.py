"""A Ray actor that makes calls to models for a run, which keeps the store.

The run's process gives it messages and takes what came of them, both many at a time: a message to
an actor costs as much as rendering a prompt.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
from typing import TYPE_CHECKING, Any

from heedful.core.errors import HeedfulError, ModelError
from heedful.core.log import logger
from heedful.core.version import __version__
from heedful.models.limiter import AdaptiveLimiter
from heedful.models.metering import METER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Message
    from heedful.models.base import Completion, Model, Sampling, Usage

LINGER_S = 0.002
"""Seconds that messages wait for others to travel with."""


class CallWorker:
    """Makes calls; every message begins with its kind, and most with the number of their call."""

    def __init__(self, level: int) -> None:
        """Begin without models."""
        self._models: dict[int, asyncio.Future[Model]] = {}
        self._adaptations: dict[int, tuple[str, ...]] = {}
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._leave: dict[int, asyncio.Future[None]] = {}  # to make another attempt
        self._events: list[tuple[Any, ...]] = []
        self._news = asyncio.Event()
        logger.setLevel(level)
        logger.addHandler(_Forward(self.report))

    async def version(self) -> str:
        """Return the version of heedful that is installed here."""
        return __version__

    async def give(self, messages: Sequence[tuple[Any, ...]]) -> None:
        """Take messages, which may overtake each other."""
        for kind, *rest in messages:
            getattr(self, f"_on_{kind}")(*rest)

    async def take(self) -> list[tuple[Any, ...]]:
        """Wait for something to report, and return all there is."""
        await self._news.wait()
        await asyncio.sleep(LINGER_S)
        self._news.clear()
        events, self._events = self._events, []
        return events

    async def close(self) -> None:
        """Give up what is under way and close connections."""
        for call in self._calls.values():
            call.cancel()
        models = [model.result() for model in self._models.values() if model.done()]
        await asyncio.gather(*(model.close() for model in models))

    def report(self, *event: object) -> None:
        """Have an event taken."""
        self._events.append(event)
        self._news.set()

    def _model(self, number: int) -> asyncio.Future[Model]:
        if number not in self._models:
            self._models[number] = asyncio.get_running_loop().create_future()
        return self._models[number]

    def _on_model(self, number: int, pickled: bytes, share: int) -> None:
        model = pickle.loads(pickled)  # noqa: S301 - from the run's own process
        AdaptiveLimiter.divide_all(share)
        self._model(number).set_result(model)

    def _on_call(
        self,
        call: int,
        model: int,
        messages: Sequence[Message],
        sampling: Sampling,
        sample: int,
    ) -> None:
        self._calls[call] = asyncio.create_task(self._make(call, model, messages, sampling, sample))

    def _on_cancel(self, call: int) -> None:
        if call in self._calls:
            self._calls[call].cancel()

    def _on_go(self, call: int, error: HeedfulError | None) -> None:
        leave = self._leave.pop(call, None)
        if leave is None or leave.done():
            return
        if error is None:
            leave.set_result(None)
        else:
            leave.set_exception(error)

    async def affordable(self, call: int) -> None:
        """Ask the run's process for leave to make another attempt."""
        leave = self._leave[call] = asyncio.get_running_loop().create_future()
        self.report("affordable", call)
        await leave

    async def _make(
        self,
        call: int,
        number: int,
        messages: Sequence[Message],
        sampling: Sampling,
        sample: int,
    ) -> None:
        METER.set(_CallMeter(self, call))
        try:
            model = await self._model(number)
            completion: Completion = await model.generate(messages, sampling, sample=sample)
        except Exception as error:  # noqa: BLE001 - whatever it is belongs to the run's process
            event: tuple[Any, ...] = ("failed", call, _sendable(error))
        else:
            event = ("done", call, completion)
            adaptations = getattr(model, "adaptations", ())
            if adaptations != self._adaptations.get(number, ()):
                self._adaptations[number] = adaptations
                self.report("adapted", number, adaptations)
        finally:
            del self._calls[call]
        self.report(*event)


class _CallMeter:
    """Passes what a call is billed to the run's process."""

    def __init__(self, worker: CallWorker, call: int) -> None:
        self._worker = worker
        self._call = call

    def charge(self, model: str, usage: Usage) -> None:
        """Report a reply without an answer."""
        self._worker.report("charge", self._call, model, usage)

    def lose(self) -> None:
        """Do nothing: what is lost with this process is known where the run is."""

    async def affordable(self) -> None:
        """Wait for leave to make another attempt."""
        await self._worker.affordable(self._call)


class _Forward(logging.Handler):
    """Hands log records to the run's process."""

    def __init__(self, report: Any) -> None:
        super().__init__()
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        self._report("log", record.levelno, record.getMessage())


def _sendable(error: Exception) -> Exception:
    """Return an error that another process can read."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:  # noqa: BLE001 - whatever a plugin raises
        return ModelError(f"{type(error).__name__}: {error}")
    return error
