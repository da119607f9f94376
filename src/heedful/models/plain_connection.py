"""One connection to a server over plain HTTP, and the replies that come on it."""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from httptools import HttpResponseParser

HEADER_BYTES = 64 * 1024
"""A reply whose headers have more bytes is given up."""

_INFORMATIONAL = range(100, 200)
_SWITCHING = 101


class HttpReply(NamedTuple):
    """A server's reply.

    Attributes:
        status: the HTTP status.
        headers: of a repeated one any.
        content: the body, as it was before it was compressed.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes


class ConnectError(OSError):
    """No connection was made: nothing was sent."""


class BrokenReplyError(OSError):
    """The connection ended before the reply did, or what came isn't HTTP."""


class LongReplyError(Exception):
    """The body of the reply is longer than it may be."""


class PlainConnection(asyncio.Protocol):
    """One connection, and the reply that comes on it.

    Attributes:
        parser: of the replies.
    """

    parser: HttpResponseParser

    def __init__(self, body_limit: int) -> None:
        self._limit = body_limit
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[HttpReply] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._until = self._rested = 0.0
        self._clear()

    def _clear(self) -> None:
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._size = self._head_size = self._status = 0
        self._in_body = self._complete = self._reusable = False

    def send(
        self, request: bytes, waiter: asyncio.Future[HttpReply], until: float
    ) -> asyncio.Future[HttpReply]:
        """Send a request; the waiter, which is returned, gets the reply or the error."""
        self._waiter, self._until = waiter, until
        if self._transport is None:
            self._fail(BrokenReplyError("the server closed the connection"))
            return waiter
        if self._timer is None:  # one timer serves all calls of a connection
            self._timer = waiter.get_loop().call_at(until, self._ring)
        self._transport.write(request)
        return waiter

    def rest(self, now: float) -> bool:
        """Take note that a call is over; tell whether there may be another."""
        sound = (
            self._complete
            and self._reusable
            and self._transport is not None
            and not self._transport.get_write_buffer_size()
        )
        self._waiter, self._rested = None, now
        self._clear()
        return sound

    def is_usable(self, since: float) -> bool:
        """Whether it is open, and its last call was over no earlier than that."""
        transport = self._transport
        return transport is not None and not transport.is_closing() and self._rested >= since

    def close(self) -> None:
        """Close at once."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transport is not None:
            self._transport.abort()

    def _ring(self) -> None:
        """End a call that takes too long, or wait on for a later one."""
        self._timer = None
        if self._waiter is None:
            return
        loop = self._waiter.get_loop()
        if loop.time() < self._until:
            self._timer = loop.call_at(self._until, self._ring)
        else:
            self._fail(TimeoutError())

    def _fail(self, error: Exception) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
        self.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport, from the event loop."""
        self._transport = transport  # type: ignore[assignment]  # of a stream, as it was asked for

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the call, unless the end of the connection is that of its reply."""
        self._transport = None
        measured = {"Content-Length", "Transfer-Encoding"} & self._headers.keys()
        if exc is None and self._in_body and not self._complete and not measured:
            self.on_message_complete()
            self._reusable = False
            self._deliver()
        self._fail(exc or BrokenReplyError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self._waiter is None:  # it belongs to no call
            self.close()
            return
        self._head_size += 0 if self._in_body else len(data)
        failure: Exception | None = None
        try:
            self.parser.feed_data(data)
        except Exception as error:  # noqa: BLE001 - whatever the parser calls it
            failure = BrokenReplyError(f"the reply is not HTTP: {error}")
        if self._size > self._limit:
            failure = LongReplyError()
        elif not self._in_body and self._head_size > HEADER_BYTES:
            failure = BrokenReplyError("the headers of the reply don't end")
        if self._complete and self._size <= self._limit:
            self._reusable &= failure is None  # more than a reply came
            self._deliver()
        elif failure is not None:
            self._fail(failure)

    def _deliver(self) -> None:
        """Give the reply to whoever waits for it."""
        waiter, self._waiter = self._waiter, None
        if waiter is None or waiter.done():
            return
        content = b"".join(self._body)
        try:
            if self._headers.get("Content-Encoding", "identity").lower() != "identity":
                content = self._unpacked(content)
        except LongReplyError as error:
            waiter.set_exception(error)
        except zlib.error as error:
            waiter.set_exception(BrokenReplyError(f"the reply cannot be unpacked: {error}"))
        else:
            waiter.set_result(HttpReply(self._status, self._headers, content))

    def _unpacked(self, content: bytes) -> bytes:
        """Unpack gzip or deflate, which servers may use although they weren't offered it."""
        unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        unpacked = unpacker.decompress(content, self._limit + 1)
        if len(unpacked) > self._limit:
            raise LongReplyError
        return unpacked

    def on_message_begin(self) -> None:
        """Take note, from the parser, of what comes behind a reply: nothing should."""
        self._reusable &= not self._complete

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header from the parser."""
        if not self._complete:
            self._headers[name.decode("latin-1").title()] = value.decode("utf-8", "replace")

    def on_headers_complete(self) -> None:
        """Take note that the body begins."""
        self._in_body = True

    def on_body(self, body: bytes) -> None:
        """Take a part of the body from the parser."""
        if not self._complete:
            self._size += len(body)
            if self._size <= self._limit:
                self._body.append(body)

    def on_message_complete(self) -> None:
        """Take note that the reply is there, unless it only says that there will be one."""
        status = self.parser.get_status_code()
        if self._complete:
            return
        if status in _INFORMATIONAL and status != _SWITCHING:
            self._headers, self._in_body = {}, False
            return
        self._status, self._complete = status, True
        self._reusable = self.parser.should_keep_alive()
