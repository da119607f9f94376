"""AdvancedIF's results files, as its README lays them out."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from heedful.core.errors import UsageError
from heedful.core.nouns import Critique, Judgment, Sample, Status
from heedful.data import formats
from heedful.data.formats import advancedif
from heedful.data.formats.advancedif import results
from heedful.data.formats.base import Reply

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


MET = Judgment(status=Status.MET, explanation="it is")
UNMET = Judgment(status=Status.UNMET, explanation="it is not")
UNPARSED = Judgment(status=Status.UNPARSED, explanation="no verdict")


@dataclass(frozen=True)
class Row:
    id: str = "row-1"
    sample: Sample | None = None
    critique: Critique | None = None
    problem: str | None = None
    reply: Reply | None = None


def sample(*rubrics: str, **fields: Any) -> Sample:
    return advancedif.sample(
        {
            "conversation_history": [{"role": "user", "content": "Hi"}],
            "response": "Hello",
            "prompt_metadata": {"rubrics": list(rubrics)},
        }
        | fields,
        1,
    )


def row(of: Sample, *judgments: Judgment) -> Row:
    critique = Critique(judgments=judgments, text="{raw}")
    answers = {f"question_{number}": one.explanation for number, one in enumerate(judgments, 1)}
    return Row("a", of, critique, reply=Reply(answers, "{raw}"))


OLD = {"judge_rubric_9_decision": "old"}
ROWS = [
    row(sample("a", zeta="é"), MET),
    Row("bad", problem="broken JSON"),
    row(sample("a", "b", alpha=None), MET, UNMET),
    row(sample("a", judge_raw_output="{raw}", judge_prompt="sent", **OLD), UNPARSED),
]


def rows() -> Iterable[Row]:
    return iter(ROWS)


def test_results_are_computed_from_the_rubrics() -> None:
    judged = [
        results(row.sample, row.critique, row.reply)
        for row in ROWS
        if row.sample and row.critique and row.reply
    ]
    first, second, third = [record["judge_result"] for record in judged]
    assert (first["satisfied_all_requirements"], first["rubric_level_pass_rate"]) == ("YES", 1.0)
    assert (second["satisfied_all_requirements"], second["rubric_level_pass_rate"]) == ("NO", 0.5)
    assert second["rubrics_check"] == {"question_1": "it is", "question_2": "it is not"}
    assert (third["success"], third["satisfied_all_requirements"]) == (False, None)
    assert third["error"] == "rubric 1 is unparsed: no verdict"
    assert third["judge_prompt"] == "sent"
    assert judged[0]["response"] == "Hello"


def test_json_lines_hold_every_row_in_order(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    writer = advancedif.FORMAT.writer(path)
    assert writer
    writer(path, rows)
    written = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [record["judge_result"]["success"] for record in written] == [True, False, True, False]
    assert written[1] == {
        "id": "bad",
        "judge_result": {"success": False, "error": "broken JSON"},
    }
    assert list(tmp_path.iterdir()) == [path]
    assert "broken JSON" in (list(formats.read(path))[1].problem or "")


def test_csv_has_the_union_of_columns_in_the_published_order(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    writer = advancedif.FORMAT.writer(path)
    assert writer
    writer(path, rows)
    with path.open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert list(written[0]) == [
        "alpha",
        "conversation_history",
        "prompt_metadata",
        "response",
        "zeta",
        "judge_success",
        "judge_satisfied_all_requirements",
        "judge_rubric_level_pass_rate",
        "judge_rubric_1_decision",
        "judge_rubric_2_decision",
        "judge_prompt",
        "judge_raw_output",
        "judge_error",
    ]
    assert [row["judge_success"] for row in written] == ["True", "False", "True", "False"]
    assert written[1]["judge_error"] == "broken JSON"
    assert written[2]["judge_rubric_2_decision"] == "it is not"
    again = list(formats.read(path))
    assert "broken JSON" in (again[1].problem or "")
    assert [row.sample is not None for row in again] == [True, False, True, True]
    assert again[2].sample
    assert again[2].sample.recording
    assert again[2].sample.recording.text == "{raw}"


def test_an_output_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    path = tmp_path / "no" / "out.jsonl"
    writer = advancedif.FORMAT.writer(path)
    assert writer
    with pytest.raises(UsageError, match="cannot be written"):
        writer(path, rows)
