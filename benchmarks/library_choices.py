"""Why token sampling and the reading of request bodies are heedful's, in numbers.

    python benchmarks/library_choices.py

1. 40 prompts are answered one at a time and in batches of 8, with the same seed, by transformers'
   sampling and by heedful's, on an untrained model: how many answers change with the batch.
2. 64 rows, one without a response, are sent to a FastAPI endpoint with a typed body and to
   ``heedful serve``'s application: how many get a reward. And of a body of 256 MiB without a
   declared length, how much is read before the answer.

Needs torch, transformers and the extra ``serve``.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import untrained_model

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

PROMPTS = [f"Name {number} rivers." for number in range(40)]
BATCH, TOKENS, SEED = 8, 16, 0
MIB = 2**20
SENT = 256 * MIB


def transformers_answers(folder: str, batch: int) -> list[str]:
    """Answer all prompts with transformers' sampling, the seed set before each batch."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    answers: list[str] = []
    for start in range(0, len(PROMPTS), batch):
        tokens = tokenizer(PROMPTS[start : start + batch], return_tensors="pt", padding=True)
        torch.manual_seed(SEED)
        made = model.generate(
            input_ids=tokens["input_ids"],
            attention_mask=tokens["attention_mask"],
            do_sample=True,
            max_new_tokens=TOKENS,
        )
        width = tokens["input_ids"].shape[1]
        answers += tokenizer.batch_decode(made[:, width:], skip_special_tokens=True)
    return answers


async def heedful_answers(folder: str, batch: int) -> list[str]:
    """Answer all prompts with heedful's sampling."""
    from heedful.core.nouns import Message
    from heedful.models.base import Sampling
    from heedful.models.local import LocalModel

    model = LocalModel(folder, batch_size=batch)
    how = Sampling(temperature=1.0, max_tokens=TOKENS, seed=SEED)
    calls = [model.generate([Message(role="user", content=each)], how) for each in PROMPTS]
    return [answer.text for answer in await asyncio.gather(*calls)]


async def post(app: Any, path: str, chunks: Sequence[bytes]) -> tuple[int, bytes, int]:
    """Send a body without a declared length; return status, answer and the bytes it took."""
    waiting, taken, status, answer = list(chunks), 0, 0, b""

    async def receive() -> dict[str, Any]:
        nonlocal taken
        chunk = waiting.pop(0)
        taken += len(chunk)
        return {"type": "http.request", "body": chunk, "more_body": bool(waiting)}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status, answer
        status, answer = message.get("status", status), answer + message.get("body", b"")

    headers = [(b"content-type", b"application/json"), (b"host", b"127.0.0.1")]
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
        "scheme": "http",
    }
    await app(scope, receive, send)
    return status, answer, taken


def typed_app() -> Any:
    """Make an application whose body FastAPI reads."""
    from fastapi import FastAPI
    from pydantic import BaseModel

    class Row(BaseModel):
        prompt: str
        response: str
        checklist: list[dict[str, Any]]

    class Rows(BaseModel):
        samples: list[Row]

    app = FastAPI()

    async def rewards(batch: Rows) -> dict[str, Any]:
        return {"rewards": [1.0 for _ in batch.samples]}

    rewards.__annotations__["batch"] = Rows
    app.add_api_route("/v1/rewards", rewards, methods=["POST"])
    return app


async def served(path: str, chunks: Sequence[bytes]) -> tuple[int, bytes, int]:
    """Send a body to heedful's application, which judges with code."""
    from heedful.judges.making import make_judge
    from heedful.rewards import Reward
    from heedful.rewards.server.admission import JudgingService, Limits
    from heedful.rewards.server.app import application
    from heedful.rewards.server.auth import AuthMiddleware
    from heedful.rewards.server.metrics import Metrics

    reward, service = Reward(make_judge("rules,compiled")), JudgingService(Limits())
    metrics = Metrics(reward, service.admission, None)
    async with reward.session() as session:
        app = application(reward, session, service, metrics)
        return await post(AuthMiddleware(app, metrics, None), path, chunks)


def rows() -> bytes:
    """Write 64 rows, of which one has no response."""
    made: list[dict[str, Any]] = [
        {"prompt": "Greet.", "response": "Hello there.", "checklist": [{"text": "No commas."}]}
        for _ in range(64)
    ]
    del made[20]["response"]
    return json.dumps({"samples": made}).encode()


def show_changes(name: str, alone: list[str], batched: list[str]) -> None:
    """Print how many answers depend on the batch."""
    changed = sum(one != other for one, other in zip(alone, batched, strict=True))
    print(f"{name}: {changed} of {len(alone)} answers change with the batch")


async def show_bodies(
    name: str, send: Callable[[str, Sequence[bytes]], Awaitable[tuple[int, bytes, int]]]
) -> None:
    """Print what becomes of a bad row and of a large body."""
    status, answer, _ = await send("/v1/rewards", [rows()])
    given = [each for each in json.loads(answer).get("rewards", []) if each is not None]
    print(f"{name}: status {status}, {len(given)} of 64 rows have a reward")
    status, _, taken = await send("/v1/rewards", [b" " * MIB] * (SENT // MIB))
    print(f"{name}: of {SENT // MIB} MiB, {taken // MIB} read before the answer {status}")


def main() -> None:
    """Print the numbers."""
    with tempfile.TemporaryDirectory() as folder:
        untrained_model.save(Path(folder))
        alone, batched = (transformers_answers(folder, size) for size in (1, BATCH))
        show_changes("transformers", alone, batched)
        alone, batched = (asyncio.run(heedful_answers(folder, size)) for size in (1, BATCH))
        show_changes("heedful", alone, batched)
    asyncio.run(show_bodies("FastAPI's body", partial(post, typed_app())))
    asyncio.run(show_bodies("heedful", served))


if __name__ == "__main__":
    main()
