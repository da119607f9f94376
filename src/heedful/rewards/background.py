"""The event loop in which a reward judges: in a thread of its own, or a server's.

Trainers call from their main thread, from several threads, or from loops of their own. A model's
connections and limits belong to one loop, and so do shared requests in flight. A
server has a loop already, and a second thread would only contend with it for the interpreter.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from heedful.engine.call_cache import cache_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextvars import Context

    from heedful.core.nouns import Critique, Sample
    from heedful.engine.store import Store, UsageRecord
    from heedful.rewards.terms import Rewarded

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RewardSession:
    """A reward at work in one event loop.

    Judging continues when nobody waits for it any more: its answers are cached, and others may wait
    for the same.

    Attributes:
        reward: begins to judge a response as far as its reward depends on it; the task raises
            :class:`~heedful.core.errors.StopRunError` as :meth:`Reward.score` does.
        critique: begins to judge a response's whole checklist; no reward is counted.
    """

    reward: Callable[[Sample], asyncio.Task[Rewarded]]
    critique: Callable[[Sample], asyncio.Task[Critique]]


class Background:
    """Runs coroutines in its own loop, caching their models' answers in a store."""

    def __init__(self, store: Store, concurrency: int) -> None:
        """Start the thread."""
        self.turn = asyncio.Semaphore(concurrency)  # bounds how many responses are judged at a time
        self._store = store
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        stop = asyncio.Event()
        ready: Future[Context] = Future()
        # The thread knows nothing of this object: one that is forgotten must not keep it.
        self._thread = threading.Thread(
            target=_live,
            args=(self._loop, _keep_cache(store, ready, stop, self._tasks)),
            name="heedful-reward",
            daemon=True,
        )
        self._thread.start()
        self._context = ready.result()
        self._stop = stop
        self._end = weakref.finalize(self, _end, self._loop, stop, self._tasks, self._thread)

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the loop; the future may be waited for in any thread or loop."""
        done: Future[T] = Future()
        context, loop, tasks = self._context.copy(), self._loop, self._tasks

        def begin() -> None:
            if not done.set_running_or_notify_cancel():  # whoever waited has gone
                work.close()
                return
            # In the context in which answers are cached.
            task = loop.create_task(work, context=context)
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            task.add_done_callback(lambda ended: _deliver(ended, done))

        loop.call_soon_threadsafe(begin)
        return done

    def usage_records(self) -> list[UsageRecord]:
        """Return the usage of all calls, summed up by judge and model."""

        async def records() -> list[UsageRecord]:
            return list(self._store.usage_records())

        return self.submit(records()).result()

    def close(self) -> None:
        """Finish what is under way, close the models and the store, and end the thread."""
        if self._end.detach() is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()


class Foreground:
    """Runs coroutines in the running loop, caching their models' answers in a store.

    Make it inside :func:`~heedful.engine.call_cache.cache_calls` with that store, in its context.
    """

    def __init__(self, store: Store, concurrency: int) -> None:
        """Take the running loop and the present context."""
        self.turn = asyncio.Semaphore(concurrency)  # bounds how many responses are judged at a time
        self._store = store
        self._context = copy_context()
        self._tasks: set[asyncio.Task[Any]] = set()

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine; it goes on when nobody waits for it any more."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(work, context=self._context.copy())
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def usage_records(self) -> list[UsageRecord]:
        """Return the usage of all calls, summed up by judge and model."""
        return list(self._store.usage_records())

    async def close(self) -> None:
        """Cancel running tasks."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # looked at, as maybe nobody waits for it any more


def _live(loop: asyncio.AbstractEventLoop, life: Coroutine[Any, Any, None]) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(life)
    finally:
        loop.close()


async def _keep_cache(
    store: Store, ready: Future[Context], stop: asyncio.Event, tasks: set[asyncio.Task[Any]]
) -> None:
    """Cache answers until a stop is requested and all requests are answered."""
    async with cache_calls(store):
        ready.set_result(copy_context())
        await stop.wait()
        while tasks:
            await asyncio.wait(tasks)
    store.close()


def _end(
    loop: asyncio.AbstractEventLoop,
    stop: asyncio.Event,
    tasks: set[asyncio.Task[Any]],
    thread: threading.Thread,
) -> None:
    """End the thread of an object that is gone, or at the interpreter's exit, and wait for that."""

    def drop() -> None:
        for task in tasks:
            task.cancel()
        stop.set()

    loop.call_soon_threadsafe(drop)
    if thread is not threading.current_thread():
        thread.join()


def _deliver(ended: asyncio.Task[T], done: Future[T]) -> None:
    """Hand over the result of a task."""
    error = asyncio.CancelledError() if ended.cancelled() else ended.exception()
    if error is None:
        done.set_result(ended.result())
    else:
        done.set_exception(error)
