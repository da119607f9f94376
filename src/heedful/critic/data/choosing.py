"""Choosing explanations on all cores, where that takes long.

``ratio`` compares long texts for 10 to 100 ms a choice, and a run may make half a million choices.
A worker (:func:`main`) is a Python of its own that reads choices as lines of JSON and writes the
positions of the chosen.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from heedful.core.log import logger
from heedful.core.machine import available_cores
from heedful.critic.data import mbr

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Sequence

__all__: list[str] = []

ALONE_S = 2.0
"""Seconds that choices may take in this process before others are started."""

LINE_BYTES = 2**26
"""The longest line that a worker may write."""


class ChoosingPool:
    """Chooses in this process at first, and in one for each core once that took a while.

    Attributes:
        workers: how many processes; none are started for 1.
    """

    def __init__(self, workers: int | None = None) -> None:
        """Start nothing yet."""
        self.workers = workers or available_cores()
        self._spent = 0.0
        self._processes: list[Process] = []
        self._idle: asyncio.Queue[Process] | None = None

    async def pick(self, texts: Sequence[str], similarity: str) -> int:
        """Choose; see :func:`heedful.critic.data.mbr.pick`."""
        if self.workers > 1 and len(texts) > 1 and self._spent >= ALONE_S:
            idle = self._idle or await self._start()
            worker = await idle.get()
            try:
                return await _asked(worker, texts, similarity)
            except (OSError, ValueError) as error:
                logger.warning("a process that chooses explanations ended: %s", error)
                self.workers = 1  # the others would go the same way
            finally:
                idle.put_nowait(worker)
        begun = time.perf_counter()
        chosen = mbr.pick(texts, similarity)
        self._spent += time.perf_counter() - begun
        return chosen

    async def _start(self) -> asyncio.Queue[Process]:
        """Start the processes."""
        idle: asyncio.Queue[Process] = asyncio.Queue()
        self._idle = idle
        for _ in range(self.workers):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", f"from {__name__} import main; main()"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LINE_BYTES,
            )
            self._processes.append(process)
            idle.put_nowait(process)
        logger.info("explanations are chosen in %d processes", self.workers)
        return idle

    async def close(self) -> None:
        """End the processes; the next choices are made here again."""
        processes, self._processes, self._idle = self._processes, [], None
        self._spent = 0.0
        for process in processes:
            with suppress(ProcessLookupError):
                process.kill()
            await process.communicate()


async def _asked(worker: Process, texts: Sequence[str], similarity: str) -> int:
    """Have a worker choose."""
    assert worker.stdin is not None  # noqa: S101 - it is a pipe
    assert worker.stdout is not None  # noqa: S101 - likewise
    worker.stdin.write(json.dumps([list(texts), similarity]).encode() + b"\n")
    await worker.stdin.drain()
    return int(await worker.stdout.readline())


def main() -> None:
    """Choose until there is nothing left to read."""
    with suppress(KeyboardInterrupt):  # Ctrl-C goes to all processes of a terminal
        for line in sys.stdin.buffer:
            sys.stdout.write(f"{mbr.pick(*json.loads(line))}\n")
            sys.stdout.flush()
