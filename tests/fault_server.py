"""A chat-completions server on the loopback that answers as a script tells it, faults included."""

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

from aiohttp import web

Script = Callable[[int, dict[str, Any]], "Answer"]
"""From a request's number, counted from 0, and its body to what to answer."""


@dataclass(frozen=True)
class Answer:
    """What to do with one request.

    Attributes:
        body: the body, JSON unless it is text or bytes already.
        delay_s: how long to wait before the body.
        drip_s: how long to wait before each of its bytes.
        cut: bytes of the body to send before the connection is dropped.
    """

    status: int = 200
    body: Any = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    drip_s: float = 0.0
    cut: int | None = None


def completion(text: str = "fine", **fields: Any) -> Answer:
    """Answer as a model does; the fields go into the message, ``finish_reason`` beside it."""
    finish_reason = fields.pop("finish_reason", "stop")
    message = {"role": "assistant", "content": text, **fields}
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 4,
        "total_tokens": 14,
        "prompt_tokens_details": {"cached_tokens": 6},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    choices = [{"index": 0, "message": message, "finish_reason": finish_reason}]
    head = {"id": "c-1", "object": "chat.completion", "created": 1735689600}
    return Answer(body={**head, "model": "m-2025-01-01", "choices": choices, "usage": usage})


def refusal(status: int, message: str, **fields: Any) -> Answer:
    """Answer with an error in OpenAI's shape."""
    return Answer(status=status, body={"error": {"message": message, **fields}})


class FaultServer:
    """The server; use it as an async context manager.

    Attributes:
        bodies: the requests' bodies, in order.
        headers: the requests' headers, in order.
        url: its base URL.
    """

    def __init__(self, *answers: Answer, script: Script | None = None) -> None:
        """Script the server: the answers in order, the last one again and again, or a function."""
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self._script = script or (lambda number, _: answers[min(number, len(answers) - 1)])
        app = web.Application()
        for path in ("/v1/chat/completions", "/v1/messages"):
            app.router.add_post(path, self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        sent = await request.json()
        number = len(self.bodies)
        self.bodies.append(sent)
        self.headers.append(request.headers)
        answer = self._script(number, sent)
        text = answer.body if isinstance(answer.body, str | bytes) else json.dumps(answer.body)
        data = text if isinstance(text, bytes) else text.encode()
        response = web.StreamResponse(status=answer.status, headers=dict(answer.headers))
        response.content_length = len(data)
        await response.prepare(request)
        if answer.delay_s:
            await asyncio.sleep(answer.delay_s)
        if answer.drip_s:
            for byte in data:
                await asyncio.sleep(answer.drip_s)
                await response.write(bytes([byte]))
        elif answer.cut is None:
            await response.write(data)
        else:
            await response.write(data[: answer.cut])
            assert request.transport is not None
            request.transport.abort()
        return response


@contextmanager
def serving(*answers: Answer, script: Script | None = None) -> Iterator[FaultServer]:
    """Serve from a thread of its own, beside what has no event loop, such as a command."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = FaultServer(*answers, script=script)
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(_close(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _close(server: FaultServer) -> None:
    """Close the server, and end the answers that it still holds back."""
    await server.__aexit__()
    held = asyncio.all_tasks() - {asyncio.current_task()}
    for task in held:
        task.cancel()
    await asyncio.gather(*held, return_exceptions=True)


def verdicts(_: int, body: dict[str, Any]) -> Answer:
    """Answer as a judge to whom every constraint is met, in the form that was asked for."""
    asked = body["messages"][-1]["content"]
    numbers = re.findall(r"^(\d+)\. ", asked, re.MULTILINE)
    if "rubrics_check" in asked:
        answers = {f"question_{number}": "It does. YES" for number in numbers}
        text = json.dumps({"rubrics_check": answers, "SATISFIED_ALL_REQUIREMENTS": "YES"})
    else:
        text = "\n".join(f"<c{number}>\nSeen.\nVERDICT: MET\n</c{number}>" for number in numbers)
    answer = completion(text)
    usage = {"prompt_tokens": 600, "completion_tokens": 40}
    return replace(answer, body={**answer.body, "model": body["model"], "usage": usage})
