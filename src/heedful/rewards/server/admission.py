"""Judging for clients, within limits: samples are accepted, judged, and waited for.

An accepted sample is judged to the end, whether its client still waits or not: the judge's answers
are cached, so a client that tries again gets them. Until then it counts as accepted.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import ClientDisconnect

from heedful.core.errors import HeedfulError, StopRunError, UsageError
from heedful.core.text import amount

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Awaitable,
        Callable,
        Coroutine,
        Iterator,
        Mapping,
        Sequence,
    )

    from heedful.core.nouns import Critique


class RefusedError(HeedfulError):
    """A request is refused as a whole."""

    def __init__(
        self,
        status: int,
        what: str,
        *,
        where: str = "",
        hint: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.status = status  # the status of HTTP
        self.headers = dict(headers or {})  # headers that belong to it


def error_payload(error: HeedfulError) -> dict[str, Any]:
    """Lay out an error for a response body: what is wrong, where, and the hint."""
    return {"what": error.what, "where": error.where, "hint": error.hint}


MIB = 2**20

FULL = 429
"""The status of what is refused since there is no room for it now."""

LONGEST_WAIT_S = 60

RECENT = 0.05
"""The weight of one sample in the running mean of the time that samples take."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a server."""

    capacity: int = 8192  # samples in work at a time; requests beyond them are refused
    batch: int = 4096  # samples in one request
    body: int = 32 * 2**20  # bytes of one request
    bodies: int = 256 * 2**20  # bytes of all requests of which anything is in work
    deadline: float = 150.0  # seconds after which a request is answered with what there is
    grace: float = 30.0  # seconds to answer what was accepted, once the server is stopping
    workers: int = 1  # processes that serve; the limits above hold for each

    def __post_init__(self) -> None:
        """Refuse limits that let nothing through."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value < math.inf:
                raise UsageError(f"the limit {field.name} is {value}", hint="give more than 0")
        if self.batch > self.capacity:
            raise UsageError(
                f"a batch of {self.batch:,} would never fit into a capacity of {self.capacity:,}",
                hint="give a capacity of at least one batch",
            )
        if self.body > self.bodies:
            raise UsageError(
                f"a request of {self.body / MIB:g} MiB would never fit into the "
                f"{self.bodies / MIB:g} MiB for all requests",
                hint="allow at least as much for all as for one",
            )


class Admission:
    """Counts the samples in work, and the bytes of the requests that they are from.

    A server that accepted everything would answer ever later, until its clients timed out and
    tried again; one that refuses at once stays quick.
    """

    def __init__(self, capacity: int, bodies: int) -> None:
        self.capacity = capacity  # how many there may be
        self.bodies = bodies  # how many bytes there may be
        self.held = 0  # how many there are
        self.bytes = 0  # how many there are
        self._seconds: float | None = None

    def enter(self, samples: int) -> None:
        """Accept samples."""
        if self.held + samples > self.capacity:
            raise self._full(
                f"{amount(self.held, 'sample')} of at most {self.capacity:,} are being judged",
                self._wait(samples),
            )
        self.held += samples

    def take(self, size: int) -> None:
        """Accept bytes."""
        if self.bytes + size > self.bodies:
            raise self._full(
                f"requests of {self.bytes / MIB:.1f} MiB are being answered, at most "
                f"{self.bodies / MIB:g} MiB at a time",
                self._wait(1),
            )
        self.bytes += size

    def _full(self, what: str, wait: int) -> RefusedError:
        hint, headers = f"send this again after {wait} s", {"Retry-After": str(wait)}
        return RefusedError(FULL, what, hint=hint, headers=headers)

    def leave(self, seconds: float | None = None, samples: int = 1) -> None:
        """Release samples."""
        self.held -= samples
        if seconds is not None:
            before = seconds if self._seconds is None else self._seconds
            self._seconds = before + RECENT * (seconds - before)

    def _wait(self, samples: int) -> int:
        """Estimate when there is room, by Little's law: held samples leave at held / seconds."""
        too_many = min(self.held + samples - self.capacity, self.held)
        seconds = (self._seconds or 1.0) * too_many / max(self.held, 1)
        return max(1, min(LONGEST_WAIT_S, math.ceil(seconds)))


class Body:
    """The bytes of a request's body, counted while any of it is being judged."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._size = 0
        self._users = 1

    def take(self, size: int) -> None:
        """Grow to this many bytes."""
        if size > self._size:
            self._admission.take(size - self._size)
            self._size = size

    def used_by(self, task: asyncio.Task[Any]) -> None:
        """Hold the bytes until a task is done."""
        self._users += 1
        task.add_done_callback(self.leave)

    def leave(self, _: object = None) -> None:
        """Release the bytes for one user."""
        self._users -= 1
        if not self._users:
            self._admission.bytes -= self._size


T = TypeVar("T")

READ_AT_ONCE = 1024
"""Rows that are samples at a time; others wait as the JSON that they came as, which is smaller."""


class JudgingService:
    """Judges samples for clients, within the limits."""

    def __init__(self, limits: Limits, room: int = READ_AT_ONCE) -> None:
        self.limits = limits
        self._room = asyncio.Semaphore(room)
        self._turn = asyncio.Lock()
        self.admission = Admission(limits.capacity, limits.bodies)
        self.closing = False
        self.unanswered = 0  # rows that were not judged when the server had to stop
        self.failing: StopRunError | None = None  # why no call to the judge's model succeeds
        self._waiting: set[asyncio.Timeout] = set()
        self._resting: set[asyncio.Task[None]] = set()  # rows of requests past their deadline
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
        """Record that the judge's model works, if it was called."""
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
        begin: Callable[[Any, int], Awaitable[T]],
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
        started = self._start(enumerate(rows), begin, counted, tasks)
        try:
            async with asyncio.timeout_at(until) as timeout:
                self._waiting.add(timeout)
                await self._start_all(started, len(rows))
                # Waiting for tasks does not cancel them when it is given up.
                await asyncio.wait(tasks)
        except TimeoutError:
            if len(tasks) < len(rows) and not self.closing:
                self._go_on(self._start_all(started, len(rows) - len(tasks)), counted)
        finally:
            self._waiting.discard(timeout)
        late = [None] * (len(rows) - len(tasks))
        outcomes = [*map(self._outcome, tasks), *late]
        self.unanswered += self.closing * outcomes.count(None)
        return outcomes

    def _start(
        self,
        rows: Iterator[tuple[int, Any]],
        begin: Callable[[Any, int], Awaitable[T]],
        counted: Body | None,
        tasks: list[asyncio.Task[T]],
    ) -> Iterator[None]:
        """Start a row at each step."""
        began = asyncio.get_running_loop().time()
        for at, row in rows:
            task = asyncio.ensure_future(begin(row, at))
            task.add_done_callback(partial(self._release, began))
            if counted is not None:
                counted.used_by(task)
            tasks.append(task)
            yield

    async def _start_all(self, started: Iterator[None], count: int) -> None:
        """Start the rows one by one, taking turns with other requests.

        Reading a row and deciding it by code may take milliseconds, so only one row does so before
        the loop goes on to whatever else has arrived.
        """
        for _ in range(count):
            async with self._turn:
                await self._room.acquire()
                next(started)
                await asyncio.sleep(0)

    def _go_on(self, starting: Coroutine[Any, Any, None], counted: Body | None) -> None:
        """Judge the rows that were not started in time; their client may ask for them again."""
        rest = asyncio.create_task(starting)
        self._resting.add(rest)
        rest.add_done_callback(self._resting.discard)
        if counted is not None:
            counted.used_by(rest)

    def _release(self, began: float, task: asyncio.Task[Any]) -> None:
        self._room.release()
        self.admission.leave(task.get_loop().time() - began)
        if not task.cancelled():
            task.exception()  # looked at, as its client may be gone

    def _outcome(self, task: asyncio.Task[T]) -> T | None:
        if not task.done() or task.cancelled():
            return None
        try:
            return task.result()
        except StopRunError as error:
            self.failing = error
            raise
