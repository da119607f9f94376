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
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies_environment

from heedful.models.plain_connection import (
    BrokenReplyError,
    ConnectError,
    HttpReply,
    LongReplyError,
    PlainConnection,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import aiohttp

__all__: list[str] = []

CONNECT_TIMEOUT_S = 30.0

IDLE_S = 15.0
"""Seconds after which a connection isn't used again: its server may be closing it."""


class Connections(Protocol):
    """Connections to one server, all in one event loop."""

    async def post(self, body: bytes) -> HttpReply:
        """Send a request; return the reply, whatever its status. Redirects aren't followed."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


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
    """Connections by aiohttp: with TLS, and through the proxies that the environment names."""

    def __init__(
        self, url: str, headers: Mapping[str, str], timeout_s: float, body_limit: int
    ) -> None:
        """Begin without a connection; see :func:`connections`."""
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
        """Send a request; see :class:`Connections`."""
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
        """Begin without a connection; see :func:`connections`."""
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
            **headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in own.items())
        self._head = f"POST {where.raw_path_qs} HTTP/1.1\r\n{lines}".encode()
        self._idle: list[PlainConnection] = []
        self._used: set[PlainConnection] = set()

    async def post(self, body: bytes) -> HttpReply:
        """Send a request; see :class:`Connections`."""
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
