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

    from heedful.core.nouns import Critique, Sample
    from heedful.engine.store import Store, UsageRecord
    from heedful.rewards.terms import Rewarded

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RewardSession:
    """A reward at work in one event loop.

    Judging continues when nobody waits for it any more: its answers are cached, and others may wait
    for the same.
    """

    # begins to judge a response as far as its reward depends on it; the task raises StopRunError
    # as Reward.score does
    reward: Callable[[Sample], asyncio.Task[Rewarded]]
    # begins to judge a response's whole checklist; no reward is counted
    critique: Callable[[Sample], asyncio.Task[Critique]]


class Foreground:
    """Runs coroutines in the running loop, caching their models' answers in a store.

    Make it inside :func:`~heedful.engine.call_cache.cache_calls` with that store, in its context.
    """

    def __init__(self, store: Store, concurrency: int) -> None:
        self.turn = asyncio.Semaphore(concurrency)  # bounds how many responses are judged at a time
        self.tasks: set[asyncio.Task[Any]] = set()
        self._store = store
        self._context = copy_context()

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine; it goes on when nobody waits for it any more."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(work, context=self._context.copy())
        self.tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def usage_records(self) -> list[UsageRecord]:
        """Return the usage of all calls, summed up by judge and model."""
        return list(self._store.usage_records())

    async def close(self) -> None:
        """Cancel running tasks."""
        tasks = list(self.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled():
            task.exception()  # looked at, as maybe nobody waits for it any more


class Background:
    """Runs coroutines in a loop in a thread of its own."""

    def __init__(self, store: Store, concurrency: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        ready: Future[Foreground] = Future()
        # The thread knows nothing of this object: one that is forgotten must not keep it.
        self._thread = threading.Thread(
            target=_live,
            args=(self._loop, _keep_cache(store, concurrency, ready, self._stop)),
            name="heedful-reward",
            daemon=True,
        )
        self._thread.start()
        self._place = ready.result()
        self.turn = self._place.turn
        self._end = weakref.finalize(
            self, _end, self._loop, self._stop, self._place.tasks, self._thread
        )

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the loop; the future may be waited for in any thread or loop."""
        done: Future[T] = Future()
        place = self._place

        def begin() -> None:
            if done.set_running_or_notify_cancel():
                place.begin(work).add_done_callback(lambda ended: _deliver(ended, done))
            else:  # whoever waited has gone
                work.close()

        self._loop.call_soon_threadsafe(begin)
        return done

    def usage_records(self) -> list[UsageRecord]:
        """Return the usage of all calls, summed up by judge and model."""
        place = self._place

        async def records() -> list[UsageRecord]:
            return place.usage_records()

        return self.submit(records()).result()

    def close(self) -> None:
        """Finish what is under way, close the models and the store, and end the thread."""
        if self._end.detach() is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()


def _live(loop: asyncio.AbstractEventLoop, life: Coroutine[Any, Any, None]) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(life)
    finally:
        loop.close()


async def _keep_cache(
    store: Store, concurrency: int, ready: Future[Foreground], stop: asyncio.Event
) -> None:
    """Cache answers until a stop is requested and all requests are answered."""
    async with cache_calls(store):
        place = Foreground(store, concurrency)
        ready.set_result(place)
        await stop.wait()
        while place.tasks:
            await asyncio.wait(place.tasks)
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
