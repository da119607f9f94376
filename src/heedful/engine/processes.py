"""Workers in forked processes of this machine; see :mod:`heedful.engine.workers`."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from functools import partial
from typing import TYPE_CHECKING

from heedful.core.errors import StopRunError, UsageError
from heedful.core.machine import available_cores
from heedful.engine.workers import FEWEST, LINE_LIMIT, Outbox, Worker, Workers, serve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.engine.workers import Assignment

__all__: list[str] = []


class Processes(Workers):
    """As many processes as this machine has cores."""

    async def start(self) -> None:
        """Fork them."""
        self._pids: list[int] = []
        if not hasattr(os, "fork"):
            raise UsageError("--executor processes needs a machine that can fork")
        wanted = available_cores(FEWEST)
        assignment = self.assignment(wanted)
        ends: list[int] = []
        for _ in range(wanted):
            ours, theirs = socket.socketpair()
            ends.append(ours.fileno())
            pid = os.fork()
            if not pid:
                _become_worker(assignment, theirs, ends)
            theirs.close()
            reader, writer = await asyncio.open_connection(sock=ours, limit=LINE_LIMIT)
            self._pids.append(pid)
            self.add(Worker(reader, Outbox(writer), partial(os.kill, pid, signal.SIGKILL)))

    def none_left(self) -> StopRunError:
        """Say that nobody is left to work on rows."""
        what = "every process that worked on rows has died"
        hint = "check that there is enough memory, then re-run the same command to resume"
        return StopRunError(what, hint=hint)

    async def stop(self) -> None:
        """End the processes."""
        await super().stop()
        for pid in self._pids:
            await asyncio.to_thread(os.waitpid, pid, 0)


def _become_worker(assignment: Assignment, connection: socket.socket, ends: Sequence[int]) -> None:
    """Turn the forked process into a worker; never returns into what it was forked from."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it reaches us too; we are told
        for end in ends:
            os.close(end)
        asyncio.events._set_running_loop(None)  # noqa: SLF001 - the loop of the process forked from
        asyncio.run(_served(assignment, connection))
        code = 0
    finally:
        # Nothing of the run's process may be closed from here, its store least of all.
        os._exit(code)


async def _served(assignment: Assignment, connection: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=connection, limit=LINE_LIMIT)
    await serve(assignment, reader, writer)
    await writer.drain()
    writer.close()
