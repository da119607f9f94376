"""One driver for all jobs: durable, cached, within a budget, resumable, or only counted.

A job defines its rows, the work on each, what its outputs depend on, and its result.
:meth:`Job.run` does the work in a run's directory; :meth:`Job.dry_run` counts the calls that it
would make, without making any and without writing anything.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from heedful.core.errors import HeedfulError, ModelError
from heedful.core.log import logger
from heedful.core.text import amount
from heedful.engine.cost import CostSummary
from heedful.engine.dry_run import EndOfDryRun, RemainingRows, is_dry_run, opened_for_dry_run
from heedful.engine.executors import calls_in, in_passes
from heedful.engine.inputs import fingerprints
from heedful.engine.integrity import refuse_unusable
from heedful.engine.lock import only_writer
from heedful.engine.options import CONCURRENCY, executor_of, ignore, refuse_unusable_options
from heedful.engine.progress import by_default
from heedful.engine.reuse import in_batches, reused_run
from heedful.engine.runner import Item, Progress, finish
from heedful.engine.runner import run as run_all
from heedful.engine.salvage import drop_damaged, refuse_incomplete, seal, unseal
from heedful.engine.sessions import recorded
from heedful.engine.store import Store
from heedful.engine.unchanged import unchanged

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager, AbstractContextManager
    from typing import Unpack

    from heedful.engine.batches import BatchQueue
    from heedful.engine.dry_run import Estimate
    from heedful.engine.inputs import Fingerprint
    from heedful.engine.options import RunOptions
    from heedful.engine.store import Entry
    from heedful.models import Price

__all__ = ["Job"]

Row = TypeVar("Row")
Result = TypeVar("Result")


class Job(ABC, Generic[Row, Result]):
    """The work of a run.

    Attributes:
        assumptions: how long a dry run takes answers to be, in words.
        total: how many rows there are, where that is known before they are read.
        calls_per_row: requests that the work on one row makes side by side; fewer rows are in
            work at a time where there are more.
        sendable: whether rows can be worked on in other processes.
    """

    assumptions: str = ""
    total: int | None = None
    calls_per_row: int = 1
    sendable: bool = False

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

    def decode(self, text: str) -> Row:
        """Read what :meth:`encode` wrote; jobs that are ``sendable`` can."""
        raise NotImplementedError(text)

    def follow(
        self, store: Store, prices: Mapping[str, Price] | None
    ) -> AbstractContextManager[Callable[[Entry], None] | None]:
        """Take rows in input order as they finish, so that they needn't be read again for a result.

        :meth:`result` is called inside, once all rows were taken.
        """
        del store, prices
        return nullcontext()

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
        refuse_unusable_options(options, sendable=self.sendable)
        directory = _directory(options)
        if is_dry_run():
            raise EndOfDryRun(await self.dry_run_async(**options))
        self.check(directory)
        if directory is not None:
            self.name_input()
        config = self.config
        with only_writer(directory), refuse_unusable(directory), reused_run(options) as earlier:
            store = Store(directory)
            store.reuse(earlier)
            store.configure(config)
            refuse_incomplete(store)
            unseal(store)
            drop_damaged(store)
            if _changed(store, self.settings):
                store.forget(list(store.done()))
                store.set_meta("settings", self.settings)
            self.begin(store)
            if options.get("retry_failed"):
                store.set_meta("retries", (store.meta("retries") or 0) + 1)
                store.forget(list(self._unfinished(store)))
            prices = options.get("prices")
            files = list(fingerprints(config))
            with self.follow(store, prices) as follow:
                progress = await self._carry_out(store, files, options, follow)
                result = self.result(store, progress, prices)
            seal(store)
            store.empty_log()
            return result

    async def _carry_out(
        self,
        store: Store,
        files: Sequence[Fingerprint],
        options: RunOptions,
        follow: Callable[[Entry], None] | None,
    ) -> Progress:
        """Work on what the store has no output for."""
        prices = options.get("prices")
        progress = Progress(
            self.total,
            spent=lambda: _spent(store, prices),
            coverage=self.coverage,
            waiting=_waiting,
        )
        try:
            with recorded(store):
                async with calls_in(store, options) as queue, self.resources(dry=False):
                    with unchanged(files, store) as trusted:
                        await self._work_through(store, progress, options, trusted, follow, queue)
        except HeedfulError as error:
            logger.critical("stopped: %s", error)
            raise
        rows = amount(progress.done, "row")
        logger.info(
            "%s done, %d of them before, %d failed", rows, progress.resumed, progress.failed
        )
        return progress

    async def _work_through(
        self,
        store: Store,
        progress: Progress,
        options: RunOptions,
        trusted: int | None,
        follow: Callable[[Entry], None] | None,
        queue: BatchQueue | None,
    ) -> None:
        """Work on the rows: once, or in passes where calls are put into batches."""
        on_progress = options.get("on_progress") or by_default()
        work: Callable[[Row], Awaitable[str]] = self.work
        encode: Callable[[Row], str] = self.encode

        async def one_pass(follow: Callable[[Entry], None] | None = None) -> Progress:
            nonlocal trusted
            trust, trusted = trusted, None  # what was compared in this session is trusted
            return await run_all(
                self.rows(),
                work,
                store,
                encode=encode,
                concurrency=self._rows_at_a_time(options),
                progress=progress,
                on_progress=on_progress,
                trusted=trust,
                follow=follow,
            )

        if executor_of(options) == "processes":
            from heedful.engine.processes import worker_processes

            async with worker_processes(self, store) as workers:
                work, encode = workers.work, workers.encode
                await one_pass(follow)
            return
        if queue is None:
            await one_pass(follow)
            return
        again = lambda: next(iter(self.rows()), None) is not None  # noqa: E731 - one line
        await in_passes(one_pass, queue, again, on_progress)
        if follow is not None:
            for entry in store.entries():
                follow(entry)

    def _rows_at_a_time(self, options: RunOptions) -> int:
        concurrency = options.get("concurrency", CONCURRENCY)
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
        from heedful.engine.call_cache import cache_calls
        from heedful.engine.call_counter import CallCounter
        from heedful.engine.prefixes import CACHE_TOKENS

        refuse_unusable_options(options, sendable=self.sendable)
        prices = options.get("prices")
        retry = bool(options.get("retry_failed"))
        if _directory(options) is not None:
            self.name_input()
        with (
            reused_run(options) as earlier,
            opened_for_dry_run(_directory(options), self.config) as store,
        ):
            store.reuse(earlier)
            remaining = RemainingRows(self.rows(), store, self._again(store, retry=retry))
            retries = (store.meta("retries") or 0) + retry
            with Store(None) as counted:
                tokens = options.get("prefix_cache", CACHE_TOKENS)
                counter = CallCounter(counted, tokens, in_batches(store))
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
        read = progress.read + remaining.done
        rows = {"read": read, "done": remaining.done, "failed": progress.failed}
        rows |= self.counts_dry_run()
        return {
            **self.about_dry_run(),
            "assumptions": self.assumptions,
            "rows": rows,
            **cost,
            "batch_dollars": _halved(cost["dollars"]) if counter.batches else None,
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


def _directory(options: RunOptions) -> Path | None:
    run = options.get("run")
    return None if run is None else Path(run)


def _changed(store: Store, settings: Mapping[str, Any] | None) -> bool:
    """Whether the run had other settings so far, so that all rows are to be worked on again."""
    return settings is not None and store.meta("settings") != settings


def _halved(dollars: float | None) -> float | None:
    """Return what calls cost through a batch endpoint."""
    from heedful.models.pricing import BATCH_SHARE

    return None if dollars is None else dollars * BATCH_SHARE


def _spent(store: Store, prices: Mapping[str, Price] | None) -> float | None:
    """Price the calls of a run; ``None`` where there are none, or a price is not known."""
    costs = CostSummary(store.usage_records(), prices)
    dollars: float | None = costs.result()["dollars"] if costs else None
    return dollars


def _waiting() -> tuple[int, float]:
    """Count the calls that pause before another attempt, where any model was imported."""
    attempts = sys.modules.get("heedful.models.attempts")
    return (0, 0.0) if attempts is None else attempts.waiting()
