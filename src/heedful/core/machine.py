"""Resources of this machine."""

from __future__ import annotations

import os


def available_cores(fewest: int = 1) -> int:
    """Return how many cores this process may use: a container may have fewer than the machine."""
    if hasattr(os, "sched_getaffinity"):
        return max(fewest, len(os.sched_getaffinity(0)))
    return max(fewest, os.cpu_count() or 1)
