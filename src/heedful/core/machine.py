"""Resources of this machine."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress


def available_cores(fewest: int = 1) -> int:
    """Return how many cores this process may use: a container may have fewer than the machine."""
    if hasattr(os, "sched_getaffinity"):
        return max(fewest, len(os.sched_getaffinity(0)))
    return max(fewest, os.cpu_count() or 1)


def loop_runner(*, busy: bool) -> asyncio.Runner:
    """Run a loop: uvloop's where it is installed and there are many requests."""
    if busy:
        with suppress(ImportError):  # it doesn't exist for Windows
            import uvloop

            return asyncio.Runner(loop_factory=uvloop.new_event_loop)
    return asyncio.Runner()
