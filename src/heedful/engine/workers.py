"""Workers in forked processes of this machine, or in tasks of a Ray cluster; see :mod:`shards`."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from heedful.core.errors import StopRunError, UsageError
from heedful.core.log import logger
from heedful.core.machine import available_cores
from heedful.engine.runner import model_loop
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
                with model_loop() as runner:
                    runner.run(_served(job, prices, socket.socket(fileno=ends[0])))
                break
            os.close(ends[0])
    finally:
        os._exit(0)


async def _served(
    job: DividedJob, prices: Mapping[str, Price] | None, connection: socket.socket
) -> None:
    reader, writer = await asyncio.open_connection(sock=connection, limit=LINE_LIMIT)
    await serve(job, prices, reader, writer)


# --- on a cluster ---

OBJECT_STORE = 100 * 2**20
"""Bytes of the object store on this machine; hardly anything goes through it."""

REACHED_S = 10.0
"""Seconds in which a cluster's port must answer."""

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class RayTasks:
    """Starts workers as Ray tasks, which connect to this process.

    The cluster is the one that ``RAY_ADDRESS`` names, or that this process is connected to; else
    one is started on this machine.
    """

    def __init__(self, job: DividedJob, prices: Mapping[str, Price] | None, workers: int) -> None:
        """Connect to the cluster."""
        if find_spec("ray") is None:
            raise UsageError("--executor ray needs Ray", hint="pip install 'heedful[ray]'")
        import ray
        from ray import cloudpickle

        self.workers = workers
        self._server: asyncio.Future[asyncio.Server] | None = None
        self._waiting: dict[str, asyncio.Future[Connection]] = {}
        self._reason = ""
        self._tasks: set[Any] = set()
        try:
            self._job: bytes = cloudpickle.dumps((job, prices))
        except Exception as error:
            what = f"this judge cannot be sent to Ray's workers: {error}"
            hint = "use --executor local, or serve the model and give its URL"
            raise UsageError(what, hint=hint) from error
        self._ours = not ray.is_initialized()
        if self._ours:
            _connect()
        cpus = int(ray.cluster_resources().get("CPU", 1))
        # On a cluster whose CPUs are taken, fractions find room; calls mostly wait.
        self._task = ray.remote(_work).options(
            num_cpus=min(1.0, cpus / workers),
            scheduling_strategy="SPREAD",
            max_retries=0,
            name="heedful",
        )

    async def connect(self) -> Connection:
        """Start a task, and wait until it has connected."""
        import ray

        host = ray.util.get_node_ip_address()
        if self._server is None:
            listening = asyncio.start_server(self._accept, host, 0, limit=LINE_LIMIT)
            self._server = asyncio.ensure_future(listening)
        port = (await self._server).sockets[0].getsockname()[1]
        token = secrets.token_hex(16)
        connected: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
        self._waiting[token] = connected
        task = self._task.remote(self._job, host, port, token, str(Path.cwd()))
        self._tasks.add(task)
        ended = asyncio.ensure_future(asyncio.wrap_future(task.future()))
        try:
            await asyncio.wait([connected, ended], return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self._waiting[token]
        ended.add_done_callback(self._note_end)
        if connected.done():
            return connected.result()
        await asyncio.wait([ended])
        raise self.lost()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waiting = self._waiting.get((await reader.readline()).decode(errors="replace").strip())
        if waiting is None or waiting.done():
            writer.close()
        else:
            waiting.set_result((reader, writer))

    def _note_end(self, ended: asyncio.Future[None]) -> None:
        if not ended.cancelled() and (error := ended.exception()) is not None:
            self._reason = _told(error)
            logger.warning("a Ray task has ended: %s", self._reason)

    def kill(self, pid: int) -> None:
        """Leave a task that doesn't end to :meth:`close`."""

    def lost(self) -> StopRunError:
        """Say that tasks end without finishing a part."""
        hint = "install the same heedful on every node, then re-run the same command to resume"
        return StopRunError(f"Ray's tasks fail: {self._reason}", hint=hint)

    def close(self) -> None:
        """End the tasks, and what was started for them."""
        import ray

        if self._server is not None and self._server.done():
            self._server.result().close()
        for task in self._tasks:
            ray.cancel(task, force=True)
        if self._ours:
            ray.shutdown()


def _work(pickled: bytes, host: str, port: int, token: str, folder: str) -> None:
    """Be a worker, in a task."""
    import pickle

    os.chdir(folder)  # paths are relative to it; it must be there on each node
    job, prices = pickle.loads(pickled)  # noqa: S301 - from the run's own process

    async def connected() -> None:
        reader, writer = await asyncio.open_connection(host, port, limit=LINE_LIMIT)
        writer.write(token.encode() + b"\n")
        await serve(job, prices, reader, writer)

    asyncio.run(connected())


def _told(error: BaseException) -> str:
    """Say why a task ended; Ray puts its own error last, below a traceback."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1 if "Traceback" in str(error) else 0].strip()


def _connect() -> None:
    """Connect to a cluster, or start one."""
    import ray

    address = os.environ.get("RAY_ADDRESS")
    options: dict[str, Any] = {"logging_level": "error", "log_to_driver": False}
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # what we start sends nothing out
        options |= {"num_cpus": available_cores(2), "include_dashboard": False}
        options |= {"object_store_memory": OBJECT_STORE}
    try:
        _refuse_unreachable(address or "")
        ray.init(address=address or "local", **options)
    except (OSError, RuntimeError, ValueError) as error:
        what = f"Ray cannot be reached: {str(error).splitlines()[0]}"
        hint = "if it wants a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN" if address else ""
        raise UsageError(what, where=f"RAY_ADDRESS {address or 'local'}", hint=hint) from error


def _refuse_unreachable(address: str) -> None:
    """Try a cluster's port: Ray itself fails later, below a screen of its own messages."""
    host, colon, port = address.rpartition("//")[2].rpartition(":")
    if colon and port.isdecimal():
        with socket.create_connection((host.strip("[]"), int(port)), REACHED_S):
            pass
