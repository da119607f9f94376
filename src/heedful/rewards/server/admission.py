"""Judging for clients: samples are accepted, judged, and waited for until the deadline.

An accepted sample is judged to the end, whether its client still waits or not: the judge's answers
are cached, so a client that tries again gets them. Until then it counts as accepted.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import ClientDisconnect

from heedful.core.errors import StopRunError
from heedful.core.text import amount
from heedful.rewards.server.errors import RefusedError
from heedful.rewards.server.limits import FULL, Admission

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Sequence

    from heedful.core.nouns import Critique
    from heedful.rewards.server.limits import Body, Limits

T = TypeVar("T")

READ_AT_ONCE = 1024
"""Rows that are samples at a time; others wait as the JSON that they came as, which is smaller."""


class JudgingService:
    """Judges samples for clients, within the limits.

    Attributes:
        limits: the server's limits.
        admission: counts the accepted samples.
        closing: whether the server is stopping.
        unanswered: rows that were not judged when the server had to stop.
        failing: why no call to the judge's model succeeds, while that is so.
    """

    def __init__(self, limits: Limits, room: int = READ_AT_ONCE) -> None:
        """Accept samples from now on, and judge so many at a time."""
        self.limits = limits
        self._room = asyncio.Semaphore(room)
        self._turn = asyncio.Lock()
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
        rows: Sequence[Any],
        judge: Callable[[Any, int], Coroutine[Any, Any, T]],
        counted: Body | None,
        until: float,
    ) -> list[T | None]:
        """Judge rows and wait until the deadline; ``None`` stands for a row not judged yet."""
        if len(rows) > self.limits.batch:
            raise RefusedError(
                413,
                f"the request has {amount(len(rows), 'sample')}, at most {self.limits.batch:,} "
                "are taken",
                hint="send several smaller requests",
            )
        self.admission.enter(len(rows))
        tasks: list[asyncio.Task[T]] = []
        batch = asyncio.create_task(self._work_through(rows, judge, tasks))
        if counted is not None:
            counted.used_by(batch)
        await self._wait(batch, until)
        if self.closing:
            batch.cancel()
        late = [None] * (len(rows) - len(tasks))
        outcomes = [*map(self._outcome, tasks), *late]
        self.unanswered += self.closing * outcomes.count(None)
        return outcomes

    async def _work_through(
        self,
        rows: Sequence[Any],
        judge: Callable[[Any, int], Coroutine[Any, Any, T]],
        tasks: list[asyncio.Task[T]],
    ) -> None:
        """Begin to judge one row after the other, taking turns with other requests.

        Reading a row and deciding it by code may take milliseconds, so only one row does so before
        the loop goes on to whatever else has arrived.
        """
        began = asyncio.get_running_loop().time()
        for at, row in enumerate(rows):
            await self._room.acquire()
            async with self._turn:
                task = asyncio.create_task(judge(row, at))
                task.add_done_callback(partial(self._release, began))
                tasks.append(task)
                await asyncio.sleep(0)
        await asyncio.wait(tasks)

    def _release(self, began: float, task: asyncio.Task[Any]) -> None:
        self._room.release()
        self.admission.leave(task.get_loop().time() - began)
        if not task.cancelled():
            task.exception()  # looked at, as its client may be gone

    async def _wait(self, batch: asyncio.Task[None], until: float) -> None:
        try:
            async with asyncio.timeout_at(until) as timeout:
                self._waiting.add(timeout)
                # Waiting for a task does not cancel it when it is given up.
                await asyncio.wait([batch])
        except TimeoutError:
            pass
        finally:
            self._waiting.discard(timeout)

    def _outcome(self, task: asyncio.Task[T]) -> T | None:
        if not task.done() or task.cancelled():
            return None
        try:
            return task.result()
        except StopRunError as error:
            self.failing = error
            raise
