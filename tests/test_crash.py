"""Runs that are killed: nothing is lost, and nothing is bought twice but what was in flight."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fault_server
from calling_commands import COMMANDS, write_inputs
from commands import run
from fault_server import Answer, completion

pytestmark = [
    pytest.mark.interrupted,
    pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals"),
]

ROWS = 2000
IN_FLIGHT = 24
LATENCY_S = 0.1
KILLS = 20


@contextmanager
def serving(counts: Counter[str]) -> Iterator[str]:
    """Serve a judge on the loopback from another thread; count the prompts it has answered."""

    def answer(_: int, body: dict[str, Any]) -> Answer:
        prompt = body["messages"][-1]["content"]
        (row,) = re.findall(r"Tell me about number (\d+)\.", prompt)
        counts[row] += 1
        verdict = "MET" if int(row) % 3 else "UNMET"
        text = f"<c1>\nIt is number {row}.\nVERDICT: {verdict}\n</c1>"
        reply = completion(text)
        return Answer(body=reply.body, delay_s=LATENCY_S)

    with fault_server.serving(script=answer) as server:
        yield server.url


def command(url: str, rows: Path, run: Path) -> list[str]:
    words = f"evaluate {rows} --judge checklist --model toy --base-url {url} --run {run} --quiet"
    return [sys.executable, "-m", "heedful", *words.split(), "--max-concurrency", str(IN_FLIGHT)]


def judgments(run: Path) -> list[Any]:
    lines = (run / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return [(row["id"], row["judgments"]) for row in map(json.loads, lines)]


def test_a_run_killed_again_and_again_ends_as_one_that_was_not(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    with rows.open("w", encoding="utf-8") as file:
        for number in range(ROWS):
            prompt = f"Tell me about number {number}."
            row = {"id": str(number), "prompt": prompt, "checklist": ["It is true."]}
            file.write(json.dumps(row | {"response": f"{number} is a number."}) + "\n")
    draw = random.Random(7)
    whole: Counter[str] = Counter()
    with serving(whole) as url:
        subprocess.run(command(url, rows, tmp_path / "whole"), check=True, timeout=60)
    assert set(whole.values()) == {1}

    counts: Counter[str] = Counter()
    with serving(counts) as url:
        for _ in range(KILLS):
            process = subprocess.Popen(command(url, rows, tmp_path / "killed"))
            answered = counts.total() + draw.randrange(5, 60)
            while counts.total() < answered and process.poll() is None:
                time.sleep(0.005)
            assert process.poll() is None
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        subprocess.run(command(url, rows, tmp_path / "killed"), check=True, timeout=60)
    assert judgments(tmp_path / "killed") == judgments(tmp_path / "whole")
    assert len(counts) == ROWS
    # in flight, or answered and not yet committed
    assert counts.total() - ROWS <= 2 * KILLS * IN_FLIGHT


@pytest.mark.usefixtures("empty_folder")
@pytest.mark.parametrize(
    "name", ["evaluate", "respond", "checklist", "critic sample", "critic filter"]
)
def test_a_command_that_is_killed_and_interrupted_buys_nothing_twice(name: str) -> None:
    counts: Counter[str] = Counter()
    commands = [COMMANDS[each] for each in (*COMMANDS[name].before, name)]

    def answer(_: int, body: dict[str, Any]) -> Answer:
        counts[json.dumps([body["model"], body["messages"], body.get("seed")])] += 1
        return replace(asked.answer(body), delay_s=0.02 * (asked is commands[-1]))

    write_inputs(100)
    flags = ["-q", "--max-concurrency", "8"]
    with fault_server.serving(script=answer) as server:
        for asked in commands:
            words = [*asked.words.split(), "--base-url", server.url, *flags]
            if asked is not commands[-1]:
                run(*words)
                counts.clear()
        for kill, calls in ((signal.SIGKILL, 30), (signal.SIGINT, 60)):
            process = subprocess.Popen(
                [sys.executable, "-m", "heedful", *words], stderr=subprocess.PIPE, text=True
            )
            while len(counts) < calls and process.poll() is None:
                time.sleep(0.01)
            os.kill(process.pid, kill)
            _, said = process.communicate(timeout=30)
        assert process.returncode == 130, said
        assert "resumes" in said
        assert run(*words) == 0
    assert len(counts) >= 100
    # in flight, or answered and not yet committed
    assert counts.total() - len(counts) <= 2 * 2 * 8
