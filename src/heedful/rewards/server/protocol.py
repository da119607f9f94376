"""Connections that take neither endless headers nor endless time to send them.

uvicorn bounds neither: a client could fill the memory with one header, or hold a connection open
with half of a request. Bodies are bounded where they are read (:mod:`heedful.rewards.server.app`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

HEADER_BYTES = 64 * 2**10
"""Bytes of a request's line and headers, counted in whole chunks as they arrive."""

HEADER_S = 10.0
"""Seconds in which they have to arrive, from the connection or from their first byte on."""

TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n\r\n"
LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\r\n"


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits on headers."""

    _header_bytes = 0
    _in_headers = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        """Expect a request soon."""
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._relax()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take some bytes, and refuse what has had too many headers."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._in_headers:
            self._header_bytes += len(data)
            if self._header_bytes > HEADER_BYTES:
                self._refuse(TOO_LARGE)

    def on_message_begin(self) -> None:
        """Begin a request, the first of a connection or a later one."""
        super().on_message_begin()
        self._in_headers = True
        self._header_bytes = 0
        if self._timer is None:
            self._expect()

    def on_headers_complete(self) -> None:
        """End the headers."""
        self._in_headers = False
        self._relax()
        super().on_headers_complete()

    def _expect(self) -> None:
        self._timer = self.loop.call_later(HEADER_S, self._refuse, LATE)

    def _relax(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, answer: bytes) -> None:
        self._relax()
        if not self.transport.is_closing():
            if self._is_idle():  # amid the answer to an earlier request it would be part of that
                self.transport.write(answer)
            self.transport.close()

    def _is_idle(self) -> bool:
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete
