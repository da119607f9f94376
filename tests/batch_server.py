"""Batch endpoints of OpenAI, Anthropic and Gemini on the loopback, as far as heedful uses them.

A batch ends after a given time. Each request is answered as a script tells: by a completion's text,
or not. What is accepted counts as bought, by the text of its last turn.
"""

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

Script = Callable[[str, int], str]
"""From a prompt and how often it was answered before to the text of the answer; texts that
begin with ``!`` stand for what else may come of a request: ``!lost``, ``!expired``,
``!400 MESSAGE``, ``!500 MESSAGE``."""

KEY = "sk-of-batches-4711"

PROMPT_TOKENS, CACHED_TOKENS, COMPLETION_TOKENS = 1000, 400, 100


class BatchServer:
    """The server.

    Attributes:
        url: its address.
        bought: how often each prompt was accepted and came to an answer.
        batches: the batches by their ids: their prompts, when they were made, their tag.
        slow_s: seconds between accepting a batch and saying so.
        room: requests that OpenAI's queue takes at a time, over all batches.
        finish: why OpenAI's answers end.
        gone: OpenAI's batches whose answers have been deleted.
        slow_upload_s: seconds that OpenAI takes for a file.
        listed_after_s: seconds until OpenAI lists a batch that it has accepted.
    """

    def __init__(self, script: Script, *, lasts_s: float = 0.0, slow_s: float = 0.0) -> None:
        self.script = script
        self.lasts_s = lasts_s
        self.slow_s = slow_s
        self.bought: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.batches: dict[str, dict[str, Any]] = {}
        self.files: dict[str, bytes] = {}
        self.refuse: list[tuple[int, str]] = []
        self.unsupported = ""
        self.room = 10**9
        self.finish = "stop"
        self.gone: set[str] = set()
        self.slow_upload_s = 0.0
        self.listed_after_s = 0.0
        self.url = ""
        app = web.Application(client_max_size=2**30)
        app.add_routes(
            [
                web.post("/v1/files", self.openai_file),
                web.get("/v1/files/{id}/content", self.openai_content),
                web.post("/v1/batches", self.openai_create),
                web.get("/v1/batches", self.openai_list),
                web.get("/v1/batches/{id}", self.openai_status),
                web.post("/v1/messages/batches", self.anthropic_create),
                web.get("/v1/messages/batches", self.anthropic_list),
                web.get("/v1/messages/batches/{id}", self.anthropic_status),
                web.get("/v1/messages/batches/{id}/results", self.anthropic_results),
                web.post("/upload/v1beta/files", self.gemini_begin),
                web.post("/upload/there", self.gemini_upload),
                web.post("/v1beta/models/{call}", self.gemini_create),
                web.get("/v1beta/batches", self.gemini_list),
                web.get("/v1beta/batches/{id}", self.gemini_status),
                web.get("/download/v1beta/files/{call}", self.gemini_download),
            ]
        )
        self.runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

    async def create(self, requests: list[tuple[str, str, dict[str, Any]]], tag: str) -> str:
        """Accept requests (number, prompt, body), and say so a little later."""
        if self.refuse:
            status, message = self.refuse.pop()
            raise _refusal(status, json.dumps({"error": {"message": message}}))
        name = f"batch-{len(self.batches)}"
        answers = []
        for number, prompt, body in requests:
            answer = self.script(prompt, self.asked[prompt])
            if self.unsupported and self.unsupported in body:
                answer = f"!400 Unsupported parameter: '{self.unsupported}' is not supported."
            self.asked[prompt] += 1
            self.bought[prompt] += not answer.startswith("!")
            if answer != "!lost":
                answers.append((number, answer, body))
        batch = {"answers": answers, "tag": tag, "began": time.time(), "count": len(requests)}
        self.batches[name] = batch
        await asyncio.sleep(self.slow_s)
        return name

    def ended(self, name: str) -> bool:
        return bool(time.time() - self.batches[name]["began"] >= self.lasts_s)

    # OpenAI

    async def openai_file(self, request: web.Request) -> web.Response:
        form = await request.post()
        assert form["purpose"] == "batch"
        name = f"file-{len(self.files)}"
        self.files[name] = form["file"].file.read()  # type: ignore[union-attr]
        await asyncio.sleep(self.slow_upload_s)
        return web.json_response({"id": name})

    async def openai_create(self, request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        content = await request.json()
        lines = [json.loads(line) for line in self.files[content["input_file_id"]].splitlines()]
        requests = [
            (line["custom_id"], line["body"]["messages"][-1]["content"], line["body"])
            for line in lines
        ]
        assert len({line["body"]["model"] for line in lines}) == 1
        waiting = [batch for name, batch in self.batches.items() if not self.ended(name)]
        if sum(batch["count"] for batch in waiting) + len(requests) > self.room:
            return web.json_response({"id": "crowded", "status": "validating"})
        name = await self.create(requests, content["metadata"]["heedful"])
        return web.json_response({"id": name, "status": "validating"})

    async def openai_list(self, request: web.Request) -> web.Response:
        seen = time.time() - self.listed_after_s
        names = [name for name, batch in self.batches.items() if batch["began"] <= seen][::-1]
        after = request.query.get("after")
        names = names[names.index(after) + 1 :] if after else names
        page = [
            {
                "id": name,
                "metadata": {"heedful": self.batches[name]["tag"]},
                "created_at": int(self.batches[name]["began"]),
            }
            for name in names[:2]
        ]
        return web.json_response({"data": page, "has_more": len(names) > len(page)})

    async def openai_status(self, request: web.Request) -> web.Response:
        name = request.match_info["id"]
        if name == "crowded":
            error = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached."}
            return web.json_response({"status": "failed", "errors": {"data": [error]}})
        batch = self.batches[name]
        body: dict[str, Any] = {"id": name, "status": "in_progress"}
        if self.ended(name):
            body["status"] = "completed"
            if any(answer == "!expired" for _, answer, _ in batch["answers"]):
                body["status"] = "expired"
            for kind in ("output", "error"):
                body[f"{kind}_file_id"] = f"{kind}-{name}"
            body["request_counts"] = {"completed": len(batch["answers"]), "failed": 0}
        return web.json_response(body)

    async def openai_content(self, request: web.Request) -> web.Response:
        kind, _, name = request.match_info["id"].partition("-")
        if name in self.gone:
            raise _refusal(404, json.dumps({"error": {"message": "No such File object"}}))
        lines = []
        for number, answer, body in self.batches[name]["answers"]:
            if answer.startswith("!") == (kind == "error"):
                line = _openai(answer, body["model"], self.finish)
                lines.append({"custom_id": number, **line})
        return web.Response(body="\n".join(map(json.dumps, reversed(lines))).encode())

    # Anthropic

    async def anthropic_create(self, request: web.Request) -> web.Response:
        assert request.headers["x-api-key"] == KEY
        assert request.headers["anthropic-version"]
        content = await request.json()
        requests = [
            (item["custom_id"], item["params"]["messages"][-1]["content"], item["params"])
            for item in content["requests"]
        ]
        return web.json_response(self._message_batch(await self.create(requests, "")))

    async def anthropic_list(self, request: web.Request) -> web.Response:
        del request
        names = [*self.batches][::-1]
        page = [self._message_batch(name) for name in names]
        return web.json_response({"data": page, "has_more": False})

    async def anthropic_status(self, request: web.Request) -> web.Response:
        return web.json_response(self._message_batch(request.match_info["id"]))

    def _message_batch(self, name: str) -> dict[str, Any]:
        batch = self.batches[name]
        ended = self.ended(name)
        counts = {"processing": 0 if ended else batch["count"]}
        counts["succeeded"] = batch["count"] if ended else 0
        return {
            "id": name,
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts,
            "created_at": datetime.fromtimestamp(batch["began"], UTC).isoformat(),
            "results_url": "http://elsewhere.example/results",
        }

    async def anthropic_results(self, request: web.Request) -> web.Response:
        lines = []
        for number, answer, body in self.batches[request.match_info["id"]]["answers"]:
            lines.append({"custom_id": number, "result": _anthropic(answer, body["model"])})
        return web.Response(body="\n".join(map(json.dumps, reversed(lines))).encode())

    # Gemini

    async def gemini_begin(self, request: web.Request) -> web.Response:
        assert request.headers["X-Goog-Upload-Command"] == "start"
        return web.json_response({}, headers={"X-Goog-Upload-URL": f"{self.url}/upload/there"})

    async def gemini_upload(self, request: web.Request) -> web.Response:
        name = f"files/{len(self.files)}"
        self.files[name] = await request.read()
        return web.json_response({"file": {"name": name}})

    async def gemini_create(self, request: web.Request) -> web.Response:
        assert request.headers["x-goog-api-key"] == KEY
        model, _, call = request.match_info["call"].partition(":")
        assert call == "batchGenerateContent"
        batch = (await request.json())["batch"]
        config = batch["inputConfig"]
        if "fileName" in config:
            lines = map(json.loads, self.files[config["fileName"]].splitlines())
            entries = [(line["key"], line["request"]) for line in lines]
        else:
            inlined = config["requests"]["requests"]
            entries = [(item["metadata"]["key"], item["request"]) for item in inlined]
        requests = [
            (key, entry["contents"][-1]["parts"][0]["text"], {"model": model})
            for key, entry in entries
        ]
        name = await self.create(requests, batch["displayName"])
        self.batches[name]["file"] = "fileName" in config
        return web.json_response(self._operation(name))

    def _operation(self, name: str) -> dict[str, Any]:
        ended = self.ended(name)
        batch = self.batches[name]
        state = "BATCH_STATE_SUCCEEDED" if ended else "BATCH_STATE_RUNNING"
        metadata = {"state": state, "displayName": batch["tag"]}
        body: dict[str, Any] = {"name": f"batches/{name}", "metadata": metadata, "done": ended}
        if ended and batch.get("file"):
            body["response"] = {"responsesFile": f"files/{name}"}
        elif ended:
            answers = [
                {"metadata": {"key": number}, **_gemini(answer, body["model"])}
                for number, answer, body in batch["answers"]
            ]
            body["response"] = {"inlinedResponses": {"inlinedResponses": answers}}
        return body

    async def gemini_list(self, request: web.Request) -> web.Response:
        first = int(request.query.get("pageToken", "0"))
        names = [*self.batches][::-1]
        body: dict[str, Any] = {
            "operations": [self._operation(name) for name in names[first : first + 2]]
        }
        if len(names) > first + 2:
            body["nextPageToken"] = str(first + 2)
        return web.json_response(body)

    async def gemini_status(self, request: web.Request) -> web.Response:
        return web.json_response(self._operation(request.match_info["id"]))

    async def gemini_download(self, request: web.Request) -> web.Response:
        name = request.match_info["call"].partition(":")[0]
        lines = [
            {"key": number, **_gemini(answer, body["model"])}
            for number, answer, body in self.batches[name]["answers"]
        ]
        return web.Response(body="\n".join(map(json.dumps, lines)).encode())


def _refusal(status: int, body: str) -> web.HTTPException:
    class Refused(web.HTTPException):
        status_code = status

    return Refused(text=body, content_type="application/json")


def _openai(answer: str, model: str, finish: str) -> dict[str, Any]:
    if answer == "!expired":
        error = {"code": "batch_expired", "message": "This request expired."}
        return {"response": None, "error": error}
    if answer.startswith("!"):
        status, _, message = answer[1:].partition(" ")
        body: dict[str, Any] = {"error": {"message": message}}
        return {"response": {"status_code": int(status), "body": body}, "error": None}
    usage = {
        "prompt_tokens": PROMPT_TOKENS,
        "completion_tokens": COMPLETION_TOKENS,
        "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
    }
    told = {"role": "assistant", "content": answer}
    body = {
        "model": model,
        "choices": [{"message": told, "finish_reason": finish}],
        "usage": usage,
    }
    return {"response": {"status_code": 200, "body": body}, "error": None}


def _anthropic(answer: str, model: str) -> dict[str, Any]:
    if answer == "!expired":
        return {"type": "expired"}
    if answer.startswith("!"):
        status, _, message = answer[1:].partition(" ")
        kind = "invalid_request_error" if status == "400" else "api_error"
        error = {"type": "error", "error": {"type": kind, "message": message}}
        return {"type": "errored", "error": error}
    usage = {
        "input_tokens": PROMPT_TOKENS - CACHED_TOKENS,
        "cache_read_input_tokens": CACHED_TOKENS,
        "output_tokens": COMPLETION_TOKENS,
    }
    content = [{"type": "text", "text": answer}]
    told = {"model": model, "content": content, "stop_reason": "end_turn", "usage": usage}
    return {"type": "succeeded", "message": told}


def _gemini(answer: str, model: str) -> dict[str, Any]:
    if answer == "!expired":
        return {"error": {"code": 14, "message": "expired"}}
    if answer.startswith("!"):
        status, _, message = answer[1:].partition(" ")
        return {"error": {"code": 3 if status == "400" else 13, "message": message}}
    usage = {
        "promptTokenCount": PROMPT_TOKENS,
        "cachedContentTokenCount": CACHED_TOKENS,
        "candidatesTokenCount": COMPLETION_TOKENS,
    }
    candidate = {"content": {"parts": [{"text": answer}]}, "finishReason": "STOP"}
    return {"response": {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model}}


@contextmanager
def serving(script: Script, *, lasts_s: float = 0.0, slow_s: float = 0.0) -> Iterator[BatchServer]:
    """Serve from a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = BatchServer(script, lasts_s=lasts_s, slow_s=slow_s)

    async def start() -> None:
        await server.runner.setup()
        await web.TCPSite(server.runner, "127.0.0.1", 0).start()
        host, port = server.runner.addresses[0][:2]
        server.url = f"http://{host}:{port}"

    try:
        asyncio.run_coroutine_threadsafe(start(), loop).result()
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
