"""Attempts at calls over a network: what they cost, the pauses between them, the last error."""

from __future__ import annotations

import asyncio
import random
import time
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING

from heedful.core.errors import ModelError
from heedful.models.base import AuthError, ModelNotFound, QuotaError, Unreachable
from heedful.models.faults import Fault, FaultKind

if TYPE_CHECKING:
    from heedful.core.errors import HeedfulError
    from heedful.models.base import Usage
    from heedful.models.redaction import Redactor

__all__ = ["METER", "Meter"]


class Meter:
    """Receiver of usage that a call is billed beside its completion; this one records nothing."""

    def charge(self, model: str, usage: Usage) -> None:
        """Record a reply without an answer."""

    async def affordable(self) -> None:
        """Wait until another attempt at the call fits into what may be spent."""


METER: ContextVar[Meter] = ContextVar("heedful_meter", default=Meter())  # noqa: B039 - no state
"""Usage of the current call."""

_waiting: dict[int, float] = {}
"""When the pauses of calls end (``time.monotonic``), by a number of their own."""
_numbers = count()

REACH_HINT = "start the server, or check the base URL; then re-run the same command to resume"


def backoff(attempt: int, base_s: float, cap_s: float) -> float:
    """Return the seconds to wait after an attempt, counted from 0; jitter parts equal calls."""
    return min(cap_s, base_s * 2.0**attempt) * random.uniform(0.5, 1.0)


async def pause(seconds: float) -> None:
    """Sleep, and have :func:`waiting` count the pause."""
    key = next(_numbers)
    _waiting[key] = time.monotonic() + seconds
    try:
        await asyncio.sleep(seconds)
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
