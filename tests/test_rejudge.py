"""Judging the samples of a finished run again."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import run
from fault_server import FaultServer, serving, verdicts
from heedful import Constraint, Sample, evaluate
from heedful.jobs.saved_run import SavedRun
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import ScriptedModel
from jsonl import write_rows

pytestmark = pytest.mark.usefixtures("empty_folder")

ROWS = [
    {
        "conversation_history": json.dumps([{"role": "user", "content": "Say hello."}]),
        "response": "Hello!",
        "prompt_metadata": json.dumps({"rubrics": ["Does it say hello?", "Is it short?"]}),
        "benchmark_name": "complex_if_single_turn_v5",
        "note": "kept",
    },
    {"conversation_history": "[]", "response": "x", "prompt_metadata": "broken"},
]


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with serving(script=verdicts) as served:
        yield served


def summary(directory: str | Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((Path(directory) / "summary.json").read_text())
    return result


@pytest.mark.slow
def test_a_run_is_judged_again_without_its_file(server: FaultServer) -> None:
    source = Path("rows.jsonl")
    write_rows(source, ROWS)
    asked = ["--model", "m", "--base-url", server.url, "--api-key", "none"]
    assert run("evaluate", source, "--judge", "rules", "--run", "old") == 1
    source.unlink()
    before = {path.name: path.read_bytes() for path in Path("old").glob("*.json*")}
    again = ["rejudge", "old", *asked, "--prompt", "advancedif", "--run", "new"]
    assert run(*again, "--dry-run") == 0
    assert not Path("new").exists()
    assert run(*again, "-o", "out.csv") == 1  # as the file had a broken row
    result = summary("new")
    assert result["verdicts"]["met"] == 2
    assert result["rows"] == {"read": 1, "failed": 1}
    assert (result["format"], result["input"]) == ("advancedif", ["rows.jsonl"])
    assert result["rejudged"] == "old"
    assert result["problems"] == summary("old")["problems"]
    with Path("out.csv").open(encoding="utf-8", newline="") as file:
        first = next(csv.DictReader(file))
    assert (first["judge_satisfied_all_requirements"], first["note"]) == ("YES", "kept")
    calls = len(server.bodies)
    assert run(*again) == 1
    assert len(server.bodies) == calls
    assert before == {path.name: path.read_bytes() for path in Path("old").glob("*.json*")}


def test_an_unnamed_rejudging_is_found_again(server: FaultServer) -> None:
    write_rows("rows.jsonl", [ROWS[0]])
    asked = ["--model", "m", "--base-url", server.url, "--api-key", "none", "-q"]
    assert run("evaluate", "rows.jsonl", "--judge", "rules", "--run", "old", "-q") == 1
    for _ in range(2):
        assert run("rejudge", "old", *asked) == 0
    assert len(list(Path("heedful-runs").iterdir())) == 1
    assert len(server.bodies) == 1
    assert run("rejudge", "old", *asked, "--no-explain") == 0
    assert len(list(Path("heedful-runs").iterdir())) == 2


def test_rejudging_gives_what_judging_the_samples_gives(tmp_path: Path) -> None:
    samples = [
        Sample(
            id=str(number),
            checklist=(Constraint(text="a"), Constraint(text="b", type="content")),
            response="r",
            tags={"model": f"m{number % 2}"},
            labels=(True, None),
        )
        for number in range(5)
    ]
    reply = "<c1>\nSeen.\nVERDICT: MET\n</c1>\n<c2>\nNot seen.\nVERDICT: UNMET\n</c2>"
    judge = Checklist(ScriptedModel(reply), prompts.make("plain"))
    evaluate(samples, run=tmp_path / "old")
    again = evaluate(SavedRun(tmp_path / "old"), judge=judge)
    direct = evaluate(samples, judge=judge)
    assert again.summary.pop("rejudged") == str(tmp_path / "old")
    assert again.summary == direct.summary
    assert list(again.records()) == list(direct.records())


def test_what_is_no_finished_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--model", "m", "--base-url", "http://127.0.0.1:9/v1"]
    write_rows("rows.jsonl", [ROWS[0]])
    assert run("evaluate", "rows.jsonl", "--judge", "rules", "--run", "old", "-q") == 1
    assert run("rejudge", "old", *asked, "--run", "./old") == 2
    assert "--run" in capsys.readouterr().err
    assert run("rejudge", "old") == 2
    assert "--model" in capsys.readouterr().err
