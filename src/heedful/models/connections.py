"""Connections to a server: requests with JSON bodies go out, replies come back whole.

A model on one's own machine or network answers thousands of short calls a second, and there
aiohttp's client would take more CPU time than all else that is done with a call
(``benchmarks/judging_throughput.py``). So plain HTTP has connections of our own, kept open between
calls, whose replies httptools parses. What isn't plain HTTP to the server itself, so TLS and
proxies, goes through aiohttp.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import urlsplit
from urllib.request import getproxies_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    import aiohttp
    from httptools import HttpResponseParser

__all__: list[str] = []

HEADER_BYTES = 64 * 1024
"""A reply whose headers have more bytes is given up."""

_INFORMATIONAL = range(100, 200)
_SWITCHING = 101


class HttpReply(NamedTuple):
    """A server's reply; of a repeated header any."""

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
    """One connection, and the reply that comes on it."""

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
        """End the call; return whether the connection can be used again."""
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
        """Event loop callback: the connection is open."""
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
        """Pass the reply to the call that waits for it."""
        waiter, self._waiter = self._waiter, None
        if waiter is None or waiter.done():
            return
        waiter.set_result(HttpReply(self._status, self._headers, b"".join(self._body)))

    def on_message_begin(self) -> None:
        """Parser callback: another message begins, which leaves the connection out of step."""
        self._reusable &= not self._complete

    def on_header(self, name: bytes, value: bytes) -> None:
        """Parser callback: a header."""
        if not self._complete:
            self._headers[name.decode("latin-1").title()] = value.decode("utf-8", "replace")

    def on_headers_complete(self) -> None:
        """Parser callback: the body begins."""
        self._in_body = True

    def on_body(self, body: bytes) -> None:
        """Parser callback: a part of the body."""
        if not self._complete:
            self._size += len(body)
            if self._size <= self._limit:
                self._body.append(body)

    def on_message_complete(self) -> None:
        """Parser callback: a reply is complete, unless it is only informational."""
        status = self.parser.get_status_code()
        if self._complete:
            return
        if status in _INFORMATIONAL and status != _SWITCHING:
            self._headers, self._in_body = {}, False
            return
        self._status, self._complete = status, True
        self._reusable = self.parser.should_keep_alive()


CONNECT_TIMEOUT_S = 30.0

IDLE_S = 15.0
"""Seconds after which a connection isn't used again: its server may be closing it."""


def connections(
    url: str, headers: Mapping[str, str], timeout_s: float, body_limit: int
) -> Connections:
    """Make connections to a server; none is opened before the first request."""
    if urlsplit(url).scheme == "http" and not getproxies_environment():
        return PlainConnections(url, headers, timeout_s, body_limit)
    return AiohttpConnections(url, headers, timeout_s, body_limit)


def reason(error: Exception) -> str:
    """Say why there is no connection, in the words of the operating system where it has some."""
    import ssl

    cause = getattr(error, "os_error", None) or getattr(error, "certificate_error", error)
    if isinstance(cause, ssl.SSLError):  # its number is none of the operating system's
        words = getattr(cause, "verify_message", None) or cause.reason or "no secure connection"
        return f"TLS: {words.lower().replace('_', ' ')}"
    number, words = getattr(error, "errno", None), getattr(error, "strerror", None)
    # asyncio puts the address, which the message has already, in place of the words.
    return (
        os.strerror(number)
        if number and number > 0
        else str(words or error or type(error).__name__)
    )


class AiohttpConnections:
    """Connections by aiohttp: with TLS, and through the proxies that the environment names.

    They belong to one event loop.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str], timeout_s: float, body_limit: int
    ) -> None:
        import aiohttp

        self._url = url
        self._limit = body_limit
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # whoever calls bounds the calls
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
            timeout=aiohttp.ClientTimeout(
                total=timeout_s, sock_connect=min(CONNECT_TIMEOUT_S, timeout_s)
            ),
            trust_env=bool(getproxies_environment()),  # looked up again at each request, so costly
        )

    async def post(self, body: bytes) -> HttpReply:
        """Send a request; return the reply, whatever its status. Redirects aren't followed."""
        import aiohttp

        try:
            request = self._session.post(self._url, data=body, allow_redirects=False)
            async with request as response:
                return HttpReply(response.status, response.headers, await self._read(response))
        except TimeoutError:
            raise
        except aiohttp.ClientConnectorError as error:
            raise ConnectError(reason(error)) from error
        except aiohttp.ClientError as error:
            raise BrokenReplyError(reason(error)) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """Read a body, up to the limit."""
        chunks = bytearray()
        async for chunk in response.content.iter_any():
            chunks += chunk
            if len(chunks) > self._limit:
                raise LongReplyError
        return bytes(chunks)


class PlainConnections:
    """Connections without TLS, straight to the server; one request at a time on each."""

    def __init__(
        self, url: str, headers: Mapping[str, str], timeout_s: float, body_limit: int
    ) -> None:
        from yarl import URL

        from heedful.core.version import __version__

        where = URL(url)
        self._host, self._port = where.raw_host or "", where.port or 80
        self._timeout_s = timeout_s
        self._limit = body_limit
        own = {
            "Host": where.authority,
            "User-Agent": f"heedful/{__version__}",
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            **headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in own.items())
        self._head = f"POST {where.raw_path_qs} HTTP/1.1\r\n{lines}".encode()
        self._idle: list[PlainConnection] = []
        self._used: set[PlainConnection] = set()

    async def post(self, body: bytes) -> HttpReply:
        """Send a request; return the reply, whatever its status. Redirects aren't followed."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        connection = self._rested(begun)
        if connection is None:
            async with asyncio.timeout(min(CONNECT_TIMEOUT_S, self._timeout_s)):
                connection = await self._connect(loop)
        self._used.add(connection)
        request = b"%bContent-Length: %d\r\n\r\n%b" % (self._head, len(body), body)
        try:
            reply = connection.send(request, loop.create_future(), begun + self._timeout_s)
            del body, request  # or each call in flight would hold its prompt twice more
            return await reply
        finally:
            self._used.discard(connection)
            if connection.rest(loop.time()):
                self._idle.append(connection)
            else:
                connection.close()

    async def close(self) -> None:
        """Close the connections; a call that is made on one fails."""
        with suppress(RuntimeError):  # their event loop is closed, and so are they
            for connection in (*self._idle, *self._used):
                connection.close()
        self._idle.clear()
        await asyncio.sleep(0)  # transports close their sockets in the loop's next turn

    def _rested(self, now: float) -> PlainConnection | None:
        """Return a connection that is open and idle, where there is one."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable(now - IDLE_S):
                return connection
            connection.close()
        return None

    async def _connect(self, loop: asyncio.AbstractEventLoop) -> PlainConnection:
        """Connect to the first of the server's addresses that accepts."""
        from httptools import HttpResponseParser

        failure = OSError(f"{self._host} has no address")
        try:
            found = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        except OSError as error:
            found, failure = [], error
        for *_, address in found:
            connection = PlainConnection(self._limit)
            connection.parser = HttpResponseParser(connection)
            try:
                await loop.create_connection(lambda made=connection: made, *address[:2])
            except OSError as error:
                failure = error
            else:
                return connection
        raise ConnectError(*failure.args) from failure


Connections: TypeAlias = AiohttpConnections | PlainConnections
