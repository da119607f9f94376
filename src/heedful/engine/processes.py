"""Work on rows in several processes of this machine, with one writer of the store.

The run's own process reads the input, writes the store and counts results; the others render
prompts, call models and parse replies. The store, the cache and the results are those of a local
run: a call is made once, whichever process needs it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from heedful.core.errors import HeedfulError, RowError, StopRunError, UsageError
from heedful.core.log import logger
from heedful.core.machine import available_cores
from heedful.core.text import amount
from heedful.engine.fan_out import divide_room
from heedful.engine.records import LOST, UsageRecord
from heedful.engine.runner import READ_AHEAD
from heedful.engine.worker import LINE_LIMIT, TOGETHER, Outbox, received, serve

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from heedful.engine.store import Store
    from heedful.engine.worker import SentWork

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
