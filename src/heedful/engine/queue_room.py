"""How many requests a provider's queue of batches has room for, learnt from its refusals."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from heedful.core.errors import StopRunError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []

PAUSE_S, LONGEST_S = 60.0, 24 * 3600.0
"""Seconds until a provider whose queue is full is tried again; and until a run gives up."""

FEWEST = 20
"""Requests of the smallest batch that a full queue is tried with."""


class QueueRoom:
    """The room in the queues of providers.

    Attributes:
        requests: by model, what fits; such a model gets one batch of no more at a time. Models
            that nothing was refused for aren't in it.
    """

    def __init__(self) -> None:
        self.requests: dict[str, int] = {}
        self._refused: list[tuple[str, int]] = []
        self._answered_s = time.monotonic()

    def refused(self, model: str, count: int) -> None:
        """Take note of a batch of so many requests that there was no room for."""
        self._refused.append((model, count))

    async def make(self, tell: Callable[[str], None], *, answered: bool) -> None:
        """Send fewer requests at a time from now on, and wait where that alone won't help."""
        if answered:
            self._answered_s = time.monotonic()
        wait = bool(self._refused) and not answered
        for name, count in self._refused:
            known = self.requests.get(name, count)
            half = max(FEWEST, min(known, count) // 2)
            self.requests[name] = half if wait else max(known, count)
        self._refused.clear()
        if not wait:
            return
        if time.monotonic() - self._answered_s > LONGEST_S:
            raise StopRunError("the provider's queue of batches had no room for a day")
        tell("waiting for room in the provider's queue")
        await asyncio.sleep(PAUSE_S)
        tell("")
