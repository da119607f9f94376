"""Calls made by Ray actors, on this machine or on the nodes of a cluster.

The run's process prepares rows and keeps the store, the budget and the results, all as in a local
run. Only :meth:`Model.generate` happens in an actor, with its attempts, pauses and connections.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import pickle
import socket
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import count
from typing import TYPE_CHECKING, Any

from heedful.core.errors import HeedfulError, ModelError, StopRunError, UsageError
from heedful.core.log import logger
from heedful.core.machine import available_cores
from heedful.core.text import amount
from heedful.core.version import __version__
from heedful.models.attempts import METER, Meter
from heedful.models.limiter import AdaptiveLimiter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

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


FEWEST = 2
"""Workers at least."""

CALLS_PER_WORKER = 32
"""Calls in flight for which another worker is started, up to the cluster's CPUs."""

OBJECT_STORE = 100 * 2**20
"""Bytes of the object store on this machine; messages are small."""


REACHED_S = 10.0
"""Seconds in which a cluster's port must answer."""


@dataclass(eq=False)
class _PlacedCall:
    """A call that a worker is to make."""

    number: int
    message: tuple[Any, ...]
    model: int
    future: asyncio.Future[Completion]
    meter: Meter | None


@dataclass(eq=False)
class _RayWorker:
    """An actor, the calls that it makes, and the messages that it is about to be given."""

    actor: Any
    calls: dict[int, _PlacedCall] = field(default_factory=dict)
    models: set[int] = field(default_factory=set)
    outbox: list[tuple[Any, ...]] = field(default_factory=list)
    useful: bool = False


class RemoteModel:
    """Stands for a model whose calls are made by workers."""

    def __init__(self, model: Model, calls: RayCalls, number: int) -> None:
        """Stand for a model."""
        self.name = model.name
        self.config: Mapping[str, Any] = model.config
        self.adaptations: tuple[str, ...] = ()
        self._calls = calls
        self._number = number

    async def generate(
        self, messages: Sequence[Message], sampling: Sampling, *, sample: int = 0
    ) -> Completion:
        """Have a worker answer; see :meth:`Model.generate`."""
        return await self._calls.make(self._number, messages, sampling, sample)

    async def close(self) -> None:
        """Do nothing: the connections are the workers'."""


class RayCalls:
    """The workers of a run, and the calls that they make."""

    def __init__(self, start: Callable[[], Any], workers: int) -> None:
        """Start the workers."""
        self._start = start
        self._share = workers
        self._numbers = count()
        self._models: dict[int, RemoteModel] = {}  # by the model's id
        self._pickled: list[tuple[Model, bytes]] = []
        self._workers: list[_RayWorker] = []
        self._unassigned: list[_PlacedCall] = []  # before any worker is ready
        self._tasks: set[asyncio.Task[None]] = set()
        self._starting = 0
        self._reason = ""
        for _ in range(workers):
            self._add_worker()

    def place(self, model: Model) -> Model:
        """Return what stands for a model."""
        if id(model) not in self._models:
            try:
                pickled = pickle.dumps(model)
            except Exception as error:
                what = f"this model cannot be sent to Ray's workers: {error}"
                hint = "use --executor local, or serve the model and give its URL"
                raise UsageError(what, where=f"model {model.name}", hint=hint) from error
            self._models[id(model)] = RemoteModel(model, self, len(self._pickled))
            self._pickled.append((model, pickled))
        return self._models[id(model)]

    async def make(
        self, model: int, messages: Sequence[Message], sampling: Sampling, sample: int
    ) -> Completion:
        """Have a call made."""
        number = next(self._numbers)
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        message = ("call", number, model, tuple(messages), sampling, sample)
        self._assign(_PlacedCall(number, message, model, future, METER.get()))
        try:
            return await future
        except asyncio.CancelledError:
            for worker in self._workers:
                if worker.calls.pop(number, None):
                    self._send(worker, "cancel", number)
            raise

    async def close(self) -> None:
        """End the workers; calls that they still make are given up."""
        import ray

        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # Connections are closed in an orderly way where that takes no time.
        closing = [worker.actor.close.remote() for worker in self._workers]
        if closing:
            await asyncio.to_thread(ray.wait, closing, num_returns=len(closing), timeout=2.0)
        for worker in self._workers:
            ray.kill(worker.actor)

    def _add_worker(self) -> None:
        self._starting += 1
        self._spawn(self._listen(_RayWorker(self._start())))

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _assign(self, call: _PlacedCall) -> None:
        if call.future.done():
            return
        if not self._workers:
            if self._starting:
                self._unassigned.append(call)
            else:
                call.future.set_exception(_none_left(self._reason))
            return
        worker = min(self._workers, key=lambda worker: len(worker.calls))
        worker.calls[call.number] = call
        if call.model not in worker.models:
            worker.models.add(call.model)
            self._send(worker, "model", call.model, self._pickled[call.model][1], self._share)
        self._send(worker, *call.message)

    def _send(self, worker: _RayWorker, *message: object) -> None:
        worker.outbox.append(message)
        if len(worker.outbox) == 1:
            asyncio.get_running_loop().call_later(LINGER_S, self._flush, worker)

    def _flush(self, worker: _RayWorker) -> None:
        messages, worker.outbox = worker.outbox, []
        worker.actor.give.remote(messages)  # if it has died, _listen gets to know

    async def _listen(self, worker: _RayWorker) -> None:
        """Take events from a worker until it dies."""
        from ray.exceptions import RayError

        ready = False
        try:
            version = await worker.actor.version.remote()
            if version != __version__:
                what = f"Ray's workers have heedful {version}, this process has {__version__}"
                raise StopRunError(what, hint="install one version everywhere")  # noqa: TRY301
            self._starting, ready = self._starting - 1, True
            self._workers.append(worker)
            waiting, self._unassigned = self._unassigned, []
            for call in waiting:
                self._assign(call)
            while True:
                for kind, *rest in await worker.actor.take.remote():
                    getattr(self, f"_on_{kind}")(worker, *rest)
        except (RayError, StopRunError) as error:
            self._starting -= not ready
            self._lose(worker, error)

    def _lose(self, worker: _RayWorker, error: Exception) -> None:
        """Have others make the calls of a worker that has died."""
        import ray

        self._reason = _told(error)
        lost = f"{amount(len(worker.calls), 'call')} in flight, made again"
        logger.warning("a Ray worker is lost, with %s: %s", lost, self._reason)
        with suppress(Exception):  # unreachable rather than dead: it must not call any more
            ray.kill(worker.actor)
        if worker in self._workers:
            self._workers.remove(worker)
        if worker.useful:  # one that dies before it was of use would die again
            self._add_worker()
        for call in worker.calls.values():
            self._spawn(self._again(call))
        if not self._workers and not self._starting:
            for call in self._unassigned:
                self._assign(call)

    async def _again(self, call: _PlacedCall) -> None:
        """Make a call again, where that can be paid for."""
        try:
            if call.meter is not None:
                call.meter.lose()
                await call.meter.affordable()
        except HeedfulError as error:
            if not call.future.done():
                call.future.set_exception(error)
        else:
            self._assign(call)

    def _on_done(self, worker: _RayWorker, number: int, completion: Completion) -> None:
        worker.useful = True
        call = worker.calls.pop(number, None)
        if call is not None and not call.future.done():
            call.future.set_result(completion)

    def _on_failed(self, worker: _RayWorker, number: int, error: Exception) -> None:
        worker.useful = True
        call = worker.calls.pop(number, None)
        if call is not None and not call.future.done():
            call.future.set_exception(error)

    def _on_charge(self, worker: _RayWorker, number: int, model: str, usage: Usage) -> None:
        call = worker.calls.get(number)
        if call is not None and call.meter is not None:
            call.meter.charge(model, usage)

    def _on_affordable(self, worker: _RayWorker, number: int) -> None:
        self._spawn(self._allow(worker, number))

    async def _allow(self, worker: _RayWorker, number: int) -> None:
        """Give leave to make another attempt as soon as it can be paid for."""
        call = worker.calls.get(number)
        try:
            if call is not None and call.meter is not None:
                await call.meter.affordable()
        except HeedfulError as error:
            self._send(worker, "go", number, error)
        else:
            self._send(worker, "go", number, None)

    def _on_adapted(self, worker: _RayWorker, model: int, lines: tuple[str, ...]) -> None:
        del worker
        placed = self._models[id(self._pickled[model][0])]
        placed.adaptations = tuple({*placed.adaptations, *lines})

    def _on_log(self, worker: _RayWorker, level: int, message: str) -> None:
        del worker
        logger.log(level, "%s", message)


def _told(error: Exception) -> str:
    """Say why a worker was lost; Ray puts an actor's own error last, below a traceback."""
    lines = str(error).strip().splitlines()
    return lines[-1 if "Traceback" in str(error) or "creation task" in lines[0] else 0].strip()


def _none_left(reason: str) -> StopRunError:
    hint = "install the same heedful on every node, then re-run the same command to resume"
    return StopRunError(f"no Ray worker is left: {reason}", hint=hint)


@asynccontextmanager
async def ray_calls(concurrency: int) -> AsyncIterator[Callable[[Model], Model]]:
    """Make calls in Ray actors, which end with the context.

    The cluster is the one that ``RAY_ADDRESS`` names, or that this process is connected to; else
    one is started on this machine.
    """
    if find_spec("ray") is None:
        raise UsageError("--executor ray needs Ray", hint="pip install 'heedful[ray]'")
    import ray

    ours = not ray.is_initialized()
    if ours:
        _connect()
    try:
        cpus = int(ray.cluster_resources().get("CPU", 1))
        workers = max(FEWEST, min(cpus, math.ceil(concurrency / CALLS_PER_WORKER)))
        # On a cluster whose CPUs are taken, fractions find room; calls mostly wait.
        actor = ray.remote(CallWorker).options(
            num_cpus=min(1.0, cpus / workers), scheduling_strategy="SPREAD"
        )
        calls = RayCalls(lambda: actor.remote(logger.getEffectiveLevel()), workers)
        try:
            yield calls.place
        finally:
            await calls.close()
    finally:
        if ours:
            ray.shutdown()


def _connect() -> None:
    """Connect to a cluster, or start one."""
    import ray

    address = os.environ.get("RAY_ADDRESS")
    options: dict[str, Any] = {"logging_level": "error", "log_to_driver": False}
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # what we start sends nothing out
        options |= {"num_cpus": available_cores(FEWEST), "include_dashboard": False}
        options |= {"object_store_memory": OBJECT_STORE}
    try:
        _refuse_unreachable(address or "")
        ray.init(address=address or "local", **options)
    except (OSError, RuntimeError, ValueError) as error:
        what = f"Ray cannot be reached: {str(error).splitlines()[0]}"
        raise UsageError(what, where=f"RAY_ADDRESS {address or 'local'}") from error


def _refuse_unreachable(address: str) -> None:
    """Try a cluster's port: Ray itself fails later, below a screen of its own messages."""
    host, colon, port = address.rpartition("//")[2].rpartition(":")
    if colon and port.isdecimal():
        with socket.create_connection((host.strip("[]"), int(port)), REACHED_S):
            pass
