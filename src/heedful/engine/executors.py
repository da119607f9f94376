"""Executors: where the calls of a run are made."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from heedful.core.errors import RunError, UsageError
from heedful.core.text import amount
from heedful.engine.options import CONCURRENCY, EXECUTOR_PLUGINS, executor_of
from heedful.engine.postponed import OPEN

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from heedful.engine.batches import BatchQueue
    from heedful.engine.options import RunOptions
    from heedful.engine.runner import Progress
    from heedful.engine.store import Store
    from heedful.models import Model

__all__: list[str] = []


@asynccontextmanager
async def calls_in(store: Store, options: RunOptions) -> AsyncIterator[BatchQueue | None]:
    """Cache calls in a run's store and record their usage.

    A job without models doesn't pay for their import.
    """
    max_cost, prices = options.get("max_cost"), options.get("prices")
    executor = executor_of(options)
    batched = executor == "batch"
    if executor == "processes" and max_cost is not None:
        raise UsageError(
            "--max-cost cannot be enforced across several processes", hint="use --executor local"
        )
    left = store.meta(OPEN)
    if left and not batched:
        count = sum(batch["count"] for batch in left.values())
        raise RunError(
            f"{amount(count, 'request')} of this run may be in batches that were submitted",
            where=str(store.directory),
            hint="--executor batch fetches them; otherwise they would be paid for twice",
        )
    if "heedful.models.base" not in sys.modules and max_cost is None:
        yield None
        return
    from heedful.engine.call_cache import cache_calls
    from heedful.engine.fan_out import first_ahead
    from heedful.models.pricing import PRICES

    retries = store.meta("retries") or 0
    if batched:
        from heedful.engine.batches import BatchQueue

        again = bool(options.get("retry_failed"))
        queue = BatchQueue(store, max_cost, prices, buys_again=again)
        try:
            async with cache_calls(store, retries=retries, queue=queue):
                yield queue
        finally:
            await queue.close()
        return
    budget = None
    if max_cost is not None:
        from heedful.engine.budget import Budget

        budget = Budget(max_cost, PRICES if prices is None else prices, store.usage_records())
    async with (
        _placed(executor, options) as place,
        cache_calls(store, retries=retries, budget=budget, place=place),
    ):
        # In a batch nothing can go ahead.
        with first_ahead(options.get("concurrency", CONCURRENCY)):
            yield None


@asynccontextmanager
async def _placed(executor: str, options: RunOptions) -> AsyncIterator[Callable[[Model], Model]]:
    """Give what returns a model to call in a model's place."""
    concurrency = options.get("concurrency", CONCURRENCY)
    if executor in {"local", "processes"}:
        yield lambda model: model
    elif executor == "ray":
        from heedful.engine.ray_calls import ray_calls

        async with ray_calls(concurrency) as place:
            yield place
    else:
        from heedful.core.plugins import make

        needs = ("__aenter__", "__aexit__")
        plugin = make(EXECUTOR_PLUGINS, executor, needs=needs, concurrency=concurrency)
        async with plugin as place:
            yield place


async def in_passes(
    one_pass: Callable[[], Awaitable[Progress]],
    queue: BatchQueue,
    again: Callable[[], bool],
    on_progress: Callable[[Progress], None],
) -> None:
    """Go through the rows until all are done, and exchange batches between two passes."""
    resumed: int | None = None
    while True:
        progress = await one_pass()
        resumed = progress.resumed = progress.resumed if resumed is None else resumed
        if not progress.postponed:
            return
        if not again():
            raise UsageError(
                "--executor batch reads the rows several times, and these can be read only once",
                hint="give a file or a list",
            )

        def tell(note: str, progress: Progress = progress) -> None:
            progress.note = note
            on_progress(progress)

        await queue.exchange(tell)
        progress.begin_pass()
