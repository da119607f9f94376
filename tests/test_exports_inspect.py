"""A run as a log of Inspect AI: as the zip file says, and as Inspect itself reads it."""

import json
import math
import zipfile
from pathlib import Path
from typing import Any

import pytest

from heedful import UsageError, evaluate, export
from heedful.cli import main
from heedful.judges.model import Checklist
from heedful.judges.prompts.plain import Plain
from heedful.models import ScriptedModel

ROWS: list[dict[str, Any]] = [
    {
        "id": "a/1 é",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hi?"},
        ],
        "checklist": [{"text": "No commas.", "type": "format"}, "礼貌"],
        "response": "Hello, you.",
        "reference": "Hello.",
        "tags": {"model": "acme/poet", "level": 3},
        "judgments": [
            {"status": "unmet", "explanation": "1 comma", "judge": "critic"},
            {"status": "met", "explanation": "好", "judge": "critic"},
        ],
    },
    {
        "id": "b",
        "prompt": "Hi?",
        "checklist": ["No commas."],
        "response": "Hm",
        "tags": {"model": "acme/poet"},
        "completion": {"finish_reason": "length"},
        "judgments": [{"status": "unparsed", "explanation": "no verdict", "judge": "critic"}],
    },
    {"id": "c", "prompt": 7},
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
    file.write_text("".join(lines), encoding="utf-8")
    evaluate(file, judge="recorded", run=tmp_path / "mine")
    return tmp_path / "mine"


def test_a_log_has_a_sample_for_each_row(run: Path, tmp_path: Path) -> None:
    assert export(run, output=tmp_path / "o.eval") == (3, 1)
    with zipfile.ZipFile(tmp_path / "o.eval") as log:
        assert log.namelist() == [
            "samples/a/1 é_epoch_1.json",
            "samples/b_epoch_1.json",
            "samples/c_epoch_1.json",
            "summaries.json",
            "header.json",
        ]
        scores = json.loads(log.read("samples/b_epoch_1.json"))["scores"]
        summaries = json.loads(log.read("summaries.json"))
    assert math.isnan(scores["isr"]["value"])
    assert math.isnan(scores["constraint 1"]["value"])
    assert scores["constraint 1"]["explanation"] == "**No commas.**\n\nno verdict"
    assert [summary["completed"] for summary in summaries] == [True, True, False]
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.slow
def test_inspect_reads_the_log(run: Path, tmp_path: Path) -> None:
    inspect_log: Any = pytest.importorskip("inspect_ai.log", reason="inspect-ai is not installed")
    path = str(tmp_path / "o.eval")
    export(run, output=path)
    log = inspect_log.read_eval_log(path)
    assert (log.status, log.eval.task, log.eval.model) == ("success", "mine", "acme/poet")
    assert (log.results.total_samples, log.results.completed_samples) == (3, 2)
    metrics = {score.name: score.metrics for score in log.results.scores}
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    for name in ("csr", "isr"):
        result = metrics[f"cfbench.{name}"]
        told = summary["metrics"]["cfbench"][name]
        ends = [result["least"].value, result["most"].value]
        assert (ends, result["coverage"].value) == (told["bounds"], told["coverage"])
    first, second, third = log.samples
    assert [message.role for message in first.messages] == ["system", "user", "assistant"]
    assert (first.output.completion, first.target) == ("Hello, you.", "Hello.")
    assert first.metadata == {"model": "acme/poet", "level": 3}
    assert {name: one.value for name, one in first.scores.items()} == {
        "csr": 0.5, "isr": 0, "constraint 1": "I", "constraint 2": "C"
    }  # fmt: skip
    assert first.scores["constraint 1"].metadata["constraint"]["type"] == "format"
    assert (second.output.stop_reason, second.scores["constraint 1"].reason) == (
        "max_tokens", "grader_failed"
    )  # fmt: skip
    assert third.error.message.startswith("prompt is a number (7)")
    assert inspect_log.read_eval_log_sample(path, id="a/1 é").id == "a/1 é"
    assert len(inspect_log.read_eval_log_sample_summaries(path)) == 3


def test_what_the_judge_said_is_in_the_log(tmp_path: Path) -> None:
    samples = tmp_path / "rows.jsonl"
    samples.write_text(
        '{"id": "1", "prompt": "Hi?", "checklist": ["It is polite."], "response": "Yes."}\n'
    )
    model = ScriptedModel("<c1>\nIt is.\nVERDICT: MET\n</c1>")
    evaluate(samples, judge=Checklist(model, Plain()), run=tmp_path / "run")
    export(tmp_path / "run", output=tmp_path / "o.eval")
    with zipfile.ZipFile(tmp_path / "o.eval") as log:
        sample = json.loads(log.read("samples/1_epoch_1.json"))
    assert sample["metadata"]["judge_reply"].startswith("<c1>")


def test_a_log_holds_one_run(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match=r"one run.* 2"):
        export(run, run, output=tmp_path / "o.eval")
    with pytest.raises(SystemExit) as done:
        main(["export", str(run), "-o", str(tmp_path / "o.eval")])
    assert done.value.code == 1
    assert "1 row " in capsys.readouterr().err
