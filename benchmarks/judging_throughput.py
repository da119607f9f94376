"""Rows per second of judging with a model, beside a loop that only posts and decodes.

    python benchmarks/judging_throughput.py

A server on the loopback, in a process of its own, answers each prompt after 50 ms with a verdict on
each of five constraints. heedful reads, renders, calls, parses, stores and summarises; the bare
loop sends the same prompts, made beforehand, with aiohttp and decodes the answers. Both keep 256
calls in flight and take turns. Prints the rates of each round and the median ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp

from heedful import Constraint, Message, Sample, evaluate
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import OpenAIModel
from heedful.models.limiter import AdaptiveLimiter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful.engine.runner import Progress

IN_FLIGHT = 256
LATENCY_S = 0.05
CONSTRAINTS = 5

SERVER = f"""
import asyncio
import json
import sys

from aiohttp import web

blocks = "\\n\\n".join(
    f"<c{{k}}>\\nThe response does what constraint {{k}} asks for.\\nVERDICT: MET\\n</c{{k}}>"
    for k in range(1, {CONSTRAINTS} + 1)
)
message = {{"role": "assistant", "content": blocks}}
body = json.dumps({{
    "model": "bench",
    "choices": [{{"index": 0, "message": message, "finish_reason": "stop"}}],
    "usage": {{"prompt_tokens": 600, "completion_tokens": 90}},
}}).encode()


async def answer(request):
    await request.read()
    await asyncio.sleep({LATENCY_S})
    return web.Response(body=body, content_type="application/json")


async def serve():
    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


asyncio.run(serve())
"""


@contextmanager
def serving() -> Iterator[str]:
    """Run the server; give its base URL."""
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None  # noqa: S101 - it is a pipe
    try:
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
    finally:
        server.kill()


def samples(count: int) -> Iterator[Sample]:
    """Make rows that are all different, so that no answer serves two."""
    for number in range(count):
        yield Sample(
            id=str(number),
            conversation=(Message(role="user", content=f"Describe item {number} in detail."),),
            checklist=tuple(
                Constraint(text=f"The description names property {k} of item {number}.")
                for k in range(CONSTRAINTS)
            ),
            response=f"Item {number} is a thing of many properties. " * 8,
        )


async def bare(url: str, payloads: list[bytes]) -> float:
    """Post and decode, nothing else; return calls per second."""
    pending = iter(payloads)
    started = time.perf_counter()
    connector = aiohttp.TCPConnector(limit=0)
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def worker() -> None:
            for payload in pending:
                async with session.post(f"{url}/chat/completions", data=payload) as response:
                    json.loads(await response.read())

        await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
    return len(payloads) / (time.perf_counter() - started)


def judge(url: str, rows: Path, run: Path, count: int) -> tuple[float, float]:
    """Judge a file.

    Returns:
        Rows per second until the last row was judged and stored, and until the summary and the
        results file were there too.
    """
    limiter = AdaptiveLimiter(IN_FLIGHT)
    model = OpenAIModel("bench", base_url=url, api_key="none", limiter=limiter)
    stored = started = time.perf_counter()

    def on_progress(_: Progress) -> None:
        nonlocal stored
        stored = time.perf_counter()

    checklist = Checklist(model, prompts.make("plain"))
    summary = evaluate(
        rows, judge=checklist, run=run, concurrency=IN_FLIGHT, on_progress=on_progress
    ).summary
    seconds = time.perf_counter() - started
    if summary["verdicts"]["met"] != count * CONSTRAINTS:
        sys.exit(f"not every verdict was reached: {summary['verdicts']}")
    return count / (stored - started), count / seconds


def main() -> None:
    """Start the server, take turns, print the rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    made = list(samples(options.rows))
    prompt = prompts.make("plain")
    payloads = [
        json.dumps(
            {
                "model": "bench",
                "messages": [
                    {"role": turn.role, "content": turn.content}
                    for turn in prompt.render(row, row.checklist)
                ],
            }
        ).encode()
        for row in made
    ]
    ratios = []
    with tempfile.TemporaryDirectory() as folder, serving() as url:
        rows = Path(folder) / "rows.jsonl"
        with rows.open("w", encoding="utf-8") as file:
            file.writelines(row.model_dump_json(exclude_defaults=True) + "\n" for row in made)
        for turn in range(options.rounds):
            calls = asyncio.run(bare(url, payloads))
            stored, done = judge(url, rows, Path(folder) / f"run-{turn}", options.rows)
            ratios.append((stored / calls, done / calls))
            print(
                f"bare loop {calls:5.0f} calls/s, heedful {stored:5.0f} rows/s judged and "
                f"stored, {done:5.0f} with summary and results"
            )
    middle = [statistics.median(ratio) for ratio in zip(*ratios, strict=True)]
    print(f"ratio, median: {middle[0]:.2f} judged and stored, {middle[1]:.2f} in all")


if __name__ == "__main__":
    main()
