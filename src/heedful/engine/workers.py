"""Work on rows in several processes, with one writer of the store.

The run's own process reads the input, writes the store and counts results; workers render prompts,
call models and parse replies. Store, cache, budget and results are those of a local run: a call is
made once, whichever worker needs it, and no attempt begins before the run's process has room for
its cost. How workers start and how messages travel is up to the executor: :mod:`processes
<heedful.engine.processes>` on this machine, :mod:`Ray <heedful.engine.ray_workers>` on a cluster.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from heedful.core.errors import HeedfulError, ModelError, RowError, StopRunError
from heedful.core.log import logger
from heedful.core.text import amount
from heedful.engine.budget import Quote
from heedful.engine.call_cache import cache_calls
from heedful.engine.fan_out import first_ahead
from heedful.engine.runner import READ_AHEAD, failure_of
from heedful.engine.schema import LOST, UsageRecord
from heedful.models.base import Completion, Usage
from heedful.models.limiter import AdaptiveLimiter

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from contextlib import AbstractAsyncContextManager
    from typing import Self

    from heedful.engine.budget import Budget
    from heedful.engine.store import Store

__all__: list[str] = []

LINE_LIMIT = 2**30
"""Bytes of the longest message; rows may be long."""

TOGETHER = 48
"""Messages that are written, or read, before the other side gets to work: more at a time would
have the processes wait for each other."""

FEWEST = 2
"""Workers at least, on machines with fewer cores too."""


class SentWork(Protocol):
    """A job, as far as its rows can be worked on in another process."""

    def encode(self, row: Any) -> str: ...
    def decode(self, text: str) -> Any: ...
    async def work(self, row: Any) -> str: ...
    def resources(self, *, dry: bool) -> AbstractAsyncContextManager[None]: ...


class Writer(Protocol):
    """The way to the other side."""

    def write(self, data: bytes, /) -> None: ...
    def is_closing(self) -> bool: ...
    def close(self) -> None: ...


class Outbox:
    """Messages to the other side; those of one turn of the event loop are written together."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._messages: list[bytes] = []

    def send(self, *message: object) -> None:
        """Send a message, a list of JSON on a line."""
        if not self._messages:
            asyncio.get_running_loop().call_soon(self.flush)
        self._messages.append(to_line(message))
        if len(self._messages) >= TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        messages, self._messages = self._messages, []
        if messages and not self._writer.is_closing():  # the other side may have ended
            self._writer.write(b"".join(messages))

    def close(self) -> None:
        """Write what waits, and close the connection."""
        self.flush()
        self._writer.close()


def to_line(message: Sequence[object]) -> bytes:
    """Write a message."""
    try:
        return to_json(message) + b"\n"
    except PydanticSerializationError:  # half a surrogate pair in the words of an error
        return json.dumps(message).encode() + b"\n"


def received(line: bytes) -> list[Any]:
    """Read a message."""
    try:
        message: list[Any] = from_json(line)
    except ValueError:  # half a surrogate pair
        message = json.loads(line)
    return message


# --- in a worker --------------------------------------------------------------------------------


class Assignment(NamedTuple):
    """The part of a run that a worker knows; the rows come one by one."""

    job: SentWork
    retries: int
    workers: int  # how many share the limits
    concurrency: int
    limited: bool  # whether there is a budget


class RemoteStore:
    """Takes the place of the store in a worker: everything goes to the run's process."""

    def __init__(self, outbox: Outbox) -> None:
        self.send = outbox.send
        self._replies: dict[str, asyncio.Future[list[Any]]] = {}

    def reply(self, key: str, *message: object) -> None:
        """Take the reply to a question."""
        self._replies.pop(key).set_result(list(message))

    async def ask(self, kind: str, key: str, *message: object) -> list[Any]:
        """Send a message that has a reply, and wait for it."""
        future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._replies[key] = future
        self.send(kind, key, *message)
        return await future

    def call(self, key: bytes) -> str | None:
        """Hold no answers: :meth:`claim` asks for them."""
        del key
        return None

    async def claim(self, key: bytes, caller: str, requested: str) -> Completion | None:
        """Return an answer that is stored or that another worker gets; ``None``: get it here."""
        kind, text = await self.ask("claim", key.hex(), caller, requested)
        if kind == "failed":
            raise ModelError(text)
        if kind == "call":
            return None
        return Completion.model_validate_json(text).model_copy(update={"attempts": 0})

    def unclaim(self, key: bytes, reason: str | None) -> None:
        """Say that there will be no answer, or that another worker may make the call."""
        self.send("unclaim", key.hex(), reason)

    def add_call(self, key: bytes, value: str, usage: UsageRecord) -> None:
        """Report an answer."""
        self.send("call", key.hex(), value, usage)

    def add_usage(self, usage: UsageRecord) -> None:
        """Report the usage of a call."""
        self.send("usage", usage)

    def flush_soon(self) -> None:
        """Do nothing: the run's process commits."""

    def meta(self, key: str) -> Any:
        """Know nothing that is stored."""
        del key

    def set_meta(self, key: str, value: Any) -> None:
        """Report a value to be stored."""
        self.send("meta", key, value)


class RemoteBudget:
    """Takes the place of the budget in a worker; see :class:`heedful.engine.budget.Budget`."""

    def __init__(self, store: RemoteStore) -> None:
        self._store = store
        self._numbers = count()

    async def reserve(self, quote: Quote) -> float:
        """Wait until a call fits; return the dollars set aside for it."""
        kind, *reply = await self._store.ask("reserve", f"budget {next(self._numbers)}", quote)
        if kind == "stop":
            what, where, hint = reply
            raise StopRunError(what, where=where, hint=hint)
        return float(reply[0])

    def release(self, reserved: float) -> None:
        """Give back what was set aside for a call that is over."""
        self._store.send("release", reserved)

    def pay(self, quote: Quote, model: str, usage: Usage, counted: bool) -> None:  # noqa: FBT001
        """Count what an attempt cost."""
        self._store.send("pay", quote, model, usage, counted)


async def serve(assignment: Assignment, reader: asyncio.StreamReader, writer: Writer) -> None:
    """Work on the rows that come until there are no more."""
    job, retries, workers, concurrency, limited = assignment
    AdaptiveLimiter.divide_all(workers)
    outbox = Outbox(writer)
    remote = RemoteStore(outbox)
    budget = RemoteBudget(remote) if limited else None
    tasks: set[asyncio.Task[None]] = set()
    with first_ahead(max(1, concurrency // workers)):
        async with cache_calls(remote, retries=retries, budget=budget), job.resources(dry=False):
            while line := await reader.readline():
                kind, key, *rest = received(line)
                if kind == "end":
                    break
                if kind != "row":
                    remote.reply(key, kind, *rest)
                    continue
                task = asyncio.create_task(_work(job, remote, key, rest[0]))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
    remote.send("bye")
    outbox.flush()


async def _work(job: SentWork, remote: RemoteStore, number: int, text: str) -> None:
    try:
        output = await job.work(job.decode(text))
    except StopRunError as error:
        remote.send("stop", number, error.what, error.where, error.hint)
    except Exception as error:  # noqa: BLE001 - one row's defect must not end the run
        remote.send("done", number, None, failure_of(error), isinstance(error, RowError))
    else:
        remote.send("done", number, output, None, False)  # noqa: FBT003 - a message


# --- in the run's own process -------------------------------------------------------------------


class RowFailureError(HeedfulError):
    """The reason of a row that failed in another process, in the same words."""


@dataclass(eq=False)
class Worker:
    """A process that works on rows, and what it has in hand."""

    reader: asyncio.StreamReader
    outbox: Outbox
    kill: Callable[[], None]
    rows: dict[int, tuple[str, asyncio.Future[str]]] = field(default_factory=dict)
    claims: dict[str, UsageRecord] = field(default_factory=dict)
    reserved: list[float] = field(default_factory=list)
    useful: bool = False  # whether it has finished any row
    dead: bool = False


class Workers(ABC):
    """The workers of a run; they end with the context."""

    def __init__(
        self, job: SentWork, store: Store, budget: Budget | None, concurrency: int
    ) -> None:
        self.job = job
        self._store = store
        self._limited = budget is not None
        self._budget = cast("Budget", budget)  # of use only where there is one
        self.concurrency = concurrency
        self.starting = 0  # workers that are being started
        self._workers: list[Worker] = []
        self._waiting: dict[str, list[Worker]] = {}  # by the call that another one makes
        self._unassigned: list[tuple[int, str, asyncio.Future[str]]] = []  # until one has started
        self._numbers = count(1)
        self._encoded: dict[int, tuple[Any, str]] = {}  # rows about to be worked on, by their id()
        self._listening: list[asyncio.Task[None]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @abstractmethod
    async def start(self) -> None:
        """Start the workers."""

    def replace(self, lost: Worker) -> None:
        """Start another worker where one has died, if the executor does."""
        del lost

    @abstractmethod
    def none_left(self) -> StopRunError:
        """Say that nobody is left to work on rows."""

    async def __aenter__(self) -> Self:
        """Start the workers."""
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *about: object) -> None:
        """End them."""
        await self.stop()

    def assignment(self, workers: int) -> Assignment:
        """Say what each of some workers is to know."""
        retries = self._store.meta("retries") or 0
        return Assignment(self.job, retries, workers, self.concurrency, self._limited)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something until the end."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def add(self, worker: Worker) -> None:
        """Give work to a worker that has started."""
        self._workers.append(worker)
        self._listening.append(asyncio.create_task(self._listen(worker)))
        self.assign_waiting()

    def assign_waiting(self) -> None:
        """Assign the rows that came before there was a worker."""
        waiting, self._unassigned = self._unassigned, []
        for row in waiting:
            self._assign(*row)

    def encode(self, row: Any) -> str:
        """Encode a row as the store keeps it; it is sent in the same words."""
        text = self.job.encode(row)
        if len(self._encoded) > READ_AHEAD:  # some rows are never worked on
            self._encoded.clear()
        self._encoded[id(row)] = row, text
        return text

    async def work(self, row: Any) -> str:
        """Have a row worked on; its output."""
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        _, text = self._encoded.pop(id(row), (row, None))
        self._assign(next(self._numbers), self.job.encode(row) if text is None else text, future)
        return await future

    def _assign(self, number: int, text: str, future: asyncio.Future[str]) -> None:
        if self._workers:
            worker = min(self._workers, key=lambda worker: len(worker.rows))
            worker.rows[number] = text, future
            worker.outbox.send("row", number, text)
        elif self.starting:
            self._unassigned.append((number, text, future))
        elif not future.done():
            future.set_exception(self.none_left())

    async def _listen(self, worker: Worker) -> None:
        with suppress(ConnectionError):
            for number in count(1):
                line = await worker.reader.readline()
                if not line.endswith(b"\n"):
                    break
                kind, *rest = received(line)
                if kind == "bye":
                    return
                getattr(self, f"_on_{kind}")(worker, *rest)
                if number % TOGETHER == 0:
                    await asyncio.sleep(0)
        self._lose(worker)  # it died, maybe in the midst of a message

    def _lose(self, worker: Worker) -> None:
        """Have others do the work of one that has died."""
        lost = f"{amount(len(worker.claims), 'call')} in flight, made again"
        logger.warning("a process that worked on rows has died, with %s", lost)
        worker.dead = True
        self._workers.remove(worker)
        worker.outbox.close()
        self.replace(worker)
        for reserved in worker.reserved:
            self._budget.spent += reserved
            self._budget.release(reserved)
        for key, call in [*worker.claims.items()]:
            self._store.add_usage(call)  # nobody knows whether it was billed
            self._pass_on(worker, key, call)
        self._store.flush_soon()
        for number, row in worker.rows.items():
            self._assign(number, *row)

    def _on_done(
        self, worker: Worker, number: int, output: str | None, failure: str, hopeless: int
    ) -> None:
        worker.useful = True
        _, future = worker.rows.pop(number)
        if future.done():
            return
        if output is None:
            future.set_exception((RowError if hopeless else RowFailureError)(failure))
        else:
            future.set_result(output)

    def _on_stop(self, worker: Worker, number: int, what: str, where: str, hint: str) -> None:
        _, future = worker.rows.pop(number)
        if not future.done():
            future.set_exception(StopRunError(what, where=where, hint=hint))

    def _on_claim(self, worker: Worker, key: str, caller: str, requested: str) -> None:
        stored = self._store.call(bytes.fromhex(key))
        if stored is not None:
            worker.outbox.send("answer", key, stored)
        elif key in self._waiting:
            self._waiting[key].append(worker)
        else:
            self._waiting[key] = []
            worker.claims[key] = UsageRecord(caller, requested, requested, tier=LOST)
            worker.outbox.send("call", key, None)

    def _on_call(self, worker: Worker, key: str, value: str, usage: list[Any]) -> None:
        self._store.add_call(bytes.fromhex(key), value, UsageRecord(*usage))
        self._store.flush_soon()
        self._settle(worker, key, "answer", value)

    def _on_unclaim(self, worker: Worker, key: str, reason: str | None) -> None:
        if key not in worker.claims:  # another's failure, passed on
            return
        if reason is None:
            self._pass_on(worker, key, worker.claims.pop(key))
        else:
            self._settle(worker, key, "failed", reason)

    def _settle(self, worker: Worker, key: str, kind: str, text: str) -> None:
        worker.claims.pop(key, None)
        for other in self._waiting.pop(key, ()):
            other.outbox.send(kind, key, text)

    def _pass_on(self, worker: Worker, key: str, call: UsageRecord) -> None:
        """Have another worker make the call of one that has died."""
        waiting = [other for other in self._waiting.pop(key, ()) if other is not worker]
        if waiting:
            first, *others = waiting
            self._waiting[key] = others
            first.claims[key] = call
            first.outbox.send("call", key, None)

    def _on_usage(self, worker: Worker, usage: list[Any]) -> None:
        del worker
        self._store.add_usage(UsageRecord(*usage))
        self._store.flush_soon()

    def _on_meta(self, worker: Worker, key: str, value: list[str]) -> None:
        del worker
        self._store.set_meta(key, sorted({*(self._store.meta(key) or ()), *value}))

    def _on_log(self, worker: Worker, level: int, message: str) -> None:
        del worker
        logger.log(level, "%s", message)

    def _on_reserve(self, worker: Worker, key: str, quote: list[Any]) -> None:
        self.spawn(self._reserve(worker, key, Quote(*quote)))

    async def _reserve(self, worker: Worker, key: str, quote: Quote) -> None:
        try:
            reserved = await self._budget.reserve(quote)
        except StopRunError as error:
            worker.outbox.send("stop", key, error.what, error.where, error.hint)
            return
        if worker.dead:
            self._budget.release(reserved)
            return
        worker.reserved.append(reserved)
        worker.outbox.send("go", key, reserved)

    def _on_release(self, worker: Worker, reserved: float) -> None:
        worker.reserved.remove(reserved)
        self._budget.release(reserved)

    def _on_pay(
        self, worker: Worker, quote: list[Any], model: str, usage: dict[str, int], counted: int
    ) -> None:
        del worker
        self._budget.pay(Quote(*quote), model, Usage(**usage), bool(counted))

    async def stop(self) -> None:
        """End the workers; rows that they still work on are given up."""
        for worker in self._workers:
            worker.outbox.send("end", 0)
        if self._listening:
            _, late = await asyncio.wait(self._listening, timeout=5.0)
            for worker in self._workers if late else ():
                worker.kill()
        for worker in self._workers:
            worker.outbox.close()
        left = [*self._listening, *self._tasks]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
