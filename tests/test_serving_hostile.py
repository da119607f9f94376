"""The server under hostile clients: every request is answered with 4xx, and nothing fills up."""

import asyncio
import http.client
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fault_server import serving, verdicts
from heedful.rewards.server.admission import Admission, Body, RefusedError
from heedful_server import ASKED, CODED, Server, server
from properties import of_a_hundred

pytestmark = pytest.mark.slow  # each test starts a server, or asks one

POSTED = ("/v1/critique", "/v1/critiques", "/v1/rewards", "/openrlhf")

NESTED = "[" * 100_000

ODD_JSON: dict[str, bytes] = {
    "nested": NESTED.encode(),
    "nested objects": b'{"a":' * 50_000,
    "nested sample": json.dumps({"samples": [{**CODED, "checklist": NESTED}]}).encode(),
    "nested prompt": json.dumps({"samples": [{**CODED, "prompt": "[{" + NESTED}]}).encode(),
    "deep but whole": json.dumps(
        {**CODED, "checklist": "[" * 900 + "]" * 900, "samples": [{**CODED, "x": "{" * 900}]}
    ).encode(),
    "nested label": json.dumps({"query": ["a"], "prompts": ["a"], "labels": [NESTED]}).encode(),
    "whole nested label": json.dumps(
        {"query": ["a"], "prompts": ["a"], "labels": ["[" * 900 + "]" * 900]}
    ).encode(),
    "half a pair": b'{"samples": [{"prompt": "\\ud800", "response": "x", "checklist": ["y"]}]}',
    "NaN": b'{"samples": [NaN], "query": [NaN]}',
    "long number": b'{"samples": [' + b"9" * 10_000 + b"]}",
    "a bool for text": json.dumps({"samples": [{**CODED, "prompt": True}]}).encode(),
    "messages of numbers": json.dumps({"samples": [{**CODED, "messages": [1, None]}]}).encode(),
    "NUL": json.dumps({"samples": [{**CODED, "id": "\0", "prompt": "\0"}]}).encode(),
    "UTF-16": json.dumps(CODED).encode("utf-16"),
    "not UTF-8": b'{"samples": ["\xff"]}',
    "nothing": b"",
}

ODD_HEADERS: dict[str, tuple[str, bytes]] = {
    "origin that is no address": ("Origin", b"http://[x"),
    "null origin": ("Origin", b"null"),
    "origin of bytes": ("Origin", b"\xff\xfe"),
    "host that is no address": ("Host", b"[x"),
    "host of bytes": ("Host", b"\xff\xfe"),
    "a user at this host": ("Host", b"user@localhost"),
    "a port that is none": ("Host", b"127.0.0.1:abc"),
    "another host": ("Host", b"rebound.example"),
    "another host with our port": ("Host", b"127.0.0.1.example:8765"),
    "length that is none": ("Content-Length", b"-1"),
    "huge length": ("Content-Length", b"9" * 30),
    "broken credentials": ("Authorization", b"Basic \xff\xff"),
}


@pytest.fixture(scope="module")
def coded() -> Iterator[Server]:
    with server("--undecided=0") as made:
        yield made


def place(made: Server) -> tuple[str, int]:
    host, port = made.url.removeprefix("http://").split(":")
    return host, int(port)


def raw(made: Server, request: bytes) -> bytes:
    """Send bytes; return what comes back until the connection is closed."""
    with socket.create_connection(place(made), timeout=10) as client:
        try:
            client.sendall(request)
            parts = [client.recv(65536)]
            while parts[-1]:
                parts.append(client.recv(65536))
        except ConnectionError:  # it was closed while we were still sending
            return b""
    return b"".join(parts)


def is_alive(made: Server) -> bool:
    return made.get("/health")[0] == 200 and made.rewards(CODED)[1]["rewards"] == [1]


@pytest.mark.parametrize("path", POSTED)
@pytest.mark.parametrize("odd", ODD_JSON)
def test_odd_json_is_refused_or_an_error_of_its_row(coded: Server, path: str, odd: str) -> None:
    status, body, _ = coded.post(path, ODD_JSON[odd])
    assert status == 200 or 400 <= status < 500, body
    if status == 200:
        assert "defect" not in json.dumps(body)
    else:
        assert body["error"]["what"]


@pytest.mark.parametrize("path", ["/v1/rewards", "/health", "/ready", "/metrics", "/nowhere"])
@pytest.mark.parametrize("odd", ODD_HEADERS)
def test_odd_headers_are_refused(coded: Server, path: str, odd: str) -> None:
    name, value = ODD_HEADERS[odd]
    connection = http.client.HTTPConnection(*place(coded), timeout=10)
    connection.putrequest(
        "POST" if path.startswith("/v1") else "GET", path, skip_host=name == "Host"
    )
    connection.putheader(name, value)
    if name != "Content-Length":
        connection.putheader("Content-Length", "0")
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    if name in {"Origin", "Host"}:
        assert status in {403, 421}
        assert status == 403 or name == "Host"
    else:
        assert 200 <= status < 500
    assert is_alive(coded)


def test_a_client_that_goes_away_is_no_defect() -> None:
    with server() as made:
        for at in range(20):
            with socket.create_connection(place(made), timeout=10) as client:
                begun = b"POST /v1/rewards HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
                client.sendall(begun + b"{" * (at % 3))
        assert is_alive(made)
        _, log = made.stop()
    assert "Traceback" not in log
    assert " 500" not in log


def test_a_name_that_points_here_is_refused_only_without_a_token() -> None:
    headers = {"Host": "gpu-7.cluster.example:8765"}
    with server("--token=abcdef") as made:
        assert made.post("/v1/rewards", {"samples": [CODED]}, headers)[0] == 401
        headers["Authorization"] = "Bearer abcdef"
        assert made.post("/v1/rewards", {"samples": [CODED]}, headers)[0] == 200


def test_headers_without_end_are_refused_and_cost_no_memory(coded: Server) -> None:
    field = b"x: " + b"y" * 8000 + b"\r\n"
    for endless in (field * 4000, b"x: " + b"y" * 30_000_000):
        answer = raw(coded, b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + endless)
        assert not answer or answer.startswith(b"HTTP/1.1 4")
    assert peak_mib(coded) < 200
    assert is_alive(coded)


def peak_mib(made: Server) -> float:
    try:
        with open(f"/proc/{made.process.pid}/status", encoding="utf-8") as file:  # noqa: PTH123
            peak = next(line for line in file if line.startswith("VmHWM"))
    except OSError:
        pytest.skip("/proc tells memory, on Linux")
    return int(peak.split()[1]) / 1024


@given(st.lists(st.binary(max_size=60), max_size=6))
@of_a_hundred(40)
def test_bytes_that_are_no_http_do_no_harm(coded: Server, lines: list[bytes]) -> None:
    request = b"\r\n".join([b"POST /v1/rewards HTTP/1.1", b"Host: localhost", *lines])
    answer = raw(coded, request + b"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n\0\0")
    assert not answer or b" 500 " not in answer.split(b"\r\n")[0]
    assert coded.get("/health")[0] == 200


def test_bytes_of_requests_are_counted_until_nothing_of_them_is_in_work() -> None:
    large = {**ASKED, "note": "x" * 700_000}
    flags = ("--max-body=1", "--max-bodies=1", "--deadline=1")
    with (
        serving(script=lambda *about: replace(verdicts(*about), delay_s=3)) as model,
        server(*flags, model_url=model.url) as made,
        ThreadPoolExecutor() as pool,
    ):
        first = pool.submit(made.rewards, large)
        while not model.bodies:
            time.sleep(0.02)
        for _ in range(2):  # while it is waited for, and while it is still judged
            status, body, headers = made.post("/v1/rewards", {"samples": [large]})
            assert status == 429
            assert "MiB" in body["error"]["what"]
            assert int(headers["retry-after"]) >= 1
            assert made.rewards(CODED)[0] == 200  # a small one still fits
            assert first.result()[0] == 504
        while made.rewards(large)[0] == 429:
            time.sleep(0.1)
        assert made.rewards(large)[0] == 200


@given(st.lists(st.lists(st.integers(1, 9), max_size=4), max_size=8))
def test_bytes_are_given_back_whatever_is_refused(requests: list[list[int]]) -> None:
    async def scenario() -> None:
        admission = Admission(1, 20)
        bodies, tasks = [], []
        for chunks in requests:
            body, size = Body(admission), 0
            bodies.append(body)
            task = asyncio.ensure_future(asyncio.sleep(0))
            tasks.append(task)
            body.used_by(task)
            for chunk in chunks:
                size += chunk
                if admission.bytes + chunk > 20:
                    with pytest.raises(RefusedError, match="MiB"):
                        body.take(size)
                    break
                body.take(size)
            assert admission.bytes <= 20
        for body in bodies:
            body.leave()
        await asyncio.gather(*tasks)
        await asyncio.sleep(0)
        assert admission.bytes == 0

    asyncio.run(scenario())


# --- time ---------------------------------------------------------------------------------------


async def answering(scope: Any, receive: Any, send: Any) -> None:
    del scope
    while (await receive()).get("more_body"):
        pass
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    )
    await send({"type": "http.response.body", "body": b"ok"})


WHOLE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
SLOW: dict[str, tuple[list[bytes], list[bytes]]] = {
    "nothing": ([], [b"HTTP/1.1 408"]),
    "half a line": ([b"GET"], [b"HTTP/1.1 408"]),
    "half a header": ([b"GET / HTTP/1.1\r\nHost: loc"], [b"HTTP/1.1 408"]),
    "a byte at a time": ([b"GET / HTTP/1.1\r\n", *[b"x: y\r\n"] * 5], [b"HTTP/1.1 408"]),
    "half a second request": ([WHOLE, b"GET / HT"], [b"HTTP/1.1 200", b"HTTP/1.1 408"]),
    "whole": ([WHOLE, WHOLE], [b"HTTP/1.1 200", b"HTTP/1.1 200"]),
    "in pieces": ([WHOLE[:20], WHOLE[20:], WHOLE[:9], WHOLE[9:]], [b"HTTP/1.1 200"] * 2),
}


@pytest.mark.parametrize("case", SLOW)
def test_half_open_requests_are_closed_in_time(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import uvicorn

    from heedful.rewards.server import protocol

    monkeypatch.setattr(protocol, "HEADER_S", 0.2)
    parts, expected = SLOW[case]

    async def scenario() -> bytes:
        config = uvicorn.Config(
            answering, http=protocol.BoundedProtocol, lifespan="off", log_config=None,
            timeout_keep_alive=1,
        )  # fmt: skip
        made = uvicorn.Server(config)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            running = asyncio.ensure_future(made.serve(sockets=[listener]))
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            for part in parts:
                writer.write(part)
                await asyncio.sleep(0.02)
            answer = await asyncio.wait_for(reader.read(), 10)
            writer.close()
            made.should_exit = True
            await running
        return answer

    answer = asyncio.run(scenario())
    assert answer.count(b"HTTP/1.1") == len(expected)
    assert all(part in answer for part in expected)
