"""Workers in forked processes of this machine; see :mod:`heedful.engine.shards`."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from heedful.core.errors import StopRunError, UsageError
from heedful.engine.shards import LINE_LIMIT, serve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.engine.shards import DividedJob
    from heedful.models import Price

__all__: list[str] = []


class Processes:
    """Forks workers, from a process that is forked before the run is opened.

    So no worker inherits a store, threads or connections, however late it is forked.
    """

    def __init__(self, job: DividedJob, prices: Mapping[str, Price] | None, workers: int) -> None:
        """Fork the process that forks the others."""
        if not hasattr(os, "fork"):
            raise UsageError("--executor processes needs a machine that can fork")
        self.workers = workers
        self._control, theirs = socket.socketpair()
        self._pid = os.fork()
        if not self._pid:
            self._control.close()
            _fork_workers(job, prices, theirs)
        theirs.close()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Have a worker forked."""
        ours, theirs = socket.socketpair()
        try:
            socket.send_fds(self._control, [b"w"], [theirs.fileno()])
        except OSError as error:
            raise self.lost() from error
        finally:
            theirs.close()
        return await asyncio.open_connection(sock=ours, limit=LINE_LIMIT)

    def kill(self, pid: int) -> None:
        """End a worker that doesn't end by itself."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def lost(self) -> StopRunError:
        """Say that workers die without finishing a part."""
        what = "the processes that worked on rows have died"
        hint = "check that there is enough memory, then re-run the same command to resume"
        return StopRunError(what, hint=hint)

    def close(self) -> None:
        """End the process that forked the others."""
        self._control.close()
        os.waitpid(self._pid, 0)


def _fork_workers(
    job: DividedJob, prices: Mapping[str, Price] | None, control: socket.socket
) -> NoReturn:
    """Fork workers until the run's process has ended; never returns into what was forked."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it reaches us too; we are told
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
        asyncio.events._set_running_loop(None)  # noqa: SLF001 - the loop of the process forked from
        job.preload()
        while True:
            asked, ends, *_ = socket.recv_fds(control, 1, 1)
            if not asked:
                break
            if not os.fork():
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                control.close()
                asyncio.run(_served(job, prices, socket.socket(fileno=ends[0])))
                break
            os.close(ends[0])
    finally:
        os._exit(0)


async def _served(
    job: DividedJob, prices: Mapping[str, Price] | None, connection: socket.socket
) -> None:
    reader, writer = await asyncio.open_connection(sock=connection, limit=LINE_LIMIT)
    await serve(job, prices, reader, writer)
