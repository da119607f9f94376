"""What ``heedful serve`` adds to its judge's latency, and how many rewards it computes in a second.

    python benchmarks/reward_server.py [--rounds 5] [--latency] [--stall] [--step] [--workers 2]

The model, the server and the clients are processes of their own; the model takes 50 ms to answer,
or 500. Code decides two of five constraints, and the model the other three in one call; all
responses differ.

1. Latency: 64 clients, each of which asks for the reward of one response and then for the next;
   they begin one after the other, so that requests do not come all at once. The same is done with
   ``Reward`` in the clients' process, in the same kind of loop, and no server; the difference of
   the two distributions, at the median and at the 99th percentile, is what the server costs. The
   two take turns. Added is, over the rounds, the median of the differences, and the difference of
   the two best. With a model that takes 50 ms, 64 clients without a pause ask for more than one
   process can judge in a second, with a server or without, and requests wait for the processor: so
   this is shown with a pause too. The processor's time for a request depends less on who else uses
   the machine. Beside them runs a bare proxy of the same stack (Starlette, uvicorn, aiohttp) that
   reads a body as JSON, makes one call and answers with a constant: what is added beyond it is
   heedful's.
2. Rules alone, in batches of 64 and one by one.
3. A step of GRPO, 64 prompts x 32 rollouts x 5 constraints: by a loop that asks for one constraint
   after the other (timed on a part), by 32 threads that do so, by 32 threads with one call a
   response, as the server has it, and by the server, sent as one batch and as one request for each
   rollout.
   With --step only the server's part of this, with one process and with so many workers: rewards a
   second, and a second of the server's CPU, which are those of a core that the server has for
   itself; the CPU of model and client; and the waits of /health meanwhile, seen by a process apart.
4. Stall: while the server judges one large batch by code, another client asks for /health again and
   again. The longest wait, the seconds of the batch and the memory of the server are printed.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import re
import select
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import aiohttp

from heedful.core.machine import loop_runner
from heedful.data.formats import native
from heedful.judges.model import Checklist
from heedful.judges.prompts.plain import Plain
from heedful.models import OpenAIModel
from heedful.rewards import Reward

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence

    Row = dict[str, Any]

CLIENTS = 64
REQUESTS = 1500
SETTINGS = ((0.5, 0.0), (0.05, 0.45), (0.05, 0.0))
"""Seconds that the model takes, and that a client pauses."""
PROMPTS, ROLLOUTS = 64, 32
BATCH = 64
PART = 8
THREADS = 32

CODED: list[dict[str, Any]] = [
    {"text": "No commas.", "check": {"id": "punctuation:no_comma"}},
    {
        "text": "At most 80 words.",
        "check": {
            "id": "length_constraints:number_words",
            "args": {"num_words": 81, "relation": "less than"},
        },
    },
]
ASKED: list[dict[str, Any]] = [{"text": f"It is {word}."} for word in ("polite", "warm", "clear")]
WORDS = [f"{start}{end}" for start in ("gar", "win", "sto", "riv", "lam", "mor", "bri") for end in
         ("den", "ter", "ner", "er", "ing", "est", "al", "on", "ish")]  # fmt: skip
"""Words of which no gate takes a text for a loop."""
NUMBER = itertools.count()


def rows(count: int, checklist: Sequence[dict[str, Any]]) -> list[Row]:
    """Make responses that nobody has judged yet."""
    draw = random.Random(0)
    return [
        {
            "prompt": f"Write text {at // ROLLOUTS}.",
            "response": f"{next(NUMBER)} " + " ".join(draw.choices(WORDS, k=60)),
            "checklist": checklist,
        }
        for at in range(count)
    ]


# --- the processes ------------------------------------------------------------------------------


def serve_model(port: int) -> None:
    """Answer as a judge to whom all is met, after a while."""
    from aiohttp import web

    async def answer(request: web.Request) -> web.Response:
        prompt = (await request.json())["messages"][-1]["content"]
        numbers = re.findall(r"^(\d+)\. ", prompt, re.MULTILINE)
        text = "\n".join(f"<c{number}>\nSeen.\nVERDICT: MET\n</c{number}>" for number in numbers)
        await asyncio.sleep(float(request.match_info["seconds"]))
        message = {"role": "assistant", "content": text}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        usage = {"prompt_tokens": 300, "completion_tokens": 40}
        return web.json_response({"model": "critic", "choices": choices, "usage": usage})

    async def cpu_seconds(_: web.Request) -> web.Response:
        return web.Response(text=f"process_cpu_seconds_total {time.process_time()}\n")

    app = web.Application()
    app.router.add_post("/{seconds}/v1/chat/completions", answer)
    app.router.add_get("/metrics", cpu_seconds)
    web.run_app(app, host="127.0.0.1", port=port, access_log=None, print=None, backlog=2048)


def serve_proxy(port: int, model_url: str) -> None:
    """Make one call for each request, and answer with a constant: a server without heedful."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, PlainTextResponse
    from starlette.routing import Route

    sessions: list[aiohttp.ClientSession] = []

    async def rewards(request: Any) -> JSONResponse:
        seconds = request.path_params["seconds"]
        (row,) = (await request.json())["samples"]
        listed = "\n".join(f"{number}. {each['text']}" for number, each in enumerate(ASKED, 1))
        content = f"{row['prompt']}\n{row['response']}\n{listed}"
        if not sessions:
            connector = aiohttp.TCPConnector(limit=0)
            sessions.append(aiohttp.ClientSession(connector=connector))
        sent = {"model": "critic", "messages": [{"role": "user", "content": content}]}
        url = f"{model_url}/{seconds}/v1/chat/completions"
        async with sessions[0].post(url, json=sent) as answer:
            reply = (await answer.json())["choices"][0]["message"]["content"]
        return JSONResponse({"rewards": [float("MET" in reply)]})

    async def metrics(_: Any) -> PlainTextResponse:
        return PlainTextResponse(f"process_cpu_seconds_total {time.process_time()}\n")

    routes = [
        Route("/{seconds}/v1/rewards", rewards, methods=["POST"]),
        Route("/metrics", metrics),
    ]
    app = Starlette(routes=routes)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", backlog=2048)


@contextmanager
def running(*words: str) -> Iterator[str]:
    """Run a server at a free port until it is not needed any more, and yield its URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, *words, str(port)], stdout=subprocess.DEVNULL
    ) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            for _ in range(200):
                time.sleep(0.1)
                try:
                    with socket.create_connection(("127.0.0.1", port)):
                        break
                except OSError:
                    continue
            yield url
        finally:
            process.terminate()


# --- latency ------------------------------------------------------------------------------------


async def clients(
    ask: Callable[[Row], Awaitable[None]], takes_s: float, pause_s: float
) -> list[float]:
    """Ask for one row after the other in each of the clients; return the seconds of each."""
    left, seconds = iter(rows(REQUESTS, [*CODED, *ASKED])), []

    async def client(number: int) -> None:
        await ask(*rows(1, [*CODED, *ASKED]))
        await asyncio.sleep((takes_s + pause_s) * number / CLIENTS)
        for row in left:
            started = time.perf_counter()
            await ask(row)
            seconds.append(time.perf_counter() - started)
            await asyncio.sleep(pause_s)

    await asyncio.gather(*(client(number) for number in range(CLIENTS)))
    return seconds


async def through_server(url: str, takes_s: float, pause_s: float) -> list[float]:
    """Time requests to the server."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def ask(row: Row) -> None:
            async with session.post(f"{url}/v1/rewards", json={"samples": [row]}) as answer:
                assert (await answer.json())["rewards"] == [1.0]  # noqa: S101

        return await clients(ask, takes_s, pause_s)


async def in_process(model_url: str, takes_s: float, pause_s: float) -> list[float]:
    """Time the same ``Reward``, here."""
    judge = Checklist(OpenAIModel("critic", base_url=f"{model_url}/{takes_s}/v1"), Plain())
    reward = Reward(judge)
    async with reward.session() as session:

        async def ask(row: Row) -> None:
            scored = await session.reward(native.sample(row, 1))
            assert scored.value == 1  # noqa: S101

        return await clients(ask, takes_s, pause_s)


def timed(work: Coroutine[Any, Any, list[float]]) -> list[float]:
    """Run in the kind of loop that the server has."""
    with loop_runner(busy=True) as runner:
        return runner.run(work)


def quantiles(seconds: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 99th percentile, in milliseconds."""
    cuts = statistics.quantiles(seconds, n=100)
    return cuts[49] * 1000, cuts[98] * 1000


def spent(url: str) -> float:
    """Ask a server for the processor's time that it has used, in seconds."""
    with urllib.request.urlopen(f"{url}/metrics") as answer:  # noqa: S310 - the loopback
        text = answer.read().decode()
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines())
    return float(lines["process_cpu_seconds_total"])


def latency(
    url: str, proxy_url: str, model_url: str, rounds: int, setting: tuple[float, float]
) -> None:
    """Print what the server adds, and what a bare proxy does."""
    takes_s, pause_s = setting
    alone: list[tuple[float, ...]] = []
    served: list[tuple[float, ...]] = []
    proxied: list[tuple[float, ...]] = []
    for _ in range(rounds):
        through = through_server(f"{proxy_url}/{takes_s}", takes_s, pause_s)
        began = spent(proxy_url)
        values = quantiles(timed(through))
        proxied.append((*values, (spent(proxy_url) - began) / (REQUESTS + CLIENTS) * 1000))
        began = time.process_time()
        values = quantiles(timed(in_process(model_url, takes_s, pause_s)))
        alone.append((*values, (time.process_time() - began) / (REQUESTS + CLIENTS) * 1000))
        began = spent(url)
        values = quantiles(timed(through_server(url, takes_s, pause_s)))
        served.append((*values, (spent(url) - began) / (REQUESTS + CLIENTS) * 1000))
    print(
        f"\n{CLIENTS} clients, the model takes {takes_s * 1000:g} ms, "
        f"a pause {pause_s * 1000:g} ms; {REQUESTS:,} requests, {rounds} rounds, in ms"
    )
    for name, ones, others in zip(
        ("p50", "p99", "processor"),
        zip(*alone, strict=True),
        zip(*served, strict=True),
        strict=True,
    ):
        differences = [other - one for one, other in zip(ones, others, strict=True)]
        added = statistics.median(differences), min(others) - min(ones)
        print(f"  {name:9}", end="")
        for what, pair in (
            ("alone", (statistics.median(ones), min(ones))),
            ("served", (statistics.median(others), min(others))),
            ("added", added),
        ):
            print(f"   {what} {pair[0]:7.2f}, best {pair[1]:7.2f}", end="")
        print()
    for name, ones, bare in zip(
        ("p50", "p99", "processor"),
        zip(*served, strict=True),
        zip(*proxied, strict=True),
        strict=True,
    ):
        beyond = statistics.median(a - b for a, b in zip(ones, bare, strict=True))
        ratio = statistics.median(a / b for a, b in zip(ones, bare, strict=True))
        print(f"  {name}: bare proxy {statistics.median(bare):.2f}", end="")
        print(f"   the server {beyond:+.2f}, {ratio:.2f} times as much (medians of rounds)")


# --- throughput ---------------------------------------------------------------------------------


async def post(url: str, batches: Sequence[Sequence[Row]], at_once: int) -> None:
    """Send batches, so many at a time."""
    left = iter(batches)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def client() -> None:
            for batch in left:
                async with session.post(f"{url}/v1/rewards", json={"samples": batch}) as answer:
                    assert len((await answer.json())["rewards"]) == len(batch)  # noqa: S101

        await asyncio.gather(*(client() for _ in range(at_once)))


def rate(url: str, checklist: Sequence[Row], count: int, batch: int, at_once: int) -> float:
    """Return the rewards in a second."""
    given = rows(count, checklist)
    started = time.perf_counter()
    asyncio.run(post(url, [given[at : at + batch] for at in range(0, count, batch)], at_once))
    return count / (time.perf_counter() - started)


def calls(model_url: str, row: Row, size: int) -> None:
    """Judge as a script does: calls for so many of the constraints, one after the other."""
    texts = [constraint["text"] for constraint in row["checklist"]]
    for start in range(0, len(texts), size):
        numbered = enumerate(texts[start : start + size], 1)
        listed = "\n".join(f"{number}. {text}" for number, text in numbered)
        prompt = f"{row['prompt']}\n{row['response']}\n{listed}\nVERDICT?"
        body = {"model": "critic", "messages": [{"role": "user", "content": prompt}]}
        request = urllib.request.Request(  # noqa: S310 - the loopback
            f"{model_url}/{SETTINGS[1][0]}/v1/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:  # noqa: S310 - the same
            assert "MET" in answer.read().decode()  # noqa: S101


def naive(model_url: str, given: Sequence[Row], threads: int, size: int = 1) -> float:
    """Return the rewards in a second of naive scripts, with so many constraints in a call."""
    started = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda row: calls(model_url, row, size), given))
    return len(given) / (time.perf_counter() - started)


def throughput(url: str, wide_url: str, model_url: str, rounds: int) -> None:
    """Print rewards in a second."""
    checklist, step = [*CODED, *ASKED], PROMPTS * ROLLOUTS
    lines: dict[str, Callable[[], float]] = {
        "rules alone, batches of 64": lambda: rate(url, CODED, 2 * step, BATCH, 4),
        "rules alone, one by one": lambda: rate(url, CODED, step, 1, CLIENTS),
        f"step: a loop ({PART} responses)": lambda: naive(model_url, rows(PART, checklist), 1),
        f"step: {THREADS} threads": lambda: naive(model_url, rows(step, checklist), THREADS),
        f"step: {THREADS} threads, one call each": lambda: naive(
            model_url, rows(step, ASKED), THREADS, len(ASKED)
        ),
        "step: server, one batch": lambda: rate(url, checklist, step, step, 1),
        "step: server, a request each": lambda: rate(url, checklist, step, 1, step),
        "step: server, 256 calls, one batch": lambda: rate(wide_url, checklist, step, step, 1),
    }
    print(f"\nrewards a second, {rounds} rounds; a step is {step:,} responses")
    for name, measure in lines.items():
        values = [measure() for _ in range(rounds)]
        best = max(values)
        took = f", {step / best:7.1f} s a step" if name.startswith("step") else ""
        print(f"  {name:36} median {statistics.median(values):7,.0f}   best {best:7,.0f}{took}")


# --- a step, with workers ----------------------------------------------------------------------


def processors(url: str) -> list[float]:
    """Ask for the processor's time of each worker, in seconds."""
    with urllib.request.urlopen(f"{url}/metrics") as answer:  # noqa: S310 - the loopback
        lines = answer.read().decode().splitlines()
    return [
        float(line.rsplit(" ", 1)[1])
        for line in lines
        if line.startswith("process_cpu_seconds_total")
    ]


def probe(url: str) -> None:
    """Ask for /health again and again, each time over a connection of its own; print the waits."""
    seconds = []
    while not select.select([sys.stdin], [], [], 0.01)[0]:
        asked = time.perf_counter()
        with urllib.request.urlopen(f"{url}/health") as answer:  # noqa: S310 - the loopback
            answer.read()
        seconds.append(time.perf_counter() - asked)
    print(json.dumps(seconds))


def watched(url: str, given: Sequence[Row], batch: int, at_once: int) -> tuple[float, list[float]]:
    """Send rows; return the seconds that they took, and those of each request to /health."""
    batches = [given[at : at + batch] for at in range(0, len(given), batch)]
    asking = [sys.executable, __file__, "--probe", url]
    with subprocess.Popen(
        asking, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        time.sleep(1)  # until it has begun
        began = time.perf_counter()
        asyncio.run(post(url, batches, at_once))
        took = time.perf_counter() - began
        waits, _ = other.communicate("\n")
    return took, json.loads(waits)


def step(urls: dict[str, str], model_url: str, rounds: int) -> None:
    """Print what a step takes; the servers take turns."""
    size = PROMPTS * ROLLOUTS
    print(f"\na step of {size:,} responses, medians of {rounds} rounds; 256 calls at a time")
    for batch, at_once in ((BATCH, size // BATCH), (1, size)):
        measured: dict[str, list[tuple[float, ...]]] = {name: [] for name in urls}
        for _ in range(rounds):
            for name, url in urls.items():
                before = [*processors(url), spent(model_url), time.process_time()]
                given = rows(size, [*CODED, *ASKED])
                took, health = watched(url, given, batch, at_once)
                now = [*processors(url), spent(model_url), time.process_time()]
                *used, model, client = (each - was for each, was in zip(now, before, strict=True))
                p99 = statistics.quantiles(health, n=100)[98]
                figures = size / took, size / sum(used), max(used) / sum(used), model, client, p99
                measured[name].append(figures)
        for name, values in measured.items():
            medians = map(statistics.median, zip(*values, strict=True))
            rewards, by_cpu, share, model, client, p99_s = medians
            print(
                f"  requests of {batch:2}, {name:11} {rewards:6,.0f} rewards/s, {by_cpu:6,.0f} a "
                f"second of the server's CPU (busiest process {share:.0%}); CPU of the model "
                f"{model / size * 1e3:.2f}, of the client {client / size * 1e3:.2f} ms a reward; "
                f"/health p99 {p99_s * 1000:.0f} ms"
            )


# --- stall --------------------------------------------------------------------------------------

LARGE = {"512 x 200 texts": (512, 200, 60), "4,096 x 200 texts": (4096, 200, 60),
         "4,096 x 3.5 kB": (4096, 2, 560)}  # fmt: skip
"""Batches within the limits: responses, constraints without a check, words of a response."""


def large(count: int, texts: int, words: int) -> bytes:
    """Make the body of a batch."""
    draw = random.Random(1)
    checklist = [*CODED, *({"text": f"It mentions the item {at}."} for at in range(texts - 2))]
    samples = [
        {"prompt": "Write.", "response": " ".join(draw.choices(WORDS, k=words)),
         "checklist": [constraint if "check" in constraint else constraint["text"]
                       for constraint in checklist]}
        for _ in range(count)
    ]  # fmt: skip
    return json.dumps({"samples": samples}).encode()


async def waits(url: str, body: bytes) -> tuple[list[float], float]:
    """Return the seconds of each request to /health during a batch, and those of the batch."""
    seconds = []
    async with aiohttp.ClientSession() as session:
        began = time.perf_counter()
        batch = asyncio.ensure_future(session.post(f"{url}/v1/rewards", data=body))
        while not batch.done():
            asked = time.perf_counter()
            async with session.get(f"{url}/health") as answer:
                await answer.read()
            seconds.append(time.perf_counter() - asked)
            await asyncio.sleep(0.005)
        answer = batch.result()
        await answer.read()
        answer.raise_for_status()
        return seconds, time.perf_counter() - began


def stall() -> None:
    """Print how long /health takes while one client's batch is judged."""
    print("\n/health during one batch, judged by code; a server for each")
    for name, shape in LARGE.items():
        body = large(*shape)
        command = ["-m", "heedful", "serve", "--quiet", "--port"]
        with running(*command) as url:
            seconds, took = asyncio.run(waits(url, body))
            with urllib.request.urlopen(f"{url}/metrics") as answer:  # noqa: S310 - the loopback
                text = answer.read().decode()
        lines = dict(line.rsplit(" ", 1) for line in text.splitlines())
        memory = float(lines["process_resident_memory_bytes"]) / 2**20
        print(
            f"  {name:18} {len(body) / 2**20:5.1f} MiB, {took:5.1f} s; /health asked "
            f"{len(seconds):,} times: median {statistics.median(seconds) * 1000:.0f} ms, "
            f"longest {max(seconds) * 1000:.0f} ms; server's memory {memory:.0f} MiB"
        )


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--latency", action="store_true", help="only the first part")
    parser.add_argument("--stall", action="store_true", help="only the last part")
    parser.add_argument("--step", action="store_true", help="only a step, by the server")
    parser.add_argument("--workers", type=int, default=1, help="of the server, in a step")
    parser.add_argument("--model-at", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--proxy-at", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--probe", help=argparse.SUPPRESS)
    parser.add_argument("--to", default="", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.probe:
        probe(chosen.probe)
        return
    if chosen.model_at:
        serve_model(chosen.model_at)
        return
    if chosen.proxy_at:
        serve_proxy(chosen.proxy_at, chosen.to)
        return
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    if chosen.stall:
        stall()
        return
    with running(__file__, "--model-at") as model_url:
        command = ["-m", "heedful", "serve", "--judge=checklist", "--model=critic", "--quiet"]
        quick = [*command, f"--base-url={model_url}/0.05/v1"]
        patient = [*command, f"--base-url={model_url}/0.5/v1", "--port"]
        wide = [*quick, "--max-concurrency=256", "--port"]
        if chosen.step:
            workers = f"--workers={chosen.workers}"
            with running(*wide) as one, running(*wide[:-1], workers, "--port") as several:
                urls = {"one process": one, f"{chosen.workers} workers": several}
                step(urls if chosen.workers > 1 else {"one process": one}, model_url, chosen.rounds)
            return
        with (
            running(*quick, "--port") as url,
            running(*patient) as patient_url,
            running(*wide) as wide_url,
            running(__file__, "--to", model_url, "--proxy-at") as proxy_url,
        ):
            for setting in SETTINGS:
                to = patient_url if setting == SETTINGS[0] else url
                latency(to, proxy_url, model_url, chosen.rounds, setting)
            if chosen.latency:
                return
            throughput(url, wide_url, model_url, chosen.rounds)
    stall()


if __name__ == "__main__":
    main()
