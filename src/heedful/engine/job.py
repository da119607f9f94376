"""One driver for all jobs: durable, cached, within a budget, resumable, or only counted.

A job defines its rows, the work on each, what its outputs depend on, and its result.
:meth:`Job.run` does the work in a run's directory; :meth:`Job.dry_run` counts the calls that it
would make, without making any and without writing anything.
"""

from __future__ import annotations

import sys
import tempfile
from abc import ABC, abstractmethod
from contextlib import (
    AsyncExitStack,
    asynccontextmanager,
    closing,
    contextmanager,
    nullcontext,
    suppress,
)
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from heedful.core.errors import HeedfulError, InputError, ModelError, RunError, UsageError
from heedful.core.log import logger
from heedful.core.machine import available_cores
from heedful.core.text import amount
from heedful.engine.cost import CostSummary, dollars_of
from heedful.engine.dry_run import EndOfDryRun, RemainingRows, is_dry_run, opened_for_dry_run
from heedful.engine.inputs import fingerprints, unnamed
from heedful.engine.integrity import drop_damaged, refuse_incomplete, refuse_unusable, seal, unseal
from heedful.engine.lock import only_writer
from heedful.engine.options import (
    CONCURRENCY,
    DIVIDING,
    EXECUTOR_PLUGINS,
    executor_of,
    ignore,
    refuse_unusable_options,
)
from heedful.engine.progress import shown
from heedful.engine.runner import Item, Progress, finish
from heedful.engine.runner import run as run_all
from heedful.engine.schema import OPEN
from heedful.engine.sessions import COMMAND, recorded
from heedful.engine.store import Store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractAsyncContextManager, AbstractContextManager
    from typing import Unpack

    from heedful.engine.batches import BatchQueue
    from heedful.engine.budget import Budget
    from heedful.engine.dry_run import Estimate
    from heedful.engine.inputs import Fingerprint
    from heedful.engine.options import RunOptions
    from heedful.engine.shards import DividedJob, Starter
    from heedful.engine.store import Entry
    from heedful.models import Model, Price

__all__ = ["Job"]

PARTS = "parts"
"""The folder, in a run's directory, of the parts that workers work on."""

FEWEST = 2
"""Workers at least, on machines with fewer cores too."""

PAYS_FROM = 600
"""Rows from which processes pay where code does all the work; see docs/scale.md."""

TRUSTED = "trusted_rows"
"""Key under which the store counts the first rows that are known to be the input's."""

Row = TypeVar("Row")
Result = TypeVar("Result")


class Job(ABC, Generic[Row, Result]):
    """The work of a run.

    Attributes:
        assumptions: how long a dry run takes answers to be, in words.
        total: how many rows there are, where that is known before they are read.
        calls_per_row: requests that the work on one row makes side by side; fewer rows are in
            work at a time where there are more.
        divisible: whether other processes can work on parts of the rows: the work on a row needs
            nothing of another's, and leaves nothing but its output.
        by_code: whether code does all the work, so that it takes as long as there are cores.
        stem: what the name of a command's run begins with.
    """

    assumptions: str = ""
    total: int | None = None
    calls_per_row: int = 1
    divisible: bool = False
    by_code: bool = False
    stem: str = "run"

    @property
    @abstractmethod
    def config(self) -> Mapping[str, Any]:
        """All that the outputs depend on, as JSON: a run is resumed only with the same."""

    @property
    def settings(self) -> Mapping[str, Any] | None:
        """Settings on which the outputs depend, and which may change when a run is resumed.

        With other settings all rows are worked on again, from the answers that the run holds.
        """
        return None

    @abstractmethod
    def rows(self) -> Iterable[Item[Row]]:
        """Give the rows, lazily, in the same order at every session of a run."""

    @abstractmethod
    async def work(self, row: Row) -> str:
        """Do the work on one row; return its output as JSON."""

    @abstractmethod
    def encode(self, row: Row) -> str:
        """Encode a row as it is stored, as JSON."""

    @abstractmethod
    def result(
        self, store: Store, progress: Progress, prices: Mapping[str, Price] | None
    ) -> Result:
        """Sum up a finished run, and write its files."""

    def is_unfinished(self, entry: Entry) -> bool:
        """Whether ``retry_failed`` works on a finished row again."""
        return entry.failure is not None

    def begin(self, store: Store) -> None:
        """Record in a run how its numbers are computed, before the first row."""

    def name_input(self) -> None:
        """Name an input that isn't a file in the configuration; only for a run that is saved."""

    def check(self, run: Path | None) -> None:
        """Refuse, before anything is done, what could not be written after it."""

    def resources(self, *, dry: bool) -> AbstractAsyncContextManager[None]:
        """Hold resources that the work needs, such as a pool of processes."""
        del dry
        return nullcontext()

    def rows_where(self, wanted: Callable[[int], bool]) -> Iterable[Item[Row]]:
        """Give the rows as :meth:`rows` does, but those at other places may be empty."""
        del wanted
        return self.rows()

    def follow(
        self, store: Store, prices: Mapping[str, Price] | None
    ) -> AbstractContextManager[Callable[[Entry], None] | None]:
        """Take rows in input order as they finish, so that they needn't be read again for a result.

        :meth:`result` is called inside, once all rows were taken.
        """
        del store, prices
        return nullcontext()

    def preload(self) -> None:
        """Load what takes long and is the same for all rows, in the process that forks workers."""

    def counted(self) -> bytes | None:
        """Give what :meth:`follow` made of a part, where :meth:`add_counted` can add that up."""
        return None

    def add_counted(self, counted: bytes, directory: Path) -> None:
        """Take in a part that another process has followed; its files are in the directory."""
        raise NotImplementedError

    def coverage(self) -> float | None:
        """Return the share of verdicts decided so far; ``None`` where the work decides nothing."""
        return None

    def run(self, **options: Unpack[RunOptions]) -> Result:
        """Do the job in a run.

        Args:
            options: see :class:`~heedful.engine.options.RunOptions`.

        Returns:
            Its result.

        Raises:
            InputError: the input is missing or broken, or changed in the meantime; what was done
                is kept.
            RunError: the directory holds a run with another configuration, or another process
                is writing it.
            StopRunError: no call can succeed any more, or the next may cost more than is left;
                the same call goes on from there.
            UsageError: an option makes no sense.
        """
        return finish(self.run_async(**options))

    async def run_async(self, **options: Unpack[RunOptions]) -> Result:
        """Do the job inside a running event loop; see :meth:`run`."""
        refuse_unusable_options(options, divisible=self.divisible)
        if is_dry_run():
            raise EndOfDryRun(await self.dry_run_async(**options))
        if self._pays_in_processes(options):
            options = {**options, "executor": "processes"}
        prices = options.get("prices")
        with (
            self._dividing(options) as starter,
            self._opened(options) as store,
            self.follow(store, prices) as follow,
        ):
            progress = Progress(
                self.total,
                spent=lambda: dollars_of(store.usage_records(), prices),
                coverage=self.coverage,
                waiting=_waiting,
            )
            async with self._session(store, options, starter) as (queue, unchanged):
                if starter is not None:
                    await _in_shards(self, store, starter, options, progress, unchanged, follow)
                else:
                    await self._in_passes(store, queue, options, progress, unchanged, follow)
            if queue is not None and follow is not None:
                for entry in store.entries():
                    follow(entry)
            done = amount(progress.done, "row")
            counts = progress.resumed, progress.failed
            logger.info("%s done, %d of them before, %d failed", done, *counts)
            result = self.result(store, progress, prices)
            seal(store)
            store.empty_log()
            return result

    def _directory(self, options: RunOptions) -> Path | None:
        """Return the run's directory; a call that names none gets a temporary one."""
        run = options.get("run")
        if run is None and COMMAND.get() is None:
            return None
        if run is None:
            return self.default_run()
        self.name_input()
        return Path(run)

    def default_run(self) -> Path:
        """Return the directory of a command's run that the user hasn't named."""
        self.name_input()
        return unnamed(self.stem, dict(self.config), self.about_dry_run())

    @contextmanager
    def _opened(self, options: RunOptions) -> Iterator[Store]:
        """Open the run for writing, alone, and drop from it what is to be worked on again."""
        directory = self._directory(options)
        self.check(directory)
        with only_writer(directory), refuse_unusable(directory), _reused_run(options) as earlier:
            store = Store(directory)
            store.guard()
            store.reuse(earlier)
            store.configure(self.config)
            refuse_incomplete(store)
            unseal(store)
            _absorb(store)
            drop_damaged(store)
            if _changed(store, self.settings):
                store.forget(store.done())
                store.set_meta("settings", self.settings)
            store.set_meta("total", self.total)
            self.begin(store)
            if options.get("retry_failed"):
                store.set_meta("retries", (store.meta("retries") or 0) + 1)
                store.forget(self._unfinished(store))
            yield store

    def _pays_in_processes(self, options: RunOptions) -> bool:
        """Whether a command that names no executor is to use several cores; say so."""
        # In Python the caller decides: a process with threads or a GPU must not be forked unasked.
        if "executor" in options or COMMAND.get() is None or not self.by_code:
            return False
        cores, rows = options.get("workers") or available_cores(), self.total or 0
        if cores < FEWEST or rows < PAYS_FROM or sys.platform != "linux":  # macOS may not fork late
            return False
        if options.get("on_progress") is not ignore:
            why = f"code decides, and there are {amount(rows, 'row')}"
            sys.stderr.write(f"{cores} processes: {why} (--executor local: one)\n")
        return True

    @contextmanager
    def _dividing(self, options: RunOptions) -> Iterator[Starter | None]:
        """Give what starts workers, where they are to work on parts of the rows."""
        executor = executor_of(options)
        if executor not in DIVIDING:
            yield None
            return
        from heedful.engine.workers import Processes, RayTasks

        self.name_input()  # rows that can be read only once are kept
        made = Processes if executor == "processes" else RayTasks
        workers = options.get("workers") or available_cores(FEWEST)
        workers = min(workers, options.get("concurrency", CONCURRENCY))  # each makes a call
        with closing(made(self, options.get("prices"), workers)) as starter:
            yield starter

    @asynccontextmanager
    async def _session(
        self, store: Store, options: RunOptions, starter: Starter | None
    ) -> AsyncIterator[tuple[BatchQueue | None, int | None]]:
        """Give the queue of calls in batches, and how many rows are trusted."""
        try:
            with recorded(store):
                async with AsyncExitStack() as stack:
                    queue = None
                    if starter is None:
                        queue = await stack.enter_async_context(_calling(store, options))
                        await stack.enter_async_context(self.resources(dry=False))
                    with _unchanged(self.config, store) as trusted:
                        yield queue, trusted
        except HeedfulError as error:
            logger.critical("stopped: %s", error)
            raise

    async def _in_passes(
        self,
        store: Store,
        queue: BatchQueue | None,
        options: RunOptions,
        progress: Progress,
        unchanged: int | None,
        follow: Callable[[Entry], None] | None,
    ) -> None:
        """Work on the rows in this process, until batches that calls were put into answered all."""
        on_progress = shown(options)
        resumed: int | None = None

        def tell(note: str) -> None:
            progress.note = note
            on_progress(progress)

        while True:
            await run_all(
                self.rows(),
                self.work,
                store,
                encode=self.encode,
                concurrency=self.rows_at_a_time(options.get("concurrency", CONCURRENCY)),
                progress=progress,
                on_progress=on_progress,
                trusted=unchanged if resumed is None else None,  # compared in the first pass
                follow=follow if queue is None else None,
            )
            resumed = progress.resumed if resumed is None else resumed
            progress.resumed = resumed
            if queue is None or not progress.postponed:
                return
            if next(iter(self.rows()), None) is None:
                raise UsageError(
                    "--executor batch reads the rows several times, and these can be read only "
                    "once",
                    hint="give a file or a list",
                )
            await queue.exchange(tell)
            progress.begin_pass()

    def rows_at_a_time(self, concurrency: int) -> int:
        """Return how many rows are in work where so many calls may be in flight."""
        # One row more, so that none waits for the slowest request of another.
        return -(-concurrency // self.calls_per_row) + (self.calls_per_row > 1)

    def dry_run(self, **options: Unpack[RunOptions]) -> Estimate:
        """Count what :meth:`run` with the same options would request and spend.

        Rows are prepared, code decides what it can, and prompts are rendered; only the models
        aren't called. What the run's directory holds isn't counted, and nothing is written.

        Args:
            options: as for :meth:`run`.

        Raises:
            InputError: the input is missing or broken.
            RunError: the directory holds a run with another configuration.
            UsageError: an option makes no sense.
        """
        return finish(self.dry_run_async(**options))

    async def dry_run_async(self, **options: Unpack[RunOptions]) -> Estimate:
        """Count inside a running event loop; see :meth:`dry_run`."""
        from heedful.engine.call_cache import CACHE_TOKENS, CallCounter, cache_calls
        from heedful.models.pricing import BATCH_SHARE

        refuse_unusable_options(options, divisible=self.divisible)
        prices = options.get("prices")
        retry = bool(options.get("retry_failed"))
        directory = self._directory(options)
        with (
            _reused_run(options) as earlier,
            opened_for_dry_run(directory, self.config) as store,
        ):
            store.reuse(earlier)
            remaining = RemainingRows(self.rows(), store, self._again(store, retry=retry))
            retries = (store.meta("retries") or 0) + retry
            with Store(None) as counted:
                tokens = options.get("prefix_cache", CACHE_TOKENS)
                counter = CallCounter(counted, tokens, _in_batches(store))
                async with (
                    cache_calls(store, retries=retries, counter=counter),
                    self.resources(dry=True),
                ):
                    progress = await run_all(
                        remaining,
                        self._uncalled,
                        counted,
                        encode=lambda _: "",
                        concurrency=1,
                        on_progress=options.get("on_progress", ignore),
                    )
                cost = CostSummary(counted.usage_records(), prices).result()
            spent = CostSummary(store.usage_records(), prices).result()["dollars"]
        halved = None if cost["dollars"] is None else cost["dollars"] * BATCH_SHARE
        read = progress.read + remaining.done
        rows = {"read": read, "done": remaining.done, "failed": progress.failed}
        rows |= self.counts_dry_run()
        return {
            **self.about_dry_run(),
            "assumptions": self.assumptions,
            "rows": rows,
            **cost,
            "batch_dollars": halved if counter.batches else None,
            "prefix_tokens": counter.prefix_tokens,
            "images": counter.images,
            "reused": counter.reused,
            "submitted": counter.submitted,
            "spent": spent,
        }

    def about_dry_run(self) -> dict[str, Any]:
        """Name the models that would be called, for the head of an estimate."""
        return {}

    def counts_dry_run(self) -> dict[str, int]:
        """Count more of the rows that a dry run went through."""
        return {}

    async def _uncalled(self, row: Row) -> str:
        with suppress(ModelError):  # raised in place of each call
            await self.work(row)
        return ""

    def _again(self, store: Store, *, retry: bool) -> Iterator[int]:
        if _changed(store, self.settings):
            return store.done()
        return self._unfinished(store) if retry else iter(())

    def _unfinished(self, store: Store) -> Iterator[int]:
        return (entry.position for entry in store.entries() if self.is_unfinished(entry))


def _changed(store: Store, settings: Mapping[str, Any] | None) -> bool:
    """Whether the run had other settings so far, so that all rows are to be worked on again."""
    return settings is not None and store.meta("settings") != settings


def _waiting() -> tuple[int, float]:
    """Count the calls that pause before another attempt, where any model was imported."""
    attempts = sys.modules.get("heedful.models.faults")
    return (0, 0.0) if attempts is None else attempts.waiting()


@contextmanager
def _unchanged(config: Mapping[str, Any], store: Store) -> Iterator[int | None]:
    """Hold that the inputs are the same at the end of a session as at its beginning.

    This holds however it ends: rows of a session that could not check are compared in the next.
    """
    files = list(fingerprints(config))
    before = store.count()
    changed: list[Fingerprint] = []
    try:
        yield (store.meta(TRUSTED) or 0) if files else None
    finally:
        changed.extend(file for file in files if not file.unchanged())
        if files and not changed:
            store.set_meta(TRUSTED, store.count())
    if changed:
        read = store.count() - before
        raise InputError(
            f"the input changed while it was read; the {amount(read, 'row')} read since then may "
            "be missing some, or be a mixture, so the run is not finished",
            where=str(changed[0].path),
            hint="put the file back and give the same command again: no answer is paid for twice; "
            "or name another --run for the file as it is now",
        )


@contextmanager
def _reused_run(options: RunOptions) -> Iterator[Store | None]:
    """Open the run whose answers are taken, if there is one."""
    reuse = options.get("reuse")
    if reuse is None:
        yield None
        return
    from heedful.engine.reader import Reader

    with Reader(Path(reuse)) as earlier:
        if waiting := len(_in_batches(earlier)):
            raise RunError(
                f"{amount(waiting, 'request')} of it in batches would be paid for twice",
                where=str(reuse),
                hint="fetch them first: re-run the command that submitted them",
            )
        yield earlier


def _in_batches(store: Store) -> set[bytes]:
    """Return the keys of the calls that were submitted in batches and have no answer yet."""
    if not store.meta(OPEN):
        return set()
    return {key for (key,) in store.query("SELECT key FROM batch_requests WHERE answered = 0")}


def _absorb(store: Store) -> None:
    """Take in what a session that was killed left of its parts."""
    if store.directory is not None and (store.directory / PARTS).is_dir():
        from heedful.engine.parts import absorb

        absorb(store, store.directory / PARTS)


async def _in_shards(
    job: DividedJob,
    store: Store,
    starter: Starter,
    options: RunOptions,
    progress: Progress,
    trusted: int | None,
    follow: Callable[[Entry], None] | None,
) -> None:
    """Have workers work on parts of the rows."""
    from heedful.engine.shards import Shards

    _refuse_submitted(store)
    with tempfile.TemporaryDirectory() as folder:
        shards = Shards(
            job,
            store,
            starter,
            progress,
            directory=(store.directory or Path(folder)) / PARTS,
            concurrency=options.get("concurrency", CONCURRENCY),
            budget=_budget(store, options),
            trusted=trusted,
        )
        await shards.run(follow, shown(options))


def _budget(store: Store, options: RunOptions) -> Budget | None:
    max_cost, prices = options.get("max_cost"), options.get("prices")
    if max_cost is None:
        return None
    from heedful.engine.budget import Budget
    from heedful.models.pricing import PRICES

    return Budget(max_cost, PRICES if prices is None else prices, store.usage_records())


@asynccontextmanager
async def _calling(store: Store, options: RunOptions) -> AsyncIterator[BatchQueue | None]:
    """Have calls go by the store; give the queue of calls in batches.

    A job without models doesn't pay for their import.
    """
    max_cost, prices = options.get("max_cost"), options.get("prices")
    concurrency = options.get("concurrency", CONCURRENCY)
    executor = executor_of(options)
    if executor != "batch":
        _refuse_submitted(store)
    if "heedful.models.base" not in sys.modules and max_cost is None:
        yield None
        return
    from heedful.engine.call_cache import cache_calls
    from heedful.engine.fan_out import first_ahead

    retries = store.meta("retries") or 0
    if executor == "batch":
        from heedful.engine.batches import BatchQueue

        again = bool(options.get("retry_failed"))
        queue = BatchQueue(store, max_cost, prices, buys_again=again)
        try:
            async with cache_calls(store, retries=retries, queue=queue):
                yield queue
        finally:
            await queue.close()
        return
    budget = _budget(store, options)
    async with AsyncExitStack() as stack:
        place: Callable[[Model], Model] = lambda model: model  # noqa: E731 - as a plugin gives it
        if executor != "local":
            from heedful.core.plugins import make

            needs = ("__aenter__", "__aexit__")
            plugin = make(EXECUTOR_PLUGINS, executor, needs=needs, concurrency=concurrency)
            place = await stack.enter_async_context(plugin)
        await stack.enter_async_context(
            cache_calls(store, retries=retries, budget=budget, place=place)
        )
        with first_ahead(concurrency):
            yield None


def _refuse_submitted(store: Store) -> None:
    """Refuse to make calls that are in batches under way."""
    left = store.meta(OPEN)
    if left:
        count = sum(batch["count"] for batch in left.values())
        raise RunError(
            f"{amount(count, 'request')} of this run may be in batches that were submitted",
            where=str(store.directory),
            hint="--executor batch fetches them; otherwise they would be paid for twice",
        )
