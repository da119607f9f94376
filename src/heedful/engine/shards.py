"""A run in shards: workers judge parts of its rows, each into a store of its own.

A worker reads its part of the input, works on it and stores what comes of it as a local run does,
in a folder of the run's directory. The run's own process hands out parts, keeps the budget, and
moves each finished part into the run's store, in input order: so that is at any time the store of
a local run that has come so far, and its results are those of a local run. What stays with a part
is that equal prompts are requested once in each part, not once in all.

Workers are forked or started on a Ray cluster (:mod:`heedful.engine.workers`); both talk to the
run's process through a socket.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from heedful.core import errors
from heedful.core.errors import HeedfulError, StopRunError
from heedful.core.log import logger
from heedful.core.version import __version__
from heedful.engine.budget import Quote
from heedful.engine.call_cache import cache_calls
from heedful.engine.cost import dollars_of
from heedful.engine.fan_out import first_ahead
from heedful.engine.integrity import drop_damaged, refuse_unusable
from heedful.engine.lock import only_writer
from heedful.engine.parts import END_S, absorb, merge, part_directory
from heedful.engine.reader import Reader
from heedful.engine.runner import Progress
from heedful.engine.runner import run as run_all
from heedful.engine.store import NAME, Store
from heedful.models.base import Usage
from heedful.models.limiter import AdaptiveLimiter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from heedful.engine.budget import Budget
    from heedful.engine.runner import Item
    from heedful.engine.store import Entry
    from heedful.models import Price

__all__: list[str] = []

COUNTED_IN = "counted"
"""File of what is counted of a part."""

LINE_LIMIT = 2**30
"""Bytes of the longest message: an answer that is stored may be long."""

PARTS_EACH = 4
"""Parts for each worker: the last of them to finish doesn't keep the others waiting for long."""

FEWEST_ROWS, MOST_ROWS, UNKNOWN_ROWS = 16, 10_000, 1000
"""Rows of a part: at least, at most, and where nobody knows how many there are."""

TRIES = 4
"""How often a part is begun by workers that die of it and store nothing."""

SHOWN_S = 0.25
"""Seconds between two messages on a worker's progress."""


class Link:
    """Messages to and from the other side: lists of JSON, each on a line."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, *message: object) -> None:
        """Send a message, unless the other side has ended."""
        if not self._writer.is_closing():
            self._writer.write(json.dumps(message).encode() + b"\n")

    async def receive(self) -> list[Any] | None:
        """Wait for a message; ``None`` when the other side has ended."""
        line = b""
        with suppress(ConnectionError):
            line = await self._reader.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    async def close(self) -> None:
        """Send what waits, and close the connection."""
        with suppress(ConnectionError):
            await self._writer.drain()
        self._writer.close()


class Assignment(NamedTuple):
    """What a worker is told first."""

    directory: str  # of the parts
    retries: int
    workers: int  # how many share the limits
    concurrency: int
    limited: bool  # whether there is a budget
    answered: list[str]  # runs whose answers are taken, this one before others


class DividedJob(Protocol):
    """A job, as far as workers need it."""

    def rows_where(self, wanted: Callable[[int], bool], /) -> Iterable[Item[Any]]: ...
    def rows_at_a_time(self, concurrency: int, /) -> int: ...
    def encode(self, row: Any, /) -> str: ...
    async def work(self, row: Any, /) -> str: ...
    def preload(self) -> None: ...
    def counted(self) -> bytes | None: ...
    def add_counted(self, counted: bytes, directory: Path, /) -> None: ...
    def follow(
        self, store: Store, prices: Mapping[str, Price] | None, /
    ) -> AbstractContextManager[Callable[[Entry], None] | None]: ...
    def resources(self, *, dry: bool) -> AbstractAsyncContextManager[None]: ...


class Starter(Protocol):
    """Starts workers."""

    workers: int

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Start a worker, and connect to it."""

    def kill(self, pid: int) -> None:
        """End a worker that doesn't end by itself."""

    def lost(self) -> StopRunError:
        """Say that workers die without finishing a part."""


# --- in a worker --------------------------------------------------------------------------------


async def serve(
    job: DividedJob,
    prices: Mapping[str, Price] | None,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """Work on the parts that are handed out until there are no more, or nobody hands them out."""
    link = Link(reader, writer)
    link.send("begun", os.getpid(), __version__)
    message = await link.receive()
    if message is not None:
        worker = _Worker(job, prices, link, Assignment(*message))
        async with job.resources(dry=False):
            await worker.serve()
    await link.close()


class _Worker:
    def __init__(
        self,
        job: DividedJob,
        prices: Mapping[str, Price] | None,
        link: Link,
        assignment: Assignment,
    ) -> None:
        self._job = job
        self._prices = prices
        self._link = link
        self._told = assignment
        self._rows = _Rows(job)
        self._earlier = _answers_of(assignment.answered)
        self._replies: dict[int, asyncio.Future[list[Any]]] = {}
        self._numbers = count()
        AdaptiveLimiter.divide_all(assignment.workers)

    async def serve(self) -> None:
        work: asyncio.Task[None] | None = None
        while (message := await self._link.receive()) is not None:
            kind, *rest = message
            if kind == "end":
                break
            if kind == "part":
                work = asyncio.create_task(self._work(*rest))
            else:
                self._replies.pop(rest[0]).set_result(rest[1:])
        if work is not None:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _ask(self, kind: str, *message: object) -> list[Any]:
        """Ask the run's process something, and wait for its reply."""
        number = next(self._numbers)
        reply: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._replies[number] = reply
        self._link.send(kind, number, *message)
        return await reply

    async def _work(self, first: int, last: int) -> None:
        progress = Progress()
        directory = part_directory(Path(self._told.directory), first, last)
        try:
            with only_writer(directory), refuse_unusable(directory), Store(directory) as store:
                self._link.send("held", store.size())
                showing = asyncio.create_task(self._show(progress, store))
                try:
                    await self._work_through(store, first, last, progress)
                finally:
                    showing.cancel()
                self._tell(progress, store)
                store.empty_log()
        except HeedfulError as error:
            names = [each.__name__ for each in type(error).__mro__]
            known = next(name for name in names if hasattr(errors, name))
            self._link.send("error", known, error.what, error.where, error.hint)
        except Exception as error:  # noqa: BLE001 - the run's process must hear of it
            logger.exception("a worker failed")
            what = f"a worker failed: {type(error).__name__}: {error}"
            self._link.send("error", "RunError", what, str(directory), "")
        else:
            self._link.send("done", progress.read)

    async def _work_through(self, store: Store, first: int, last: int, progress: Progress) -> None:
        """Work on the rows of a part as a local run does."""
        drop_damaged(store)
        store.reuse(self._earlier)
        told = self._told
        concurrency = max(1, told.concurrency // told.workers)
        budget = self if told.limited else None
        with first_ahead(concurrency), self._job.follow(store, self._prices) as follow:
            async with cache_calls(store, retries=told.retries, budget=budget):
                await run_all(
                    self._rows.part(first, last),
                    self._job.work,
                    store,
                    encode=self._job.encode,
                    concurrency=self._job.rows_at_a_time(concurrency),
                    progress=progress,
                    trusted=first,
                    follow=follow,
                    first=first,
                )
            counted = self._job.counted()
            if counted is not None and store.directory is not None:
                (store.directory / COUNTED_IN).write_bytes(counted)

    # What a budget does, for calls that are made here; see :class:`heedful.engine.budget.Budget`.

    async def reserve(self, quote: Quote) -> float:
        reserved, *stopped = await self._ask("reserve", quote)
        if stopped:
            what, where, hint = stopped
            raise StopRunError(what, where=where, hint=hint)
        return float(reserved)

    def release(self, reserved: float) -> None:
        self._link.send("release", reserved)

    def pay(self, quote: Quote, model: str, usage: Usage, counted: bool) -> None:  # noqa: FBT001
        self._link.send("pay", quote, model, usage.model_dump(), counted)

    async def _show(self, progress: Progress, store: Store) -> None:
        while True:
            await asyncio.sleep(SHOWN_S)
            self._tell(progress, store)

    def _tell(self, progress: Progress, store: Store) -> None:
        counts = [getattr(progress, name) for name in COUNTED]
        spent = dollars_of(store.usage_records(), self._prices)
        self._link.send("counts", counts, spent)


def _answers_of(runs: list[str]) -> Store | None:
    """Open runs whose answers are taken, the first before others."""
    earlier: Store | None = None
    for run in reversed(runs):
        reader = Reader(Path(run))
        reader.reuse(earlier)
        earlier = reader
    return earlier


class _Rows:
    """The rows of a job, read once; what lies before a part is skipped."""

    def __init__(self, job: DividedJob) -> None:
        self._job = job
        self._wanted = range(0)
        self._next = 0
        self._rows = self._begin()

    def _begin(self) -> Iterator[Item[Any]]:
        self._next = 0
        return iter(self._job.rows_where(lambda position: position in self._wanted))

    def part(self, first: int, last: int) -> Iterator[Item[Any]]:
        """Give the rows from one place to another."""
        self._wanted = range(first, last)
        if first < self._next:  # it was another's, who died
            self._rows = self._begin()
        while self._next < last:
            item = next(self._rows, None)
            if item is None:
                return
            self._next += 1
            if self._next > first:
                yield item


# --- in the run's own process -------------------------------------------------------------------


COUNTED = ("read", "done", "resumed", "failed", "hopeless", "unread")
"""What is added up of the parts' progress."""


@dataclass(eq=False)
class _Part:
    """The rows from one place to another, and how far they are."""

    first: int
    last: int
    begun: int = 0  # how many workers have begun it since one stored something
    held: int = 0  # rows and answers stored when it was begun
    rows: int | None = None  # how many it has, once it is finished
    stored: bool = False  # whether it was finished before, and lies in the run's store
    counts: list[int] = field(default_factory=lambda: [0] * len(COUNTED))
    spent: float | None = None


@dataclass(eq=False)
class _Connected:
    """A worker, seen from the run's process."""

    link: Link
    pid: int = 0
    reserved: list[float] = field(default_factory=list)
    ended: bool = False


class Shards:
    """Hands out the parts of a run and puts together what comes of them."""

    def __init__(  # noqa: PLR0913 - the parts of a run
        self,
        job: DividedJob,
        store: Store,
        starter: Starter,
        progress: Progress,
        *,
        directory: Path,
        concurrency: int,
        budget: Budget | None,
        trusted: int | None,
    ) -> None:
        self._job = job
        self._store = store
        self._starter = starter
        self._budget = budget
        self._directory = directory
        self._known = store.count()
        self._trusted = self._known if trusted is None else trusted
        self._rows = rows_of_a_part(progress.total, starter.workers)
        self._end: int | None = None  # how many rows there are, once that is known
        self._parts: dict[int, _Part] = {}  # not yet in the run's store, by their first row
        self._next = 0  # first row of the next part
        self._returned: list[_Part] = []  # by workers that died
        self._workers: set[_Connected] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._progress = progress
        self._counts = [0] * len(COUNTED)  # of the parts that are in the store
        self._on_progress: Callable[[Progress], None] = lambda _: None
        self._told = Assignment(
            str(directory),
            store.meta("retries") or 0,
            starter.workers,
            concurrency,
            budget is not None,
            store.answered(),
        )

    async def run(
        self,
        follow: Callable[[Entry], None] | None,
        on_progress: Callable[[Progress], None],
    ) -> None:
        """Have all rows worked on; ``follow`` takes them in input order."""
        self._on_progress = on_progress
        spent, progress = self._progress.spent, self._progress
        progress.spent = lambda: (
            sum(each or 0.0 for each in (spent(), *(part.spent for part in self._parts.values())))
            or None
        )
        try:
            async with asyncio.TaskGroup() as group:
                drivers = [group.create_task(self._drive()) for _ in range(self._starter.workers)]
                await self._put_together(follow)
                for driver in drivers:
                    driver.cancel()
        except BaseExceptionGroup as raised:
            raise raised.exceptions[0] from None
        finally:
            await self._stop()
            absorb(self._store, self._directory)
            progress.spent = spent

    async def _put_together(self, follow: Callable[[Entry], None] | None) -> None:
        """Move each finished part into the run's store, in their order, and pass on its rows."""
        first = 0
        while self._end is None or first < self._end:
            part = self._parts.get(first)
            if part is None or part.rows is None:
                self._news.clear()
                await self._news.wait()
                continue
            counted = False
            directory = part_directory(self._directory, part.first, part.last)
            if not part.stored:
                twice = merge(self._store, directory)
                part.counts[COUNTED.index("failed")] += twice
                part.counts[COUNTED.index("unread")] += twice
                counted = (directory / COUNTED_IN).is_file() and not twice
                if counted:
                    self._job.add_counted((directory / COUNTED_IN).read_bytes(), directory)
                shutil.rmtree(directory, ignore_errors=True)
            if follow is not None and not counted:
                await self._follow(part, follow)
            del self._parts[first]
            self._counts = [*map(sum, zip(self._counts, part.counts, strict=True))]
            self._show()
            first = part.last
        if self._store.count() > (self._end or 0):  # the input had more for a while
            self._store.truncate(self._end or 0)

    async def _follow(self, part: _Part, follow: Callable[[Entry], None]) -> None:
        """Pass on the rows of a part that nobody has counted."""
        for place in range(part.first, part.last, FEWEST_ROWS):
            end = min(place + FEWEST_ROWS, part.last)
            for entry in self._store.entries(place, end - 1):
                follow(entry)
            await asyncio.sleep(0)

    # --- parts ----------------------------------------------------------------------------------

    def _next_part(self) -> _Part | None:
        """Return the next part that somebody is to work on; ``None`` if there are no more."""
        if self._returned:
            return self._returned.pop()
        while self._end is None or self._next < self._end:
            part = _Part(self._next, self._next + self._rows)
            self._parts[part.first] = part
            self._next = part.last
            if part.last > min(self._known, self._trusted) or self._unfinished(part):
                self._prepare(part)
                return part
            part.stored = True
            self._finish(part, self._rows)
        return None

    def _unfinished(self, part: _Part) -> bool:
        """Whether rows of a part that was read before are to be worked on; else count them."""
        query = (
            "SELECT count(*), count(inputs.problem), count(outputs.position) FROM inputs "
            "LEFT JOIN outputs USING (position) WHERE position BETWEEN ? AND ?"
        )
        ((rows, unread, worked),) = self._store.query(query, part.first, part.last - 1)
        part.counts = [rows, rows, rows - unread, unread, 0, unread]
        return bool(rows != self._rows or worked + unread < rows)

    def _prepare(self, part: _Part) -> None:
        """Give a part what the run's store holds of it."""
        directory = part_directory(self._directory, part.first, part.last)
        part.counts = [0] * len(COUNTED)
        if part.first >= self._known:
            return
        directory.mkdir(parents=True)
        Store(directory).close()
        with self._store.attached(directory / NAME):
            for table in ("inputs", "outputs"):
                copied = f"INSERT INTO part.{table} SELECT * FROM main.{table}"  # noqa: S608 - ours
                within = (part.first, part.last - 1)
                self._store.change(f"{copied} WHERE position BETWEEN ? AND ?", [within])
            self._store.flush()

    def _finish(self, part: _Part, rows: int) -> None:
        part.rows = rows
        if rows < part.last - part.first:
            self._end = min(part.first + rows, part.last if self._end is None else self._end)
        self._news.set()

    # --- workers --------------------------------------------------------------------------------

    async def _drive(self) -> None:
        """Have parts worked on by a worker; where it dies, by another."""
        while True:
            worker = _Connected(Link(*await self._starter.connect()))
            self._workers.add(worker)
            died_of = await self._attend(worker)
            worker.ended = True
            self._workers.discard(worker)
            await worker.link.close()
            if died_of is None:
                return
            self._returned.append(died_of)

    async def _attend(self, worker: _Connected) -> _Part | None:
        """Hand parts to a worker; return the one that it died of."""
        begun = await worker.link.receive()
        if begun is not None:
            _, worker.pid, version = begun
            if version != __version__:
                what = f"a worker has heedful {version}, this process has {__version__}"
                raise StopRunError(what, hint="install one version everywhere")
            worker.link.send(*self._told)
        while (part := self._next_part()) is not None:
            part.begun += 1
            if part.begun > TRIES:
                raise self._starter.lost()
            worker.link.send("part", part.first, part.last)
            while part.rows is None:
                message = await worker.link.receive()
                if message is None:
                    self._lose(worker)
                    return part
                self._take(worker, part, *message)
        worker.link.send("end")
        return None

    def _lose(self, worker: _Connected) -> None:
        logger.warning("a worker has died; another goes on from what it stored")
        if self._budget is not None:
            for reserved in worker.reserved:
                self._budget.spent += reserved  # nobody knows whether it was billed
                self._budget.release(reserved)

    def _take(self, worker: _Connected, part: _Part, kind: str, *message: Any) -> None:
        """Take a message of a worker."""
        if kind == "held":
            (held,) = message
            if held > part.held:
                part.held, part.begun = held, 1
        elif kind == "counts":
            part.counts, part.spent = message
            self._show()
        elif kind == "done":
            self._finish(part, *message)
        elif kind == "error":
            name, what, where, hint = message
            raise getattr(errors, name)(what, where=where, hint=hint)
        elif self._budget is not None:
            self._take_cost(worker, self._budget, kind, *message)

    def _take_cost(self, worker: _Connected, budget: Budget, kind: str, *message: Any) -> None:
        if kind == "reserve":
            number, quote = message
            task = asyncio.create_task(self._reserve(worker, budget, number, Quote(*quote)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif kind == "release":
            worker.reserved.remove(message[0])
            budget.release(message[0])
        else:
            quote, model, usage, counted = message
            budget.pay(Quote(*quote), model, Usage(**usage), counted)

    async def _reserve(self, worker: _Connected, budget: Budget, number: int, quote: Quote) -> None:
        try:
            reserved = await budget.reserve(quote)
        except StopRunError as error:
            worker.link.send("reply", number, None, error.what, error.where, error.hint)
            return
        if worker.ended:
            budget.release(reserved)
            return
        worker.reserved.append(reserved)
        worker.link.send("reply", number, reserved)

    async def _stop(self) -> None:
        """End the workers; a part that they still work on stays as far as it is."""
        for worker in self._workers:
            worker.link.send("end")
        ending = {asyncio.create_task(_ended(worker)): worker for worker in self._workers}
        if ending:
            _, late = await asyncio.wait(ending, timeout=END_S)
            for task in late:
                task.cancel()
                if ending[task].pid:  # else it hasn't begun; 0 would be this process and its like
                    self._starter.kill(ending[task].pid)
        for worker in self._workers:
            await worker.link.close()
        for task in [*self._tasks]:
            task.cancel()

    # --- progress -------------------------------------------------------------------------------

    def _show(self) -> None:
        added = (part.counts for part in self._parts.values())
        for name, *numbers in zip(COUNTED, self._counts, *added, strict=True):
            setattr(self._progress, name, sum(numbers))
        self._on_progress(self._progress)


async def _ended(worker: _Connected) -> None:
    while await worker.link.receive() is not None:
        pass


def rows_of_a_part(total: int | None, workers: int) -> int:
    """Choose how many rows are handed out together."""
    if total is None:
        return UNKNOWN_ROWS
    return min(MOST_ROWS, max(FEWEST_ROWS, -(-total // (PARTS_EACH * workers))))
