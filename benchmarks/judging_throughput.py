r"""Rows per second of judging with a model, beside a loop that only posts and decodes.

    python benchmarks/judging_throughput.py

A server on the loopback, in a process of its own, answers each prompt after 50 ms with a verdict on
each of five constraints. heedful reads records as AdvancedIF has them (prompts of 200 words,
responses of 300), renders, calls, parses, stores, summarises and writes the results; the bare loop
sends the same prompts, made beforehand, with aiohttp and decodes the answers. Both keep 256 calls
in flight and take turns. Prints the rates of each round and the median ratios; those of CPU time
depend less on what else the machine does. Instructions don't depend on it at all (Linux)::

    valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file=/dev/null \
        python benchmarks/judging_throughput.py --rows 400 --callgrind
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp

from heedful import evaluate
from heedful.data.formats import open_source
from heedful.data.formats.advancedif import sample
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import OpenAIModel
from heedful.models.limiter import AdaptiveLimiter

if TYPE_CHECKING:
    from collections.abc import Iterator

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


class Speed(NamedTuple):
    """Rows per second, by the clock and by the CPU time of this process."""

    wall: float
    cpu: float


class Clock:
    """Measures from when it is made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def speed(self, rows: int) -> Speed:
        """Return the speed at which so many rows were done."""
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return Speed(rows / wall, rows / cpu)


@contextmanager
def serving() -> Iterator[str]:
    """Run the server; give its base URL."""
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None  # noqa: S101 - it is a pipe
    try:
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
    finally:
        server.kill()


WORDS = re.findall(
    r"\w+",
    "river harbour letter winter market engine garden silver morning answer window summer "
    "mountain paper colour music travel number village machine forest history problem reason",
)


def words(count: int, rng: random.Random) -> str:
    """Make so many words of a text that has no meaning."""
    return " ".join(rng.choices(WORDS, k=count)).capitalize() + "."


def records(count: int, prompt: int = 200, response: int = 300) -> Iterator[dict[str, Any]]:
    """Make AdvancedIF's records, all different: five rubrics, prompt and response in words."""
    rng = random.Random(0)
    for number in range(count):
        turns = [{"role": "user", "content": f"{number}: {words(prompt, rng)}"}]
        rubrics = [f"Does the response name {words(12, rng)}" for _ in range(CONSTRAINTS)]
        yield {
            "key": str(number),
            "conversation_history": json.dumps(turns),
            "response": words(response, rng),
            "prompt_metadata": json.dumps({"rubrics": json.dumps(rubrics)}),
            "benchmark_name": "if_complex_if_oss",
        }


async def bare(url: str, payloads: list[bytes]) -> Speed:
    """Post and decode, nothing else."""
    pending = iter(payloads)
    clock = Clock()
    connector = aiohttp.TCPConnector(limit=0)
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def worker() -> None:
            for payload in pending:
                async with session.post(f"{url}/chat/completions", data=payload) as response:
                    json.loads(await response.read())

        await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
    return clock.speed(len(payloads))


def judge(url: str, rows: Path, run: Path, count: int) -> Speed:
    """Judge a file, from opening it to the summary and the results file."""
    clock = Clock()
    limiter = AdaptiveLimiter(IN_FLIGHT)
    model = OpenAIModel("bench", base_url=url, api_key="none", limiter=limiter)
    checklist = Checklist(model, prompts.make("plain"))
    summary = evaluate(rows, judge=checklist, run=run, concurrency=IN_FLIGHT).summary
    if summary["verdicts"]["met"] != count * CONSTRAINTS:
        sys.exit(f"not every verdict was reached: {summary['verdicts']}")
    return clock.speed(count)


def count_instructions(url: str, rows: Path, count: int) -> None:
    """Judge twice, the second time with callgrind counting; it prints the sum when this ends."""
    judge(url, rows, rows.with_name("warm"), count)
    switch = ["callgrind_control", str(os.getpid()), "-i"]
    subprocess.run([*switch, "on"], check=True, stdout=subprocess.DEVNULL)
    judge(url, rows, rows.with_name("counted"), count)
    subprocess.run([*switch, "off"], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    """Start the server, take turns, print the rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--callgrind", action="store_true")
    options = parser.parse_args()
    made = list(records(options.rows))
    ratios = []
    with tempfile.TemporaryDirectory() as folder, serving() as url:
        rows = Path(folder) / "rows.jsonl"
        with rows.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in made)
        if options.callgrind:
            count_instructions(url, rows, options.rows)
            return
        clock = Clock()
        count = sum(1 for _ in open_source(rows))
        print(f"reading alone: {1e6 / clock.speed(count).cpu:.0f} µs of CPU a row", flush=True)
        payloads = list(map(payload, made))
        for turn in range(options.rounds):
            calls = asyncio.run(bare(url, payloads))
            judged = judge(url, rows, Path(folder) / f"run-{turn}", options.rows)
            ratios.append((judged.wall / calls.wall, judged.cpu / calls.cpu))
            print(
                f"bare loop {calls.wall:5.0f} calls/s ({1e6 / calls.cpu:4.0f} µs of CPU each), "
                f"heedful {judged.wall:5.0f} rows/s ({1e6 / judged.cpu:4.0f} µs)",
                flush=True,
            )
    wall, cpu = (statistics.median(ratio) for ratio in zip(*ratios, strict=True))
    print(f"ratio, median: {wall:.2f} in rows per second, {cpu:.2f} in rows per second of CPU")


def payload(record: dict[str, Any]) -> bytes:
    """Encode the request that heedful makes of a record."""
    row = sample(record, 0)
    turns = prompts.make("plain").render(row, row.checklist)
    messages = [{"role": turn.role, "content": turn.content} for turn in turns]
    return json.dumps({"model": "bench", "messages": messages, "temperature": 0.0}).encode()


if __name__ == "__main__":
    main()
