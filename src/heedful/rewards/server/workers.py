"""Processes that serve on one socket; each has its share of the limits, and all have one cache."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from heedful.core.errors import UsageError
from heedful.core.log import logger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from heedful.rewards.server.metrics import Metrics

STOPPING = (signal.SIGTERM, signal.SIGINT)

PAUSE_S = 0.5
"""Seconds before a worker that died is replaced: one that dies at once must not take the core."""

PEER_S = 2.0
"""Seconds that another worker has to say its metrics."""


class Workers:
    """Forks workers, passes signals on to them, and replaces those that die."""

    def __init__(self, count: int, work: Callable[[int, int], bool]) -> None:
        """Prepare to fork; the work gets a worker's number, and a pipe that ends with us."""
        if not hasattr(os, "fork"):
            raise UsageError("--workers needs a machine that can fork")
        self._count = count
        self._work = work
        self._numbers: dict[int, int] = {}  # of the workers, by process
        self._stopping = False
        self._whole = True
        self._watched, self._held = os.pipe()

    def run(self, started: Callable[[], None]) -> bool:
        """Serve until a signal; return whether all that was accepted was judged."""
        before = {each: signal.signal(each, self._stop) for each in STOPPING}
        try:
            for number in range(1, self._count + 1):
                self._fork(number)
            started()
            while self._numbers:
                self._wait()
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
            os.close(self._watched)
            os.close(self._held)
        return self._whole

    def _stop(self, what: int, _: object) -> None:
        self._stopping = True
        for process in self._numbers:
            with suppress(ProcessLookupError):
                os.kill(process, what)

    def _fork(self, number: int) -> None:
        """Fork a worker, unless it is time to stop; no signal comes before its number is kept."""
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        try:
            if self._stopping:
                return
            process = os.fork()
            if not process:
                self._live(number)
            self._numbers[process] = number
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)

    def _live(self, number: int) -> None:
        """Be a worker; never returns into what was forked."""
        code = 1
        try:
            self._numbers.clear()
            os.setpgid(0, 0)  # Ctrl-C reaches the process that forked us, which passes it on
            os.close(self._held)
            code = 0 if self._work(number, self._watched) else 1
        except BaseException:  # noqa: BLE001 - nothing may leave the fork
            logger.exception("worker %d failed", number)
        finally:
            os._exit(code)

    def _wait(self) -> None:
        process, status = os.wait()
        number = self._numbers.pop(process, None)
        if number is None:
            return
        if self._stopping:
            self._whole &= status == 0
            return
        logger.error("worker %d (process %d) has died; another takes its place", number, process)
        time.sleep(PAUSE_S)
        self._fork(number)


class Worker:
    """One of the workers, and what it is told by the others, through sockets in their folder."""

    def __init__(self, folder: Path, number: int, watched: int) -> None:
        self._folder = folder
        self._watched = watched
        self.number = number

    @asynccontextmanager
    async def beside(self, metrics: Metrics) -> AsyncIterator[None]:
        """Tell the others the metrics when asked, and stop when the process that forked us ends."""

        async def tell(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(metrics.text())
            writer.close()

        loop = asyncio.get_running_loop()

        def orphaned() -> None:
            loop.remove_reader(self._watched)
            signal.raise_signal(signal.SIGTERM)

        path = self._folder / f"{self.number}.sock"
        path.unlink(missing_ok=True)  # of the worker that had this number before
        async with await asyncio.start_unix_server(tell, path):
            loop.add_reader(self._watched, orphaned)
            yield

    async def texts(self) -> dict[int, str]:
        """Return the metrics of all workers that answer, by their numbers."""
        paths = sorted(self._folder.glob("*.sock"))
        told = await asyncio.gather(*map(_told, paths))
        pairs = zip(paths, told, strict=True)
        return {int(path.stem): text for path, text in pairs if text}


async def _told(path: Path) -> str:
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(PEER_S):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                return (await reader.read()).decode()
            finally:
                writer.close()
    return ""
