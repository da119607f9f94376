"""Mapping an async function over a lazy stream, with bounded concurrency, into a store."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

from heedful.core.errors import HeedfulError, RowError, StopRunError
from heedful.core.log import logger
from heedful.core.machine import loop_runner
from heedful.engine.schema import Entry
from heedful.engine.store import FLUSH_SECONDS, Input

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence

    from heedful.engine.store import Store

__all__ = ["Item", "Progress", "Written", "finish", "run", "together"]


class Postponed(BaseException):
    """Ends the work on a row until the answer that it needs is there.

    It isn't an error, so nothing on the way may handle it.
    """


T = TypeVar("T")

FROM_STORE = 64
"""Rows read from the store at a time, so that the event loop is never held for long."""


class Written(str, Generic[T]):
    """JSON text that remembers the value that it was written from."""

    __slots__ = ("value",)
    value: T  # what parsing the text would give

    def __new__(cls, text: str, value: T) -> Self:
        """Join a text and its value."""
        written = super().__new__(cls, text)
        written.value = value
        return written


class InOrder:
    """Passes finished rows on in input order, each once.

    A row that finishes ahead of its turn is held back. Behind a slow one there is room for so many;
    the others are read from the store when their turn comes, so memory doesn't grow with the input.
    """

    def __init__(
        self, store: Store, take: Callable[[Entry], None] | None, room: int, first: int = 0
    ) -> None:
        self._store = store
        self._take = take
        self._room = room
        self._next = first
        self._held: dict[int, Entry] = {}
        self._last_stored = -1  # the last of the rows that are only in the store
        self._in_work = -1  # the row that the others wait for, where the store shows that

    def add(self, entry: Entry) -> None:
        """Take note of a row that was finished just now."""
        if self._take is None:
            return
        if entry.input is None:
            self.add_stored(entry.position)
            return
        if entry.position == self._next:
            self._pass(entry, self._take)
        elif len(self._held) < self._room:
            self._held[entry.position] = entry
        else:
            self._last_stored = max(self._last_stored, entry.position)
        self._go_on()

    def add_stored(self, position: int) -> None:
        """Take note of a finished row that is to be read from the store."""
        self._last_stored = max(self._last_stored, position)
        if self._take is None:
            return
        if position == self._in_work:
            self._in_work = -1
        if position - self._next >= FROM_STORE or self._next in self._held:
            self._go_on()

    def finish(self) -> None:
        """Pass on what is left; every row is finished."""
        while self._go_on():
            pass

    def _go_on(self) -> bool:
        """Pass on the rows whose turn has come; tell whether there may be more in the store."""
        if self._take is None:
            return False
        while self._next in self._held:
            self._pass(self._held.pop(self._next), self._take)
        if self._next > self._last_stored or self._next == self._in_work:
            return False
        last = min(self._last_stored, self._next + FROM_STORE - 1)
        for entry in self._store.entries(self._next, last):
            if entry.problem is None and entry.output is None and entry.failure is None:
                self._in_work = entry.position
                return False
            self._held.pop(entry.position, None)
            self._pass(entry, self._take)
        return True

    def _pass(self, entry: Entry, take: Callable[[Entry], None]) -> None:
        self._next = entry.position + 1
        take(entry)


COLLECTION_OBJECTS = 50_000

READ_AHEAD = 16
"""Rows that are read and recorded together, which takes half the time of one by one."""

HELD_BACK = 4
"""Finished rows held back behind a slow one, for each that may be in flight."""

BREATH_SECONDS = 0.05
"""How long work that never waits may hold the event loop, which also serves Ctrl-C."""


class Item(NamedTuple, Generic[T]):
    """One row of the input."""

    line: int  # in the input file, from 1
    id: str | None  # None where it could not be read
    value: T | None  # what the work is given; None where there is a problem
    problem: str | None = None  # why the row cannot be worked on


@dataclass(slots=True)
class Progress:
    """Progress of a run."""

    total: int | None = None  # rows in the input, where that is known
    read: int = 0
    done: int = 0  # finished in this session or before
    resumed: int = 0  # finished before this session
    failed: int = 0  # in this session
    hopeless: int = 0  # failed, and would fail again unchanged
    started: float = field(default_factory=time.monotonic)
    # Called only when they are shown: dollars, share of verdicts decided, calls that pause.
    spent: Callable[[], float | None] = field(default=lambda: None, repr=False, compare=False)
    coverage: Callable[[], float | None] = field(default=lambda: None, repr=False, compare=False)
    waiting: Callable[[], tuple[int, float]] = field(
        default=lambda: (0, 0.0), repr=False, compare=False
    )
    unread: int = 0  # failed, since they could not be read
    postponed: int = 0  # left for another pass
    note: str = ""  # what the run waits for, in words

    def begin_pass(self) -> None:
        """Begin to count rows that are read once more."""
        self.failed -= self.unread
        self.read = self.done = self.unread = self.postponed = 0


async def run(  # noqa: PLR0913 - the parts of a run, each named by the caller
    source: Iterable[Item[T]],
    work: Callable[[T], Awaitable[str]],
    store: Store,
    *,
    encode: Callable[[T], str],
    concurrency: int = 64,
    progress: Progress | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    trusted: int | None = None,
    follow: Callable[[Entry], None] | None = None,
    first: int = 0,
) -> Progress:
    """Do the work on each row that the store has no output for, and store the result.

    The source is read lazily: at most ``concurrency`` rows are in flight, so memory does not grow
    with the input. A row whose work raises is stored with the reason, and the others go on. A part
    of the input has another ``first`` place than 0.
    """
    progress = progress or Progress()
    in_order = InOrder(store, follow, HELD_BACK * concurrency, first)
    pending = _pending(source, store, encode, progress, trusted, in_order, first)

    breath = _Breath()

    async def worker() -> None:
        for row, value in pending:
            output = failure = None
            try:
                output = await work(value)
            except Postponed:
                progress.postponed += 1
                on_progress(progress)
                continue
            except Exception as error:  # noqa: BLE001 - one row's defect must not end the run
                failure = failure_of(error)
                progress.failed += 1
                progress.hopeless += isinstance(error, RowError)
                logger.warning("line %d: %s: %s", row.line, row.id, failure)
            store.add_output(row.position, output, failure)
            in_order.add(Entry(*row, output, failure))
            progress.done += 1
            store.flush_if_due()
            on_progress(progress)
            if breath.is_due():
                await asyncio.sleep(0)

    try:
        with _rare_collections():
            async with asyncio.TaskGroup() as group:
                keeper = group.create_task(_commit_on_time(store))
                await asyncio.wait([group.create_task(worker()) for _ in range(concurrency)])
                keeper.cancel()
            in_order.finish()
    except BaseExceptionGroup as group:
        # Work does not raise; what does is the source or the store, and the first of them says why.
        raise group.exceptions[0] from None
    finally:
        store.flush()
        on_progress(progress)
    return progress


async def _commit_on_time(store: Store) -> None:
    """Commit also while every row waits for a slow answer."""
    while True:
        await asyncio.sleep(FLUSH_SECONDS)
        store.flush_if_due()


class _Breath:
    """Tells when rows that wait for nothing have held the event loop for long."""

    def __init__(self) -> None:
        self._since: float | None = None  # when the loop's present turn had its first row

    def is_due(self) -> bool:
        """Take note of a finished row; whether the loop is to go on with other things first."""
        now = time.monotonic()
        if self._since is None:
            self._since = now
            asyncio.get_running_loop().call_soon(self._turned)
        return now - self._since > BREATH_SECONDS

    def _turned(self) -> None:
        self._since = None


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for cycles less often: rows make many objects and few cycles, which cost a fifth."""
    usual = gc.get_threshold()
    gc.set_threshold(max(usual[0], COLLECTION_OBJECTS), *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def model_loop() -> asyncio.Runner:
    """Run a loop, a faster one where models are called over connections."""
    return loop_runner(busy="heedful.models.connections" in sys.modules)


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Do asynchronous work to its end, in a notebook too, where a loop already runs.

    There the work gets a thread and a loop of its own.
    """
    results: list[T] = []

    async def kept() -> None:
        # A task that returned the result would show it: asyncio ends by looking up a signal's
        # handler, which formats the task, and a result's repr may take as long as a short run.
        results.append(await work)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with model_loop() as runner:
            runner.run(kept())
        return results[0]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        pool.submit(copy_context().run, asyncio.run, kept()).result()
    return results[0]


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Do several things at a time; if one raises, the others are stopped."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in work]
    try:
        return await asyncio.gather(*tasks)
    except Postponed:  # the others put their calls into the batch too
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def failure_of(error: Exception) -> str:
    """Say why the work on a row failed; what stops the run is raised again."""
    if isinstance(error, StopRunError):
        raise error
    if isinstance(error, HeedfulError):
        return str(error)
    logger.debug("what failed the next row", exc_info=error)
    return f"{type(error).__name__}: {error}"


def _pending(
    source: Iterable[Item[T]],
    store: Store,
    encode: Callable[[T], str],
    progress: Progress,
    trusted: int | None,
    in_order: InOrder,
    first: int,
) -> Iterator[tuple[Input, T]]:
    """Record the input as it is read, and yield the rows that are still to be worked on."""
    known = first + store.count()
    trusted = known if trusted is None else trusted
    finished = store.done()
    next_finished = next(finished, None)
    position = first - 1
    for batch in _batches(enumerate(source, first)):
        if trusted <= batch[-1][0] and batch[0][0] < known:
            other = _first_other(batch, store, encode, max(trusted, batch[0][0]), known)
            if other is not None:
                logger.warning("the rows from %d on are not the input's: read again", other + 1)
                store.truncate(other)
                known, finished = other, store.done(batch[0][0])
                next_finished = next(finished, None)
        rows = [
            Input(position, item.line, item.id, None, item.problem)  # in the store already
            if position < known
            else _input(position, item, encode)
            for position, item in batch
        ]
        new = [row for row in rows if row.position >= known]
        problems = dict(zip((row.position for row in new), store.add_inputs(new), strict=True))
        for row, (position, item) in zip(rows, batch, strict=True):
            progress.read += 1
            if position == next_finished:
                next_finished = next(finished, None)
                progress.done += 1
                progress.resumed += 1
                in_order.add_stored(position)
                continue
            # A duplicate is one in every session.
            problem = problems[position] if position >= known else store.problem(position)
            if item.value is None or problem is not None:
                progress.done += 1
                progress.failed += 1
                progress.unread += 1
                logger.warning("line %d: %s", item.line, problem)
                in_order.add_stored(position)
            else:
                yield row, item.value
    if trusted < known and first + store.count() > position + 1:  # the input had more for a while
        store.truncate(position + 1)


def _first_other(
    batch: Sequence[tuple[int, Item[T]]],
    store: Store,
    encode: Callable[[T], str],
    start: int,
    end: int,
) -> int | None:
    """Find the first of some stored rows that is not the one of the source at its place."""
    wanted = [(position, item) for position, item in batch if start <= position < end]
    if wanted:
        stored = store.inputs(wanted[0][0], wanted[-1][0])
        for (position, item), value in zip(wanted, stored, strict=True):
            if value != _input(position, item, encode).value:
                return position
    return None


def _batches(rows: Iterable[T]) -> Iterator[list[T]]:
    """Take rows together; what was read before the source failed is given before that is raised."""
    rows = iter(rows)
    while True:
        batch: list[T] = []
        try:
            batch.extend(islice(rows, READ_AHEAD))
        except BaseException:
            if batch:
                yield batch
            raise
        if not batch:
            return
        yield batch


def _input(position: int, item: Item[T], encode: Callable[[T], str]) -> Input:
    value, problem = None, item.problem
    try:
        value = None if item.value is None else encode(item.value)
    except ValueError as error:  # half a surrogate pair, say, which JSON text may smuggle in
        problem = f"it cannot be stored: {error}"
    return Input(position, item.line, item.id, value, problem)
