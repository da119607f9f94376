"""Judge the same six recorded responses with heedful, Inspect, lm-eval and promptfoo.

    python benchmarks/first_screen.py

Makes an environment for each in benchmarks/.peers (promptfoo's needs npm; those that are there are
used again). All ask the same judge on the loopback, whose opinions don't change. Prints of each the
command, the output as it is, the exit code, the calls, and the median seconds of three runs.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import NamedTuple

from all import ENVIRONMENTS, PEERS, Peer, installed, machine

HERE = Path(__file__).parent / "first_screen"
ROUNDS = 3
PROMPTFOO = ENVIRONMENTS / "promptfoo"


class Tool(NamedTuple):
    """A tool: its environment, and its command, in which ``URL`` is the judge's address."""

    peer: Peer
    command: str
    written: str = ""


TOOLS = {
    "heedful": Tool(
        PEERS["heedful"],
        "heedful evaluate rows.jsonl --model judge --base-url URL/heedful/v1 --run OUT/run",
    ),
    "inspect": Tool(
        PEERS["Inspect"],
        "inspect eval inspect_task.py --model openai/judge --model-base-url URL/inspect/v1"
        " -M responses_api=false --log-dir OUT/logs --display plain",
        "inspect_task.py",
    ),
    "lm-eval": Tool(
        PEERS["lm-eval"],
        "lm_eval --model local-chat-completions --tasks lm_eval_task.yaml --apply_chat_template"
        " --model_args model=judge,tokenized_requests=False,"
        "base_url=URL/lm-eval/v1/chat/completions",
        "lm_eval_task.yaml",
    ),
    "promptfoo": Tool(
        Peer(""), "promptfoo eval -c promptfooconfig.js --no-cache", "promptfooconfig.js"
    ),
}


def binaries(name: str, tool: Tool) -> tuple[Path, str, str]:
    """Install a tool; return the folder of its command, its version, and what went wrong."""
    if name != "promptfoo":
        python, version, problem = installed(name, tool.peer)
        return Path(python).parent, version, problem
    package = PROMPTFOO / "node_modules" / "promptfoo" / "package.json"
    if not package.exists():
        if not shutil.which("npm"):
            return PROMPTFOO, "", "npm isn't installed"
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(PROMPTFOO)]
        done = subprocess.run([*command, "promptfoo"], capture_output=True, text=True, check=False)
        if done.returncode:
            return PROMPTFOO, "", done.stderr.strip().splitlines()[-1]
    return package.parents[1] / ".bin", json.loads(package.read_text("utf-8"))["version"], ""


def show(name: str, tool: Tool, url: str) -> None:
    """Run a tool and print what a person sees."""
    folder, version, problem = binaries(name, tool)
    print(f"\n=== {name} {version} {problem}".rstrip())
    if problem:
        return
    times = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as out:
            begun = time.perf_counter()
            done = run(name, folder, tool.command.replace("URL", url).replace("OUT", out), url, out)
            times.append(time.perf_counter() - begun)
    print(f"$ {tool.command}")
    print(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr))
    with urllib.request.urlopen(f"{url}/calls") as answer:  # noqa: S310 - our own server
        calls = json.load(answer).get(name, 0) // ROUNDS
    lines = len((HERE / tool.written).read_text("utf-8").splitlines()) if tool.written else 0
    print(
        f"--- exit {done.returncode}, {statistics.median(times):.1f} s, {calls} calls, "
        f"{lines} lines written before"
    )


def run(
    name: str, folder: Path, command: str, url: str, out: str
) -> subprocess.CompletedProcess[str]:
    """Run a tool once, its questions about updates and usage switched off."""
    quiet = {f"PROMPTFOO_DISABLE_{each}": "1" for each in ("TELEMETRY", "UPDATE")}
    keys = {"OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1", "PROMPTFOO_CONFIG_DIR": out}
    words = shlex.split(command)
    return subprocess.run(
        [str(folder / words[0]), *words[1:]],
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE,
        env={**os.environ, **keys, **quiet, "JUDGE_URL": f"{url}/{name}/v1"},
        timeout=600,
    )


def main() -> None:
    """Show all, one after the other."""
    print(machine())
    server = subprocess.Popen(
        [sys.executable, str(HERE / "judge_server.py")], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None  # noqa: S101 - it is a pipe
    try:
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        for name, tool in TOOLS.items():
            show(name, tool, url)
    finally:
        server.kill()


if __name__ == "__main__":
    main()
