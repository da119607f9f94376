"""Runs that are killed: nothing is lost, and nothing is bought twice but what was in flight."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

import fault_server
from calling_commands import COMMANDS, write_inputs
from commands import run
from fault_server import Answer

pytestmark = [
    pytest.mark.interrupted,
    pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals"),
]


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
