"""Retries: the one layer of attempts, pauses and limits of every model behind a network."""

from __future__ import annotations

import asyncio
import random
import time
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING, Protocol, TypeVar

from heedful.core.errors import HeedfulError, ModelError, UsageError
from heedful.core.log import logger
from heedful.core.noun import updated
from heedful.core.text import amount
from heedful.models.base import AuthError, ModelNotFound, QuotaError, Unreachable
from heedful.models.faults import Fault, FaultError, FaultKind
from heedful.models.pricing import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from heedful.core.nouns import Message
    from heedful.models.base import Completion, Usage
    from heedful.models.limiter import AdaptiveLimiter
    from heedful.models.redaction import Redactor

__all__ = ["METER"]

T = TypeVar("T")

if TYPE_CHECKING:
    Request = Callable[[T], Awaitable[tuple[Completion, float]]]
    """Sends a body; returns the answer and the seconds that it took."""


class Meter(Protocol):
    """Receiver of usage that a call is billed beside its completion."""

    def charge(self, model: str, usage: Usage) -> None:
        """Record a reply without an answer."""
        ...

    async def affordable(self) -> None:
        """Wait until another attempt at the call fits into what may be spent."""
        ...


METER: ContextVar[Meter | None] = ContextVar("heedful_meter", default=None)
"""Usage of the current call; unset where nothing records it."""


def charge(model: str, usage: Usage) -> None:
    """Record the usage of a reply without an answer, where usage is recorded."""
    meter = METER.get()
    if meter is not None and usage.prompt_tokens + usage.completion_tokens:
        meter.charge(model, usage)


async def affordable() -> None:
    """Wait until another attempt at the call that is under way fits into what may be spent."""
    meter = METER.get()
    if meter is not None:
        await meter.affordable()


BACKOFF_CAP_S = 60.0

_waiting: dict[int, float] = {}
"""When the pauses of calls end (``time.monotonic``), by a number of their own."""
_numbers = count()

REACH_HINT = "start the server, or check the base URL; then re-run the same command to resume"


class Attempts:
    """Retry policy: repeats a request until it succeeds, or retrying cannot help.

    What may succeed the next time (timeouts, lost connections, overload, broken bodies) is repeated
    after a pause that doubles each time, with jitter; ``Retry-After`` is honoured for the call that
    got it, up to the seconds that one attempt may take.
    """

    def __init__(
        self,
        name: str,
        max_attempts: int,
        backoff_s: float,
        limiter: AdaptiveLimiter | None,
        redact: Redactor,
        timeout_s: float,
    ) -> None:
        if max_attempts < 1:
            raise UsageError(f"max_attempts is {max_attempts}", hint="give at least 1")
        self._name = name
        self._max_attempts = max_attempts
        self._backoff_s = backoff_s
        self._limiter = limiter
        self._redact = redact
        self._timeout_s = timeout_s

    async def make(
        self,
        body: Callable[[], T],
        request: Request[T],
        messages: Sequence[Message],
        *,
        adapt: Callable[[Fault, T], object] = lambda _, __: None,
    ) -> Completion:
        """Make a request, and repeat it where that may help."""
        attempts = faults = 0
        left = self._timeout_s
        sent: T

        async def send() -> tuple[Completion, float]:
            nonlocal sent
            sent = body()  # other calls may have changed it while this one waited
            return await request(sent)

        while True:
            attempts += 1
            try:
                completion, latency_s = await self._limited(send, messages)
            except FaultError as error:
                fault = error.fault
            else:
                model = completion.model or self._name
                about = {"attempts": attempts, "latency_s": latency_s, "model": model}
                return updated(completion, about)
            charge(fault.model or self._name, fault.usage)
            adapt(fault, sent)
            if body() != sent:
                await affordable()
                continue
            faults += 1
            if not fault.kind.retryable:
                raise FaultError(fault)
            if faults >= self._max_attempts:
                what = f"no answer in {amount(attempts, 'attempt')}, at last: {fault.text}"
                raise FaultError(Fault(fault.kind, what))
            pause = self._pause(fault, faults, left)
            left -= pause
            again = "model %s: trying again in %.1f s after attempt %d: %s"
            logger.warning(again, self._name, pause, attempts, self._redact(fault.text))
            await _wait(pause)
            await affordable()

    async def _limited(
        self, send: Callable[[], Awaitable[tuple[Completion, float]]], messages: Sequence[Message]
    ) -> tuple[Completion, float]:
        """Make one request, under the limiter."""
        if self._limiter is None:
            return await send()
        estimate = 0
        if self._limiter.counts_tokens:
            estimate = sum(estimate_tokens(message.content) for message in messages)
        async with self._limiter.permit(estimate) as permit:
            try:
                completion, latency_s = await send()
            except FaultError as error:
                if error.fault.kind is FaultKind.OVERLOADED:
                    self._limiter.overloaded()
                raise
            used = completion.usage.prompt_tokens + completion.usage.completion_tokens
            permit.tokens = used or estimate
            return completion, latency_s

    def _pause(self, fault: Fault, faults: int, left: float) -> float:
        """Return the seconds before the next attempt; jitter spreads calls that failed together."""
        if fault.retry_after and left > 0:  # 0 would be no pause at all
            return min(fault.retry_after, left) * random.uniform(1.0, 1.1)
        return backoff(faults - 1, self._backoff_s, BACKOFF_CAP_S)


def backoff(attempt: int, base_s: float, cap_s: float) -> float:
    """Return the seconds to wait after an attempt, counted from 0; jitter parts equal calls."""
    return min(cap_s, base_s * 2.0**attempt) * random.uniform(0.5, 1.0)


async def _wait(pause: float) -> None:
    """Sleep, and have :func:`waiting` count the pause."""
    key = next(_numbers)
    _waiting[key] = time.monotonic() + pause
    try:
        await asyncio.sleep(pause)
    finally:
        del _waiting[key]


def waiting() -> tuple[int, float]:
    """Return how many calls pause before another attempt, and the seconds until the first goes on.

    Both are 0 where none does.
    """
    if not _waiting:
        return 0, 0.0
    return len(_waiting), max(0.0, min(_waiting.values()) - time.monotonic())


def failure(
    fault: Fault, *, where: str, key_hint: str, name_hint: str, redact: Redactor
) -> HeedfulError:
    """Make the error that the caller sees of a fault."""
    kinds: dict[FaultKind, tuple[type[HeedfulError], str]] = {
        FaultKind.AUTH: (AuthError, key_hint),
        FaultKind.QUOTA: (
            QuotaError,
            "pay or raise the limit there, then re-run the same command to resume",
        ),
        FaultKind.NOT_FOUND: (ModelNotFound, name_hint),
        FaultKind.UNREACHABLE: (Unreachable, REACH_HINT),
    }
    kind, hint = kinds.get(fault.kind, (ModelError, ""))
    what = fault.text
    if fault.kind is FaultKind.FILTERED and "content_filter" not in what:
        what = f"content_filter: {what}"
    return kind(redact(what), where=where, hint=hint)
