"""Limits on concurrent calls, and on calls and tokens per minute.

The number in flight goes up by a little while calls succeed and is halved when the other side is
overloaded (additive increase, multiplicative decrease, as TCP does with a network).
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Self
from weakref import WeakSet

__all__ = ["AdaptiveLimiter"]

LARGEST_STEP = 1 / 32
SMALL_STEP = 1 / 4
"""A round trip without an overload adds this share of the maximum to the limit, but no more than
that share of the limit itself, and at least 1: some forty round trips from 1 to any maximum.
"""

SLACK_SECONDS = 0.05
"""Burst, in seconds of the pace: a late timer must not lower the rate."""


class Permit:
    """Permit for one call, held inside ``async with``.

    Set ``tokens`` to how many were used, and the difference is booked when the call ends.
    """

    __slots__ = ("_booked", "_limiter", "tokens")

    def __init__(self, limiter: AdaptiveLimiter, tokens: int) -> None:
        self._limiter = limiter
        self._booked = self.tokens = tokens

    async def __aenter__(self) -> Self:
        """Wait for the permit."""
        await self._limiter.acquire(self._booked)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *about: object) -> None:
        """Give the place to the next call; one that ends without an exception was a success."""
        self._limiter.release(self.tokens - self._booked, succeeded=kind is None)


_limiters: WeakSet[AdaptiveLimiter] = WeakSet()


class AdaptiveLimiter:
    """Limiter that admits calls one by one, in the order in which they came.

    ::

        async with limiter.permit(tokens=900) as permit:
            ...  # a call that ends without an exception is a success
            limiter.overloaded()  # what to say before raising, when the server had too much

    A call that waits before it tries again must give back its permit while it waits; then it costs
    the others nothing. All calls of a limiter must be made in one event loop at a time.
    """

    def __init__(self, maximum: int, *, rpm: float | None = None, tpm: float | None = None) -> None:
        """Make a limiter that begins at its maximum."""
        self.maximum = maximum
        _limiters.add(self)
        self._limit = float(maximum)
        self._active = 0
        self._finished = 0
        self._settled = 0  # no decrease before so many calls have finished
        self._calls = None if rpm is None else _Pace(rpm)
        self._tokens = None if tpm is None else _Pace(tpm)
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the limiter after pickling, before any call."""
        self.__dict__.update(state)
        _limiters.add(self)

    @staticmethod
    def divide_all(count: int) -> None:
        """Divide every limiter of this process among several processes, before any call."""
        for limiter in [*_limiters]:
            limiter.maximum = max(1, limiter.maximum // count)
            limiter._limit = float(limiter.maximum)  # noqa: SLF001 - of this class
            for pace in filter(None, (limiter._calls, limiter._tokens)):  # noqa: SLF001
                pace.divide(count)

    @property
    def limit(self) -> int:
        """Number of calls that may be in flight now."""
        return int(self._limit)

    @property
    def active(self) -> int:
        """Number of calls in flight."""
        return self._active

    @property
    def counts_tokens(self) -> bool:
        """Whether the number of tokens matters."""
        return self._tokens is not None

    def permit(self, tokens: int = 0) -> Permit:
        """Return a permit for one call, to be held with ``async with``."""
        return Permit(self, tokens)

    def overloaded(self) -> None:
        """Halve how many calls may be in flight, at most once in a round trip.

        The calls that were in flight at the last decrease tell nothing new: until as many have
        finished, nothing changes. So 256 refusals at once halve the limit once.
        """
        if self._finished < self._settled:
            return
        # A limit far above what is in flight would take many halvings to be felt.
        self._limit = max(1.0, min(self._limit, self._active or self._limit) / 2)
        self._settled = self._finished + max(1, self._active)

    async def acquire(self, tokens: int) -> None:
        """Wait for a permit; the caller must :meth:`release` it. :meth:`permit` does both."""
        if not self._waiting and self._active < int(self._limit) and self._delay() <= 0:
            self._admit(tokens)
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((turn, tokens))
        self._wake()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # admitted and cancelled in the same moment
                self.release(-tokens, succeeded=False)
            else:
                self._wake()
            raise

    def release(self, excess: int, *, succeeded: bool) -> None:
        """Give a permit back, ``excess`` tokens having been used beyond those booked."""
        self._active -= 1
        self._finished += 1
        if succeeded:
            step = max(1.0, min(self.maximum * LARGEST_STEP, self._limit * SMALL_STEP))
            self._limit = min(float(self.maximum), self._limit + step / self._limit)
        if self._tokens is not None and excess:
            self._tokens.book(excess)
        self._wake()

    def _wake(self) -> None:
        """Admit those whose turn it is; wait for the clock where only it is against them."""
        while self._waiting:
            turn, tokens = self._waiting[0]
            if not turn.done():
                if self._active >= int(self._limit):
                    return
                delay = self._delay()
                if delay > 0:
                    if self._timer is None:
                        self._timer = turn.get_loop().call_later(delay, self._ring)
                    return
                self._admit(tokens)
                turn.set_result(None)
            self._waiting.popleft()
        if self._timer is not None:  # the last of those who waited for it has gone away
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        self._wake()

    def _admit(self, tokens: int) -> None:
        self._active += 1
        if self._calls is None and self._tokens is None:
            return
        now = asyncio.get_running_loop().time()
        if self._calls is not None:
            self._calls.take(1, now)
        if self._tokens is not None:
            self._tokens.take(tokens, now)

    def _delay(self) -> float:
        """Return the seconds until the paces allow another call; at most 0 where they do now."""
        if self._calls is None and self._tokens is None:
            return 0.0
        free = max(pace.free for pace in (self._calls, self._tokens) if pace is not None)
        return free - asyncio.get_running_loop().time()


class _Pace:
    """Token bucket of units per minute, stored as the time from which units are free."""

    def __init__(self, per_minute: float) -> None:
        self._seconds = 60 / per_minute
        self.free = float("-inf")

    def divide(self, count: int) -> None:
        """Slow down by a factor."""
        self._seconds *= count

    def take(self, units: float, now: float) -> None:
        """Take units now."""
        self.free = max(self.free, now - SLACK_SECONDS) + units * self._seconds

    def book(self, units: float) -> None:
        """Record units that were used uncounted, or give some back (below 0)."""
        self.free += units * self._seconds
