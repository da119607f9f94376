"""Work on rows in several processes of this machine, with one writer of the store.

The run's own process reads the input, writes the store and counts results; the others render
prompts, call models and parse replies. The store, the cache and the results are those of a local
run: a call is made once, whichever process needs it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from pydantic_core import PydanticSerializationError, from_json, to_json

from heedful.core.errors import HeedfulError, ModelError, RowError, StopRunError, UsageError
from heedful.core.log import logger
from heedful.core.machine import available_cores
from heedful.core.text import amount
from heedful.engine.call_cache import cache_calls
from heedful.engine.fan_out import divide_room
from heedful.engine.runner import READ_AHEAD, failure_of
from heedful.engine.schema import LOST, UsageRecord
from heedful.models.base import Completion

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from contextlib import AbstractAsyncContextManager

    from heedful.engine.store import Store


__all__: list[str] = []

LINE_LIMIT = 2**30
"""Bytes of the longest message; rows may be long."""


TOGETHER = 48
"""Messages that are written, or read, before the other side gets to work: more at a time would
have the processes wait for each other."""


class SentWork(Protocol):
    """A job, as far as its rows can be worked on in another process."""

    def encode(self, row: Any) -> str: ...
    def decode(self, text: str) -> Any: ...
    async def work(self, row: Any) -> str: ...
    def resources(self, *, dry: bool) -> AbstractAsyncContextManager[None]: ...


class Outbox:
    """Messages to the other side; those of one turn of the event loop are written together."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        """Begin with none."""
        self._writer = writer
        self._messages: list[bytes] = []

    def send(self, *message: object) -> None:
        """Send a message, a list of JSON on a line."""
        if not self._messages:
            asyncio.get_running_loop().call_soon(self.flush)
        try:
            self._messages.append(to_json(message))
        except PydanticSerializationError:  # half a surrogate pair in the words of an error
            self._messages.append(json.dumps(message).encode())
        if len(self._messages) >= TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        messages, self._messages = self._messages, []
        if messages and not self._writer.is_closing():  # the other side may have ended
            self._writer.write(b"\n".join(messages) + b"\n")

    async def drain(self) -> None:
        """Write what waits, and wait until it is gone."""
        self.flush()
        await self._writer.drain()

    def close(self) -> None:
        """Write what waits, and close the connection."""
        self.flush()
        self._writer.close()


def received(line: bytes) -> list[Any]:
    """Read a message."""
    try:
        message: list[Any] = from_json(line)
    except ValueError:  # half a surrogate pair
        message = json.loads(line)
    return message


class RemoteStore:
    """Takes the place of the store in a worker: everything goes to the run's process."""

    def __init__(self, outbox: Outbox) -> None:
        """Write to the run's process."""
        self.send = outbox.send
        self._claims: dict[str, asyncio.Future[list[Any]]] = {}

    def reply(self, key: str, *message: object) -> None:
        """Take the answer to a claim."""
        self._claims.pop(key).set_result(list(message))

    def call(self, key: bytes) -> str | None:
        """Hold no answers: :meth:`claim` asks for them."""
        del key
        return None

    async def claim(self, key: bytes, caller: str, requested: str) -> Completion | None:
        """Return an answer that is stored or that another process gets; ``None``: get it here."""
        future = self._claims[key.hex()] = asyncio.get_running_loop().create_future()
        self.send("claim", key.hex(), caller, requested)
        kind, text = await future
        if kind == "failed":
            raise ModelError(text)
        if kind == "call":
            return None
        return Completion.model_validate_json(text).model_copy(update={"attempts": 0})

    def unclaim(self, key: bytes, reason: str | None) -> None:
        """Say that there will be no answer, or that another process may make the call."""
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


async def serve(job: SentWork, connection: socket.socket, retries: int) -> None:
    """Work on the rows that come until there are no more."""
    reader, writer = await asyncio.open_connection(sock=connection, limit=LINE_LIMIT)
    outbox = Outbox(writer)
    remote = RemoteStore(outbox)
    tasks: set[asyncio.Task[None]] = set()
    async with cache_calls(remote, retries=retries), job.resources(dry=False):
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
    await outbox.drain()
    outbox.close()


async def _work(job: SentWork, remote: RemoteStore, number: int, text: str) -> None:
    try:
        output = await job.work(job.decode(text))
    except StopRunError as error:
        remote.send("stop", number, error.what, error.where, error.hint)
    except Exception as error:  # noqa: BLE001 - one row's defect must not end the run
        remote.send("done", number, None, failure_of(error), isinstance(error, RowError))
    else:
        remote.send("done", number, output, None, False)  # noqa: FBT003 - a message


FEWEST = 2
"""Processes that work on rows, on machines with fewer cores too."""


class RowFailureError(HeedfulError):
    """The reason of a row that failed in another process, in the same words."""


@dataclass(eq=False)
class _Worker:
    """A process that works on rows."""

    pid: int
    reader: asyncio.StreamReader
    outbox: Outbox
    rows: dict[int, tuple[str, asyncio.Future[str]]] = field(default_factory=dict)
    claims: dict[str, UsageRecord] = field(default_factory=dict)

    def send(self, *message: object) -> None:
        self.outbox.send(*message)


class Workers:
    """The processes that work on the rows of a run."""

    def __init__(self, job: SentWork, store: Store) -> None:
        """Begin without any."""
        self._job = job
        self._store = store
        self._workers: list[_Worker] = []
        self._waiting: dict[str, list[_Worker]] = {}  # by the call that another one makes
        self._pids: list[int] = []
        self._numbers = 0
        self._encoded: dict[int, tuple[Any, str]] = {}  # rows about to be worked on, by their id()
        self._listening: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start the processes."""
        wanted = available_cores(FEWEST)
        retries = self._store.meta("retries") or 0
        ends: list[int] = []
        for _ in range(wanted):
            ours, theirs = socket.socketpair()
            ends.append(ours.fileno())
            pid = os.fork()
            if not pid:
                _become_worker(self._job, theirs, retries, wanted, ends)
            theirs.close()
            reader, writer = await asyncio.open_connection(sock=ours, limit=LINE_LIMIT)
            worker = _Worker(pid, reader, Outbox(writer))
            self._pids.append(pid)
            self._workers.append(worker)
            self._listening.append(asyncio.create_task(self._listen(worker)))

    def encode(self, row: Any) -> str:
        """Encode a row as the store keeps it; it is sent in the same words."""
        text = self._job.encode(row)
        if len(self._encoded) > READ_AHEAD:  # some rows are never worked on
            self._encoded.clear()
        self._encoded[id(row)] = row, text
        return text

    async def work(self, row: Any) -> str:
        """Have a row worked on; its output."""
        self._numbers += 1
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        _, text = self._encoded.pop(id(row), (row, None))
        self._give(self._numbers, self._job.encode(row) if text is None else text, future)
        return await future

    def _give(self, number: int, text: str, future: asyncio.Future[str]) -> None:
        if not self._workers:
            what = "every process that worked on rows has died"
            hint = "check that there is enough memory, then re-run the same command to resume"
            raise StopRunError(what, hint=hint)
        worker = min(self._workers, key=lambda worker: len(worker.rows))
        worker.rows[number] = text, future
        worker.send("row", number, text)

    async def _listen(self, worker: _Worker) -> None:
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
        # It died, maybe in the midst of a message.
        lost = f"{amount(len(worker.claims), 'call')} in flight, made again"
        logger.warning("a process that worked on rows has died, with %s", lost)
        self._workers.remove(worker)
        worker.outbox.close()
        for key, call in [*worker.claims.items()]:
            self._store.add_usage(call)  # nobody knows whether it was billed
            self._pass_on(worker, key, call)
        self._store.flush_soon()
        for number, (text, future) in worker.rows.items():
            try:
                self._give(number, text, future)
            except StopRunError as error:
                future.set_exception(error)

    def _on_done(
        self, worker: _Worker, number: int, output: str | None, failure: str, hopeless: int
    ) -> None:
        _, future = worker.rows.pop(number)
        if future.done():
            return
        if output is None:
            future.set_exception((RowError if hopeless else RowFailureError)(failure))
        else:
            future.set_result(output)

    def _on_stop(self, worker: _Worker, number: int, what: str, where: str, hint: str) -> None:
        _, future = worker.rows.pop(number)
        if not future.done():
            future.set_exception(StopRunError(what, where=where, hint=hint))

    def _on_claim(self, worker: _Worker, key: str, caller: str, requested: str) -> None:
        stored = self._store.call(bytes.fromhex(key))
        if stored is not None:
            worker.send("answer", key, stored)
        elif key in self._waiting:
            self._waiting[key].append(worker)
        else:
            self._waiting[key] = []
            worker.claims[key] = UsageRecord(caller, requested, requested, tier=LOST)
            worker.send("call", key, None)

    def _on_call(self, worker: _Worker, key: str, value: str, usage: list[Any]) -> None:
        self._store.add_call(bytes.fromhex(key), value, UsageRecord(*usage))
        self._store.flush_soon()
        self._settle(worker, key, "answer", value)

    def _on_unclaim(self, worker: _Worker, key: str, reason: str | None) -> None:
        if key not in worker.claims:  # another's failure, passed on
            return
        if reason is None:
            self._pass_on(worker, key, worker.claims.pop(key))
        else:
            self._settle(worker, key, "failed", reason)

    def _settle(self, worker: _Worker, key: str, kind: str, text: str) -> None:
        worker.claims.pop(key, None)
        for other in self._waiting.pop(key, ()):
            other.send(kind, key, text)

    def _pass_on(self, worker: _Worker, key: str, call: UsageRecord) -> None:
        """Have another process make the call of one that has died."""
        waiting = [other for other in self._waiting.pop(key, ()) if other is not worker]
        if waiting:
            first, *others = waiting
            self._waiting[key] = others
            first.claims[key] = call
            first.send("call", key, None)

    def _on_usage(self, worker: _Worker, usage: list[Any]) -> None:
        del worker
        self._store.add_usage(UsageRecord(*usage))
        self._store.flush_soon()

    def _on_meta(self, worker: _Worker, key: str, value: list[str]) -> None:
        del worker
        self._store.set_meta(key, sorted({*(self._store.meta(key) or ()), *value}))

    async def stop(self) -> None:
        """End the processes; rows that they still work on are given up."""
        for worker in self._workers:
            worker.send("end", 0)
        _, late = await asyncio.wait(self._listening, timeout=5.0) if self._listening else ((), ())
        for worker in self._workers:
            if late:
                os.kill(worker.pid, signal.SIGKILL)
            worker.outbox.close()
        for task in late:
            task.cancel()
        await asyncio.gather(*self._listening, return_exceptions=True)
        for pid in self._pids:
            await asyncio.to_thread(os.waitpid, pid, 0)


def _become_worker(
    job: SentWork, connection: socket.socket, retries: int, count: int, ends: Sequence[int]
) -> None:
    """Turn the forked process into a worker; never returns into what it was forked from."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it reaches us too; we are told
        for end in ends:
            os.close(end)
        asyncio.events._set_running_loop(None)  # noqa: SLF001 - the loop of the process forked from
        from heedful.models.limiter import AdaptiveLimiter

        AdaptiveLimiter.divide_all(count)
        divide_room(count)
        asyncio.run(serve(job, connection, retries))
        code = 0
    finally:
        # Nothing of the run's process may be closed from here, its store least of all.
        os._exit(code)


@asynccontextmanager
async def worker_processes(job: SentWork, store: Store) -> AsyncIterator[Workers]:
    """Work on rows in processes; they end with the context."""
    if not hasattr(os, "fork"):
        raise UsageError("--executor processes needs a machine that can fork")
    workers = Workers(job, store)
    try:
        await workers.start()
        yield workers
    finally:
        await workers.stop()
