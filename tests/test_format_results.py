"""AdvancedIF's results files: as its README lays them out, and read as the same verdicts."""

import asyncio
import csv
import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.nouns import Critique, Judgment, Message, Reply, Sample, Status
from heedful.data import formats
from heedful.data.formats import advancedif
from heedful.data.formats.advancedif import results
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.judges.prompts.advancedif import AdvancedIF
from heedful.models import ScriptedModel
from jsonl import read_rows

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
    written = read_rows(path)
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


# --- read again ---------------------------------------------------------------------------------


def judged(
    rubrics: Sequence[str], replies: Sequence[str], *, reasks: int, per_call: int | None = None
) -> Critique:
    """Have a judge say one reply after another, the last one again and again."""
    said = iter(replies)

    def next_reply(_: Sequence[Message], __: int) -> str:
        return next(said, replies[-1])

    judge = Checklist(ScriptedModel(next_reply), AdvancedIF(), reasks=reasks, per_call=per_call)
    return asyncio.run(judge.judge(sample(*rubrics)))


def written(rubrics: Sequence[str], critique: Critique) -> dict[str, Any]:
    """Lay out a row as a run's output has it; return its results."""
    of = sample(*rubrics)
    result: dict[str, Any] = results(
        of, critique, prompts.reply("advancedif", critique, of.checklist)
    )["judge_result"]
    return result


def decided(judgments: Iterable[Judgment]) -> list[Status | None]:
    return [judgment.status if judgment.status.decided else None for judgment in judgments]


def read_again(rubrics: Sequence[str], critique: Critique, suffix: str) -> list[Status | None]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"out{suffix}"
        writer = advancedif.FORMAT.writer(path)
        assert writer
        of = sample(*rubrics)
        reply = prompts.reply("advancedif", critique, of.checklist)
        row_of_it = Row("1", of, critique, reply=reply)
        writer(path, lambda: iter([row_of_it]))
        (row,) = formats.read(path)
        assert row.sample
        assert row.sample.recording
        return decided(prompts.read(row.sample.recording, row.sample.checklist))


def judge_reply(*answers: str) -> str:
    checks = {f"question_{number}": answer for number, answer in enumerate(answers, start=1)}
    return json.dumps({"rubrics_check": checks, "SATISFIED_ALL_REQUIREMENTS": "NO"})


ANSWERS = st.sampled_from(
    ["YES", "NO", "no, it fails", "It is there: YES", "Not there", "perhaps", "YES and NO", "_Yes_"]
)
REPLIES = st.one_of(
    st.lists(ANSWERS, min_size=1, max_size=5).map(lambda answers: judge_reply(*answers)),
    st.sampled_from(["I cannot say.", '{"rubrics_check": {"question_1": "YES', "", judge_reply()]),
)


@pytest.mark.slow
@given(
    rubrics=st.integers(1, 5),
    replies=st.lists(REPLIES, min_size=1, max_size=5),
    reasks=st.integers(0, 4),
    per_call=st.sampled_from([None, 1, 2]),
    suffix=st.sampled_from([".jsonl", ".csv"]),
)
def test_what_is_written_reads_as_the_same_verdicts(
    rubrics: int, replies: list[str], reasks: int, per_call: int | None, suffix: str
) -> None:
    texts = [f"Rubric {number}?" for number in range(1, rubrics + 1)]
    critique = judged(texts, replies, reasks=reasks, per_call=per_call)
    verdicts = decided(critique.judgments)
    assert read_again(texts, critique, suffix) == verdicts
