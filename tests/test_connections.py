"""Connections on plain HTTP, on a server that sends whatever bytes it is told to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.models.connections import (
    AiohttpConnections,
    BrokenReplyError,
    ConnectError,
    HttpReply,
    LongReplyError,
    PlainConnections,
    connections,
)

LIMIT = 1000
LENGTH = b"HTTP/1.1 200 OK\r\nRetry-After: 3\r\nContent-Length: 4\r\n\r\nfine"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nf\r\n3;a=b\r\nine\r\n0\r\n\r\n"
)
TO_THE_END = b"HTTP/1.1 200 OK\r\n\r\nfine"
EARLY = b"HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\n" + LENGTH


class Script:
    """What a server sends.

    Attributes:
        requests: what it was sent, connection by connection.
        asked: whether it was sent anything.
    """

    def __init__(self, pieces: list[bytes], *, close: bool = False) -> None:
        """Send the pieces one by one at each request, and maybe close the connection."""
        self.pieces = pieces
        self.close = close
        self.requests: list[bytes] = []
        self.asked = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.requests.append(b"")
        place = len(self.requests) - 1
        with suppress(OSError):
            while piece := await reader.read(2**16):
                self.requests[place] += piece
                self.asked.set()
                for part in self.pieces:
                    writer.write(part)
                    await asyncio.sleep(0)
                if self.close:
                    break
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


@asynccontextmanager
async def served(
    script: Script,
    timeout_s: float = 5.0,
    make: type[PlainConnections | AiohttpConnections] = PlainConnections,
) -> AsyncIterator[PlainConnections | AiohttpConnections]:
    """Serve the script; give connections to it."""
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    opened = make(
        f"http://127.0.0.1:{port}/v1/x?q=1", {"Authorization": "Bearer k"}, timeout_s, LIMIT
    )
    try:
        yield opened
    finally:
        await opened.close()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others)


def posted(*pieces: bytes, times: int = 1, close: bool = False) -> tuple[list[HttpReply], Script]:
    """Post so often; return the replies."""
    script = Script(list(pieces), close=close)

    async def post() -> list[HttpReply]:
        async with served(script) as opened:
            return [await opened.post(b'{"a": 1}') for _ in range(times)]

    return asyncio.run(post()), script


def test_a_request_is_whole_and_a_connection_is_used_again() -> None:
    replies, script = posted(LENGTH, times=3)
    assert [(reply.status, reply.content) for reply in replies] == [(200, b"fine")] * 3
    assert replies[0].headers["Retry-After"] == "3"
    (sent,) = script.requests
    head, body = sent.split(b"\r\n\r\n")[:2]
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /v1/x?q=1 HTTP/1.1"
    assert b"Authorization: Bearer k" in lines
    assert b"Content-Length: 8" in lines
    assert sum(line.startswith(b"Host: 127.0.0.1:") for line in lines) == 1
    assert body.startswith(b'{"a": 1}')


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([LENGTH, CHUNKED, TO_THE_END, EARLY]),
    st.sets(st.integers(1, len(EARLY)), max_size=6),
)
def test_a_reply_is_the_same_however_it_is_cut(reply: bytes, cuts: set[int]) -> None:
    places = [0, *sorted(cut for cut in cuts if cut < len(reply)), len(reply)]
    pieces = [reply[start:end] for start, end in pairwise(places)]
    (read,), _ = posted(*pieces, close=True)
    assert (read.status, read.content) == (200, b"fine")
    assert "X-Early" not in read.headers


@pytest.mark.parametrize(
    "reply",
    [
        LENGTH + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother",
        LENGTH + b"more",
        LENGTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
        LENGTH.replace(b"1.1", b"1.0"),
    ],
    ids=["a second reply", "more bytes", "close", "HTTP 1.0"],
)
def test_a_connection_that_may_be_out_of_step_is_left(reply: bytes) -> None:
    replies, script = posted(reply, times=2)
    assert [read.content for read in replies] == [b"fine", b"fine"]
    assert len(script.requests) == 2


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (LENGTH[:-1], BrokenReplyError),
        (CHUNKED[:-3], BrokenReplyError),
        (b"", BrokenReplyError),
        (b"SSH-2.0-OpenSSH\r\n", BrokenReplyError),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000, BrokenReplyError),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (LIMIT + 1), LongReplyError),
    ],
)
def test_a_reply_that_cannot_be_read_is_an_error(reply: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        posted(reply, close=True)


def test_a_call_that_is_cancelled_leaves_its_answer_to_nobody() -> None:
    script = Script([])

    async def post() -> bytes:
        async with served(script) as opened:
            first = asyncio.ensure_future(opened.post(b"first"))
            await script.asked.wait()
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            script.pieces = [LENGTH]
            return (await opened.post(b"second")).content

    assert asyncio.run(post()) == b"fine"
    assert [sent.rpartition(b"\r\n")[2] for sent in script.requests] == [b"first", b"second"]


def test_what_the_server_sends_unasked_closes_the_connection() -> None:
    script = Script([LENGTH])

    async def post() -> list[bytes]:
        async with served(script) as opened:
            first = await opened.post(b"{}")
            assert isinstance(opened, PlainConnections)
            for connection in opened._idle:  # noqa: SLF001 - nothing else sends between calls
                connection.data_received(LENGTH.replace(b"fine", b"FAKE"))
            return [first.content, (await opened.post(b"{}")).content]

    assert asyncio.run(post()) == [b"fine", b"fine"]
    assert len(script.requests) == 2


@pytest.mark.parametrize(
    ("url", "proxy"), [("https://host/v1", None), ("http://host/v1", "http://127.0.0.1:9")]
)
def test_tls_and_proxies_are_left_to_aiohttp(
    monkeypatch: pytest.MonkeyPatch, url: str, proxy: str | None
) -> None:
    if proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy)

    async def refused() -> None:
        opened = connections(url, {}, 1.0, LIMIT)
        assert isinstance(opened, AiohttpConnections)
        try:
            if proxy:
                with pytest.raises(ConnectError):
                    await opened.post(b"{}")
        finally:
            await opened.close()

    asyncio.run(refused())
