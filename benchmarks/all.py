"""Judge the same rows with heedful and with its peers, against one server: one command, one table.

    python benchmarks/all.py

Makes an environment for each peer in benchmarks/.peers (some 2 GB; those that are there are used
again), starts a server on the loopback that answers every prompt after 50 ms in the form that its
asker reads, and lets all take turns. Prints medians and writes benchmarks/results/peers.json.
Seconds are counted from when a program has been imported to its last verdict.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from judging_throughput import CONSTRAINTS, IN_FLIGHT, LATENCY_S, records

from heedful import __version__

HERE = Path(__file__).parent
ENVIRONMENTS = HERE / ".peers"
RESULTS = HERE / "results" / "peers.json"


class Peer(NamedTuple):
    """A way of judging.

    Attributes:
        script: in the folder ``peers``.
        package: whose version is shown; none for what is installed here.
        needs: what is installed for it.
        about: what differs from the others.
    """

    script: str
    package: str = ""
    needs: tuple[str, ...] = ()
    about: str = ""


PEERS = {
    "bare loop": Peer("bare.py", about="aiohttp, prompts made beforehand, answers only decoded"),
    "heedful": Peer("with_heedful.py", about="stored as they come, resumable, with a summary"),
    "AdvancedIF's way": Peer("six_threads.py", "openai", ("openai",), "6 threads, openai SDK"),
    "Inspect": Peer(
        "with_inspect.py",
        "inspect-ai",
        ("inspect-ai", "openai"),
        "model_graded_qa: one grade a row",
    ),
    "lm-eval": Peer(
        "with_lm_eval.py", "lm-eval", ("lm-eval[api]",), "prompts made beforehand, verdicts counted"
    ),
    "rubric": Peer(
        "with_rubric.py", "rubric", ("rubric", "openai"), "one call a row, through the openai SDK"
    ),
    "autorubric": Peer("with_autorubric.py", "autorubric", ("autorubric",), "one call a row"),
}


def reply(asker: str) -> str:
    """Write the reply that an asker reads as every criterion met."""
    numbers = range(1, CONSTRAINTS + 1)
    why = "The response does what is asked for."
    if asker == "six_threads":
        checks = {f"question_{k}": {"answer": "Yes", "reason": why} for k in numbers}
        return json.dumps({"rubrics_check": checks, "SATISFIED_ALL_REQUIREMENTS": "YES"})
    if asker == "with_inspect":
        return f"{why}\n\nGRADE: C"
    if asker == "with_rubric":
        each: list[dict[str, Any]] = [
            {"criterion_number": k, "criterion_status": "MET", "explanation": why} for k in numbers
        ]
        return json.dumps({"criteria_evaluations": each})
    if asker == "with_autorubric":
        each = [
            {"criterion_id": f"c{k - 1}", "criterion_status": "MET", "explanation": why}
            for k in numbers
        ]
        return json.dumps({"judgments": each})
    return "\n\n".join(f"<c{k}>\n{why}\nVERDICT: MET\n</c{k}>" for k in numbers)


def serve() -> None:
    """Answer ``/ASKER/v1/chat/completions``, and say how often at ``/calls``."""
    from aiohttp import web

    calls: dict[str, int] = {}

    async def answer(request: web.Request) -> web.Response:
        asker = request.match_info["asker"]
        await request.read()
        calls[asker] = calls.get(asker, 0) + 1
        await asyncio.sleep(LATENCY_S)
        message = {"role": "assistant", "content": reply(asker)}
        usage = {"prompt_tokens": 600, "completion_tokens": 90, "total_tokens": 690}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        head = {"id": "1", "object": "chat.completion", "created": 1, "model": "bench"}
        return web.json_response({**head, "choices": choices, "usage": usage})

    async def count(_: web.Request) -> web.Response:
        return web.json_response(calls)

    async def run() -> None:
        app = web.Application(client_max_size=2**24)
        app.router.add_post("/{asker}/v1/chat/completions", answer)
        app.router.add_get("/calls", count)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()

    asyncio.run(run())


def installed(name: str, peer: Peer) -> tuple[str, str, str]:
    """Install a peer; return its interpreter, its version, and what went wrong."""
    if not peer.needs:
        return sys.executable, __version__ if name == "heedful" else "", ""
    folder = ENVIRONMENTS / peer.script.removesuffix(".py")
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        command = [str(python), "-m", "pip", "install", "-q", *peer.needs]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return str(python), "", done.stderr.strip().splitlines()[-1]
    code = f"from importlib.metadata import version; print(version({peer.package!r}))"
    shown = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    return str(python), shown.stdout.strip(), "" if shown.returncode == 0 else "isn't installed"


def judged(python: str, peer: Peer, rows: Path, port: str) -> dict[str, float]:
    """Have a peer judge the rows; return seconds by the clock and of its CPU time."""
    asker = peer.script.removesuffix(".py")
    url = f"http://127.0.0.1:{port}/{asker}/v1"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, str(HERE / "peers" / peer.script), str(rows), url, str(IN_FLIGHT)],
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
            cwd=folder,
            env=os.environ | {"OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1"},
        )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise RuntimeError(lines[-1])
    measured: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return measured


def machine() -> str:
    """Describe the machine."""
    model = "an unknown processor"
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        names = [x for x in cpus.read_text().splitlines() if x.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return f"{os.cpu_count()} cores of {model}, Python {platform.python_version()}, load {busy:.1f}"


def compare(rows: Path, count: int, rounds: int) -> dict[str, Any]:
    """Let all take turns."""
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None  # noqa: S101 - it is a pipe
    about = machine()
    table: dict[str, dict[str, Any]] = {}
    try:
        port = server.stdout.readline().strip()
        ready = {}
        for name, peer in PEERS.items():
            python, shown, problem = installed(name, peer)
            table[name] = {"version": shown, "about": peer.about, "problem": problem, "times": []}
            if not problem:
                ready[name] = python
        for _ in range(rounds):
            for name, python in [*ready.items()]:
                try:
                    table[name]["times"].append(judged(python, PEERS[name], rows, port))
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    table[name]["problem"] = str(error)
                    del ready[name]
    finally:
        server.kill()
    for entry in table.values():
        times = entry.pop("times")
        if any(each["met"] not in {count, count * CONSTRAINTS} for each in times):
            entry["problem"] = "not every verdict was read"
        if times and not entry["problem"]:
            for key in ("seconds", "cpu", "met"):
                entry[key] = statistics.median(each[key] for each in times)
            entry["rate"] = count / entry["seconds"]
    return {"machine": about, "rows": count, "rounds": rounds, "peers": table}


def lines(results: dict[str, Any]) -> list[str]:
    """Write the table; each line says how many times as fast heedful is."""
    peers = results["peers"]
    ours = peers["heedful"]
    out = [
        f"{results['rows']} rows, {results['rounds']} rounds; {results['machine']}",
        "",
        "| | rows a second | heedful's is | CPU time a row | heedful takes | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, entry in peers.items():
        shown = f"{PEERS[name].package} {entry['version']}".strip()
        title = name if not shown else f"{name} ({shown})"
        if entry["problem"]:
            out.append(f"| {title} | not measured: {entry['problem']} | | | | |")
            continue
        own = 1e3 * entry["cpu"] / results["rows"]
        rate, share = ours["rate"] / entry["rate"], ours["cpu"] / entry["cpu"]
        behind = [*(["slower"] if rate < 1 else []), *(["more CPU"] if share > 1 else [])]
        note = entry["about"] + (f"; **heedful is behind: {', '.join(behind)}**" if behind else "")
        out.append(
            f"| {title} | {entry['rate']:.0f} | {rate:.2f} × | {own:.2f} ms | {share:.2f} × "
            f"| {note} |"
        )
    return out


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.jsonl"
        with rows.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records(options.rows))
        results = compare(rows, options.rows, options.rounds)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print("\n".join(lines(results)))


if __name__ == "__main__":
    main()
