"""Workers in tasks of a Ray cluster; see :mod:`heedful.engine.shards`."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.core.errors import StopRunError, UsageError
from heedful.core.log import logger
from heedful.core.machine import available_cores
from heedful.engine.shards import LINE_LIMIT, serve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.engine.shards import DividedJob
    from heedful.models import Price

__all__: list[str] = []

OBJECT_STORE = 100 * 2**20
"""Bytes of the object store on this machine; hardly anything goes through it."""

REACHED_S = 10.0
"""Seconds in which a cluster's port must answer."""

FEWEST = 2
"""CPUs of a cluster that is started here."""

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
        options |= {"num_cpus": available_cores(FEWEST), "include_dashboard": False}
        options |= {"object_store_memory": OBJECT_STORE}
    try:
        _refuse_unreachable(address or "")
        ray.init(address=address or "local", **options)
    except (OSError, RuntimeError, ValueError) as error:
        what = f"Ray cannot be reached: {str(error).splitlines()[0]}"
        raise UsageError(what, where=f"RAY_ADDRESS {address or 'local'}") from error


def _refuse_unreachable(address: str) -> None:
    """Try a cluster's port: Ray itself fails later, below a screen of its own messages."""
    host, colon, port = address.rpartition("//")[2].rpartition(":")
    if colon and port.isdecimal():
        with socket.create_connection((host.strip("[]"), int(port)), REACHED_S):
            pass
