"""Judging for clients: samples are accepted, judged, and waited for until the deadline.

An accepted sample is judged to the end, whether its client still waits or not: the judge's answers
are cached, so a client that tries again gets them. Until then it counts as accepted.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import ClientDisconnect

from heedful.core.errors import HeedfulError, StopRunError
from heedful.core.text import amount
from heedful.rewards.server.errors import RefusedError
from heedful.rewards.server.limits import FULL, Admission

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence

    from heedful.core.nouns import Critique, Sample
    from heedful.rewards.server.limits import Body, Limits

T = TypeVar("T")

SLICE_S = 0.01
"""Seconds that a batch is worked on before others get their turn."""


class LateError(HeedfulError):
    """A row was not judged when its request had to be answered; it may be by now."""


class JudgingService:
    """Judges samples for clients, within the limits.

    Attributes:
        limits: the server's limits.
        admission: counts the accepted samples.
        closing: whether the server is stopping.
        unanswered: rows that were not judged when the server had to stop.
        failing: why no call to the judge's model succeeds, while that is so.
    """

    def __init__(self, limits: Limits) -> None:
        """Accept samples from now on."""
        self.limits = limits
        self.admission = Admission(limits.capacity, limits.bodies)
        self.closing = False
        self.unanswered = 0
        self.failing: StopRunError | None = None
        self._waiting: set[asyncio.Timeout] = set()
        self._closes = float("inf")

    def deadline(self) -> float:
        """Return when a request that arrives now must be answered, in the loop's time."""
        return min(asyncio.get_running_loop().time() + self.limits.deadline, self._closes)

    def close(self, grace: float) -> None:
        """Stop waiting for judges after a while, however far requests are."""
        self.closing = True
        self._closes = min(self._closes, asyncio.get_running_loop().time() + grace)
        for timeout in self._waiting:
            when = timeout.when()
            timeout.reschedule(self._closes if when is None else min(when, self._closes))

    def answered(self, critique: Critique) -> None:
        """Note that the judge's model has answered, if it has."""
        if critique.expenses:
            self.failing = None

    async def body(
        self, stream: AsyncIterator[bytes], declared: int, counted: Body, until: float
    ) -> bytearray:
        """Read a request's body, up to the limit and until the deadline."""
        if declared > self.limits.body:
            raise self._too_large()
        try:
            async with asyncio.timeout_at(until):
                try:
                    return await self._read(stream, declared, counted)
                except RefusedError as refused:
                    if refused.status == FULL:  # who is still sending would not see the answer
                        await self._skip(stream)
                    raise
        except ClientDisconnect:  # nobody reads the answer, and it is no defect to be logged
            raise RefusedError(400, "the client went away") from None
        except TimeoutError:
            raise RefusedError(
                408, "the request did not come in time", hint="send it faster, or less of it"
            ) from None

    async def _read(self, stream: AsyncIterator[bytes], declared: int, counted: Body) -> bytearray:
        counted.take(declared)
        self.admission.enter(1)  # one at least is to come
        body = bytearray()
        try:
            async for chunk in stream:
                body += chunk
                if len(body) > self.limits.body:
                    raise self._too_large()
                counted.take(len(body))
        finally:
            self.admission.leave(samples=1)
        return body

    async def _skip(self, stream: AsyncIterator[bytes]) -> None:
        size = 0
        async for chunk in stream:
            size += len(chunk)
            if size > self.limits.body:
                raise self._too_large()

    def _too_large(self) -> RefusedError:
        """Say that a body is over the limit."""
        return RefusedError(
            413,
            f"the request is larger than {self.limits.body / 2**20:g} MiB",
            hint="send several smaller requests",
        )

    async def judge(
        self,
        rows: Sequence[Sample | HeedfulError],
        begin: Callable[[Sample], asyncio.Task[T]],
        counted: Body | None,
        until: float,
    ) -> list[T | HeedfulError]:
        """Judge samples and wait until the deadline."""
        samples = [row for row in rows if not isinstance(row, HeedfulError)]
        if len(rows) > self.limits.batch:
            raise RefusedError(
                413,
                f"the request has {amount(len(rows), 'sample')}, at most {self.limits.batch:,} "
                "are taken",
                hint="send several smaller requests",
            )
        self.admission.enter(len(samples))
        tasks = await self._begin(samples, begin)
        if counted is not None:
            for task in tasks:
                counted.used_by(task)
        await self._wait(tasks, until)
        done = iter(tasks)
        return [row if isinstance(row, HeedfulError) else self._outcome(next(done)) for row in rows]

    async def _begin(
        self, samples: Sequence[Sample], begin: Callable[[Sample], asyncio.Task[T]]
    ) -> list[asyncio.Task[T]]:
        loop = asyncio.get_running_loop()

        def begun(sample: Sample) -> asyncio.Task[T]:
            task = begin(sample)
            task.add_done_callback(partial(self._release, loop.time()))
            return task

        return await sliced(begun, samples)

    def _release(self, began: float, task: asyncio.Task[Any]) -> None:
        self.admission.leave(task.get_loop().time() - began)

    async def _wait(self, tasks: Sequence[asyncio.Task[T]], until: float) -> None:
        if not tasks:
            return
        try:
            async with asyncio.timeout_at(until) as timeout:
                self._waiting.add(timeout)
                # Waiting for tasks does not cancel them when it is given up.
                await asyncio.wait(tasks)
        except TimeoutError:
            pass
        finally:
            self._waiting.discard(timeout)

    def _outcome(self, task: asyncio.Task[T]) -> T | LateError:
        if not task.done() or task.cancelled():
            self.unanswered += self.closing
            what = "the server is stopping" if self.closing else "the deadline has passed"
            return LateError(
                f"not judged yet, and {what}", hint="send it again; answers are cached"
            )
        try:
            return task.result()
        except StopRunError as error:
            self.failing = error
            raise


async def sliced(work: Callable[..., T], *columns: Iterable[Any]) -> list[T]:
    """Do some work for each sample of a batch, yielding to other requests in between."""
    done = []
    began = time.perf_counter()
    for given in zip(*columns, strict=True):
        done.append(work(*given))
        if time.perf_counter() - began > SLICE_S:
            await asyncio.sleep(0)
            began = time.perf_counter()
    return done
