"""A critic trained here, behind transformers' own server. Run with -m served."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from commands import run
from critiques import write
from extras import needs
from model_server import ALONE, serving_model
from tiny_model import save_tiny_model
from trainings import FEW, exported, samples

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.served, pytest.mark.filterwarnings("ignore")]
needs("trl", "uvicorn", extra="dev")


def test_a_trained_critic_is_served_and_says_what_it_says_in_this_process(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "tiny", width=0.1)
    data = exported(tmp_path, samples(["+-"] * 4))
    critic = tmp_path / "critic"
    steps = ["--max-steps", 160, "--learning-rate", 1e-2, *FEW]
    steps += ["--prompt-file", data.parent / "prompt.txt", "-q"]
    assert run("critic", "train", "sft", data, "-m", model, "-o", critic, *steps) == 0
    rows = write(tmp_path / "rows.jsonl", samples(["+-", "--"]))
    local = judged(rows, tmp_path / "local", critic)
    assert [item["status"] for item in local] == ["met", "unmet"] * 2
    with serving_model(critic, tmp_path / "log.txt") as url:
        flags = ["--base-url", url, "--prompt", "if_critic"]
        served = judged(rows, tmp_path / "served", critic, *flags)
    keys = ("status", "explanation")
    assert [[item[key] for key in keys] for item in served] == [
        [item[key] for key in keys] for item in local
    ]


def judged(rows: Path, output: Path, critic: Path, *flags: object) -> list[dict[str, Any]]:
    """Judge the rows by the command line; return the judgments."""
    options = ["--judge", "checklist", "--model", critic, "--reasks", 0, "--run", output, *flags]
    options += ["--prompt-file", rows.with_name("prompt.txt"), "--max-completion-tokens", 400]
    words = [str(word) for word in ("evaluate", rows, *options)]
    done = subprocess.run(
        [sys.executable, "-m", "heedful", *words],
        env=ALONE,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = (output / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return [judgment for line in lines for judgment in json.loads(line)["judgments"]]
