"""A real model behind a real server, and the same model in this process. Run with -m served."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extras import needs
from heedful import Constraint, Message, Sample
from heedful.judges import prompts
from heedful.models import Completion, LocalModel, Model, OpenAIModel, Sampling
from model_server import ALONE, serving_model
from tiny_model import save_taught_model

pytestmark = pytest.mark.served
needs("torch", "transformers", "uvicorn", extra="dev")

TOKENS = 80

REPLY = """<c1>
I count them.
VERDICT: UNMET
</c1>
<c2>
No capital letter.
VERDICT: MET
</c2>"""

SAMPLES = [
    Sample(
        id=f"row-{number}",
        conversation=(Message(role="user", content=f"Name {number} colours in lowercase."),),
        checklist=(
            Constraint(text=f"The response names {number} colours."),
            Constraint(text="All letters are lowercase."),
        ),
        response=" ".join(["red", "blue", "green"][: number % 3 + 1]),
    )
    for number in range(1, 11)
]
PROMPTS = [prompts.make("plain").render(sample, sample.checklist) for sample in SAMPLES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has been taught one reply, whatever it is shown."""
    return save_taught_model(tmp_path_factory.mktemp("models") / "critic", PROMPTS, REPLY)


@pytest.fixture(scope="module")
def url(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of transformers' own server, serving the model."""
    with serving_model(folder, tmp_path_factory.mktemp("server") / "log.txt") as address:
        yield address


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    lines = (sample.model_dump_json(exclude_defaults=True) + "\n" for sample in SAMPLES)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def evaluate(rows: Path, run: Path, *flags: object) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Judge the rows by the command line; return the results and the summary."""
    options = ["--judge", "checklist", "--max-completion-tokens", TOKENS, "--reasks", 0, *flags]
    command = [sys.executable, "-m", "heedful", "evaluate", rows, "--run", run, *options]
    words = [str(word) for word in command]
    done = subprocess.run(
        words, env=ALONE, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = (run / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines], json.loads((run / "summary.json").read_text())


def said(results: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What was judged, without who did."""
    judgments = [judgment for row in results for judgment in row["judgments"]]
    return [(judgment["status"], judgment["explanation"]) for judgment in judgments]


def test_a_served_model_judges_every_row_and_resuming_buys_nothing(
    rows: Path, url: str, folder: Path, tmp_path: Path
) -> None:
    flags = ("--prompt", "plain", "--model", folder, "--base-url", url)
    results, summary = evaluate(rows, tmp_path / "run", *flags)
    assert [row["id"] for row in results] == [sample.id for sample in SAMPLES]
    verdicts = summary["verdicts"]
    assert verdicts["met"] + verdicts["unmet"] > 0
    assert verdicts["met"] + verdicts["unmet"] + verdicts["unparsed"] == 2 * len(SAMPLES)
    assert all(explanation for _, explanation in said(results))
    cost = summary["cost"]
    assert (cost["calls"], cost["reused"], cost["dollars"]) == (len(SAMPLES), 0, None)
    assert cost["prompt_tokens"] > 1000 * len(SAMPLES)
    assert 0 < cost["completion_tokens"] <= TOKENS * len(SAMPLES)
    assert evaluate(rows, tmp_path / "run", *flags) == (results, summary)
    # In process it is another model to a run, so it buys its own answers; they are the same.
    local, in_process = evaluate(rows, tmp_path / "local", "--model", folder, "--prompt", "plain")
    assert said(local) == said(results)
    assert in_process["cost"]["prompt_tokens"] == cost["prompt_tokens"]
    assert evaluate(rows, tmp_path / "local", "--model", f"local:{folder}") == (local, in_process)


async def asked(model: Model) -> list[Completion]:
    calls = (model.generate(prompt, Sampling(max_tokens=TOKENS)) for prompt in PROMPTS)
    try:
        return await asyncio.gather(*calls)
    finally:
        await model.close()


def test_in_process_it_says_token_by_token_what_the_server_says(url: str, folder: Path) -> None:
    served = asyncio.run(asked(OpenAIModel(str(folder), base_url=url)))
    local = asyncio.run(asked(LocalModel(str(folder))))
    assert [item.text for item in local] == [item.text for item in served]
    assert [item.finish_reason for item in local] == [item.finish_reason for item in served]
    assert {item.finish_reason for item in local} <= {"stop", "length"}
    assert [item.usage for item in local] == [item.usage for item in served]


def test_a_panel_may_mix_servers_and_models_in_process(
    rows: Path, url: str, folder: Path, tmp_path: Path
) -> None:
    models = ("--model", folder, "--model", f"local:{folder}", "--base-url", url)
    _, summary = evaluate(rows, tmp_path / "run", *models)
    judges = summary["cost"]["judges"]
    assert [judge["calls"] for judge in judges] == [len(SAMPLES)] * 2
    assert len({judge["judge"] for judge in judges}) == 2
