"""Workers in Ray actors, on this machine or on a cluster; see :mod:`heedful.engine.workers`."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import pickle
import socket
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from typing import Any

from heedful.core.errors import StopRunError, UsageError
from heedful.core.log import logger
from heedful.core.machine import available_cores
from heedful.core.version import __version__
from heedful.engine.workers import (
    FEWEST,
    LINE_LIMIT,
    Outbox,
    Worker,
    Workers,
    serve,
    to_line,
)

__all__: list[str] = []

LINGER_S = 0.002
"""Seconds that messages wait for others to travel with."""

CALLS_PER_WORKER = 32
"""Calls in flight for which another worker is started, up to the cluster's CPUs."""

OBJECT_STORE = 100 * 2**20
"""Bytes of the object store on this machine; messages are small."""

REACHED_S = 10.0
"""Seconds in which a cluster's port must answer."""

STARTED_S = 15.0
"""Seconds after which rows don't wait for all workers: a busy cluster may start some much later."""


class RayWorker:
    """A worker's end: messages come and go in calls of its methods, many at a time."""

    async def begin(self, assignment: bytes, level: int) -> str:
        """Begin to work; return the version of heedful that is installed here."""
        self._reader = asyncio.StreamReader(limit=LINE_LIMIT)
        self._messages: list[bytes] = []
        self._news = asyncio.Event()
        logger.setLevel(level)
        logger.addHandler(_Forward(self))
        unpickled = pickle.loads(assignment)  # noqa: S301 - from the run's own process
        self._serving = asyncio.create_task(serve(unpickled, self._reader, self))
        return __version__

    async def give(self, messages: bytes) -> None:
        """Take messages; whole lines, since calls may overtake each other."""
        self._reader.feed_data(messages)

    async def take(self) -> bytes:
        """Wait for messages, and return all there are."""
        await self._news.wait()
        await asyncio.sleep(LINGER_S)
        self._news.clear()
        messages, self._messages = self._messages, []
        return b"".join(messages)

    def write(self, data: bytes) -> None:
        """Have messages taken."""
        self._messages.append(data)
        self._news.set()

    def is_closing(self) -> bool:
        """Stay open until Ray ends the actor."""
        return False

    def close(self) -> None:
        """Stay open until Ray ends the actor."""


class _Forward(logging.Handler):
    """Hands log records to the run's process."""

    def __init__(self, actor: RayWorker) -> None:
        super().__init__()
        self._actor = actor

    def emit(self, record: logging.LogRecord) -> None:
        self._actor.write(to_line(("log", record.levelno, record.getMessage())))


class _ActorWriter:
    """Writes to an actor."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor
        self._messages: list[bytes] = []
        self._closed = False

    def write(self, data: bytes) -> None:
        if not self._messages:
            asyncio.get_running_loop().call_later(LINGER_S, self._flush)
        self._messages.append(data)

    def _flush(self) -> None:
        messages, self._messages = self._messages, []
        self._actor.give.remote(b"".join(messages))

    def is_closing(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True


class RayWorkers(Workers):
    """Ray actors; one that was of use and dies is replaced.

    The cluster is the one that ``RAY_ADDRESS`` names, or that this process is connected to; else
    one is started on this machine.
    """

    _ours = False
    _reason = ""

    async def start(self) -> None:
        """Connect, and start the actors; rows wait a while until all are ready."""
        if find_spec("ray") is None:
            raise UsageError("--executor ray needs Ray", hint="pip install 'heedful[ray]'")
        import ray
        from ray import cloudpickle

        if not ray.is_initialized():
            self._ours = True
            _connect()
        cpus = int(ray.cluster_resources().get("CPU", 1))
        wanted = max(FEWEST, min(cpus, math.ceil(self.concurrency / CALLS_PER_WORKER)))
        try:
            self._assignment: bytes = cloudpickle.dumps(self.assignment(wanted))
        except Exception as error:
            what = f"this judge cannot be sent to Ray's workers: {error}"
            hint = "use --executor local, or serve the model and give its URL"
            raise UsageError(what, hint=hint) from error
        # On a cluster whose CPUs are taken, fractions find room; calls mostly wait.
        self._all_started = asyncio.Event()
        self._actor = ray.remote(RayWorker).options(
            num_cpus=min(1.0, cpus / wanted), scheduling_strategy="SPREAD"
        )
        for _ in range(wanted):
            self._start_one()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._all_started.wait(), STARTED_S)

    def _start_one(self) -> None:
        self.starting += 1
        self.spawn(self._connected(self._actor.remote()))

    def _count_started(self) -> None:
        self.starting -= 1
        if not self.starting:
            self._all_started.set()

    async def _connected(self, actor: Any) -> None:
        """Wait until an actor is ready; then pass on its messages until it dies."""
        import ray
        from ray.exceptions import RayError

        reader = asyncio.StreamReader(limit=LINE_LIMIT)
        ready = False
        try:
            version = await actor.begin.remote(self._assignment, logger.getEffectiveLevel())
            if version != __version__:
                what = f"Ray's workers have heedful {version}, this process has {__version__}"
                raise StopRunError(what, hint="install one version everywhere")  # noqa: TRY301
            ready = True
            self._count_started()
            self.add(Worker(reader, Outbox(_ActorWriter(actor)), partial(ray.kill, actor)))
            while True:
                reader.feed_data(await actor.take.remote())
        except (RayError, StopRunError) as error:
            self._reason = _told(error)
            logger.warning("a Ray worker is lost: %s", self._reason)
            reader.feed_eof()
            if not ready:
                self._count_started()
                self.assign_waiting()
        finally:
            with suppress(Exception):  # unreachable rather than dead: it must not call any more
                ray.kill(actor)

    def replace(self, lost: Worker) -> None:
        """Start another actor; one that dies before it was of use would die again."""
        if lost.useful:
            self._start_one()

    def none_left(self) -> StopRunError:
        """Say that nobody is left to work on rows."""
        hint = "install the same heedful on every node, then re-run the same command to resume"
        return StopRunError(f"no Ray worker is left: {self._reason}", hint=hint)

    async def stop(self) -> None:
        """End the actors, and what was started for them."""
        await super().stop()
        if self._ours:
            import ray

            ray.shutdown()


def _told(error: Exception) -> str:
    """Say why a worker was lost; Ray puts an actor's own error last, below a traceback."""
    lines = str(error).strip().splitlines()
    return lines[-1 if "Traceback" in str(error) or "creation task" in lines[0] else 0].strip()


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
