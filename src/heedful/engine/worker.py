"""A process that works on rows for a run: it asks the run's process for answers, and reports.

Messages are lists of JSON, one a line, over a pair of sockets. The store stays with the run's
process: before a call is made there, it says whether the answer is stored or another process is
getting it, and it records what comes back.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Protocol

from pydantic_core import PydanticSerializationError, from_json, to_json

from heedful.core.errors import ModelError, StopRunError
from heedful.engine.call_cache import cache_calls
from heedful.engine.runner import outcome
from heedful.models.base import Completion

if TYPE_CHECKING:
    import socket
    from contextlib import AbstractAsyncContextManager

    from heedful.engine.records import UsageRecord

LINE_LIMIT = 2**30
"""Bytes of the longest message; rows may be long."""


TOGETHER = 48
"""Messages that are written, or read, before the other side gets to work: more at a time would
have the processes wait for each other."""


class SentWork(Protocol):
    """A job, as far as its rows can be worked on in another process."""

    def encode(self, row: Any) -> str:
        """Encode a row."""
        ...

    def decode(self, text: str) -> Any:
        """Decode it."""
        ...

    async def work(self, row: Any) -> str:
        """Do the work on a row."""
        ...

    def resources(self, *, dry: bool) -> AbstractAsyncContextManager[None]:
        """Hold resources that the work needs."""
        ...


class Outbox:
    """Messages to the other side; those of one turn of the event loop are written together."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        """Begin with none."""
        self._writer = writer
        self._messages: list[bytes] = []

    def send(self, *message: object) -> None:
        """Send a message, a list of JSON on a line."""
        if not self._messages:
            asyncio.get_running_loop().call_soon(self.flush)
        try:
            self._messages.append(to_json(message))
        except PydanticSerializationError:  # half a surrogate pair in the words of an error
            self._messages.append(json.dumps(message).encode())
        if len(self._messages) >= TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        messages, self._messages = self._messages, []
        if messages and not self._writer.is_closing():  # the other side may have ended
            self._writer.write(b"\n".join(messages) + b"\n")

    async def drain(self) -> None:
        """Write what waits, and wait until it is gone."""
        self.flush()
        await self._writer.drain()

    def close(self) -> None:
        """Write what waits, and close the connection."""
        self.flush()
        self._writer.close()


def received(line: bytes) -> list[Any]:
    """Read a message."""
    try:
        message: list[Any] = from_json(line)
    except ValueError:  # half a surrogate pair
        message = json.loads(line)
    return message


class RemoteStore:
    """Takes the place of the store in a worker: everything goes to the run's process."""

    def __init__(self, outbox: Outbox) -> None:
        """Write to the run's process."""
        self.send = outbox.send
        self._claims: dict[str, asyncio.Future[list[Any]]] = {}

    def reply(self, key: str, *message: object) -> None:
        """Take the answer to a claim."""
        self._claims.pop(key).set_result(list(message))

    def call(self, key: bytes) -> str | None:
        """Hold no answers: :meth:`claim` asks for them."""
        del key
        return None

    async def claim(self, key: bytes, caller: str, requested: str) -> Completion | None:
        """Return an answer that is stored or that another process gets; ``None``: get it here."""
        future = self._claims[key.hex()] = asyncio.get_running_loop().create_future()
        self.send("claim", key.hex(), caller, requested)
        kind, text = await future
        if kind == "failed":
            raise ModelError(text)
        if kind == "call":
            return None
        return Completion.model_validate_json(text).model_copy(update={"attempts": 0})

    def unclaim(self, key: bytes, reason: str | None) -> None:
        """Say that there will be no answer, or that another process may make the call."""
        self.send("unclaim", key.hex(), reason)

    def add_call(self, key: bytes, value: str, usage: UsageRecord) -> None:
        """Report an answer."""
        self.send("call", key.hex(), value, usage)

    def add_usage(self, usage: UsageRecord) -> None:
        """Report the usage of a call."""
        self.send("usage", usage)

    def flush_soon(self) -> None:
        """Do nothing: the run's process commits."""

    def meta(self, key: str) -> Any:
        """Know nothing that is stored."""
        del key

    def set_meta(self, key: str, value: Any) -> None:
        """Report a value to be stored."""
        self.send("meta", key, value)


async def serve(job: SentWork, connection: socket.socket, retries: int) -> None:
    """Work on the rows that come until there are no more."""
    reader, writer = await asyncio.open_connection(sock=connection, limit=LINE_LIMIT)
    outbox = Outbox(writer)
    remote = RemoteStore(outbox)
    tasks: set[asyncio.Task[None]] = set()
    async with cache_calls(remote, retries=retries), job.resources(dry=False):
        while line := await reader.readline():
            kind, key, *rest = received(line)
            if kind == "end":
                break
            if kind != "row":
                remote.reply(key, kind, *rest)
                continue
            task = asyncio.create_task(_work(job, remote, key, rest[0]))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
    remote.send("bye")
    await outbox.drain()
    outbox.close()


async def _work(job: SentWork, remote: RemoteStore, number: int, text: str) -> None:
    async def work(text: str) -> str:
        return await job.work(job.decode(text))

    try:
        output, failure, hopeless = await outcome(work, text)
    except StopRunError as error:
        remote.send("stop", number, error.what, error.where, error.hint)
    else:
        remote.send("done", number, output, failure, hopeless)
