"""What is written is read again as the same: verdicts, and the fields of the user's own."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import Constraint, Critique, Judgment, Sample, Status, evaluate
from heedful.data import formats

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
VALUES = st.none() | st.booleans() | st.integers(-9, 9) | TEXTS | st.lists(TEXTS, max_size=2)
NAMES = st.sampled_from(
    ["line", "status", "error", "problem", "notes", "weight", "declared", "scores", "é", "raw"]
)
JUDGMENTS = st.builds(
    Judgment,
    status=st.sampled_from(list(Status)),
    explanation=TEXTS,
    judge=st.sampled_from(["", "a/plain"]),
    confidence=st.none() | st.floats(0, 1),
    loose=st.none() | st.sampled_from([Status.MET, Status.UNMET]),
)


class Scripted:
    """Judges as the script says."""

    name = "scripted"
    config: dict[str, Any] = {"judge": "scripted"}  # noqa: RUF012 - as the protocol has it

    def __init__(self, *critiques: Critique) -> None:
        self.critiques = {str(at): critique for at, critique in enumerate(critiques)}

    async def judge(self, sample: Sample, requested: object = None) -> Critique:
        del requested
        return self.critiques[sample.id]


def rows_of(judged: list[list[Judgment]], own: dict[str, Any]) -> list[Sample]:
    return [
        Sample.model_validate(
            {
                "id": str(at),
                "conversation": [{"role": "user", "content": "Hi"}],
                "checklist": [{"text": f"c{k}"} for k in range(len(judgments))],
                "response": "x",
                **own,
            }
        )
        for at, judgments in enumerate(judged)
    ]


@pytest.mark.slow
@given(
    judged=st.lists(st.lists(JUDGMENTS, min_size=1, max_size=3), min_size=1, max_size=3),
    own=st.dictionaries(NAMES, VALUES, max_size=3),
)
def test_results_read_again_hold_the_same_verdicts_and_fields(
    judged: list[list[Judgment]], own: dict[str, Any]
) -> None:
    samples = rows_of(judged, own)
    judge = Scripted(*(Critique(judgments=tuple(each)) for each in judged))
    with tempfile.TemporaryDirectory() as folder:
        path, again = Path(folder) / "results.jsonl", Path(folder) / "again.jsonl"
        first = evaluate(samples, judge=judge, output=path)
        second = evaluate(path, judge="recorded", output=again)
        assert second.summary["verdicts"] == first.summary["verdicts"]
        for row, judgments in zip(second, judged, strict=True):
            assert row.critique
            assert row.sample
            assert [item.status for item in row.critique.judgments] == [j.status for j in judgments]
            assert [judgment.explanation for judgment in row.critique.judgments] == [
                j.explanation for j in judgments
            ]
            assert [item.loose for item in row.critique.judgments] == [j.loose for j in judgments]
            kept = row.sample.model_extra or {}
            assert {name: kept.get(name, "missing") for name in own} == own
        records = [
            json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line
        ]
        third = evaluate(again, judge="recorded")
        assert third.summary["verdicts"] == first.summary["verdicts"]
        assert all(record["judgments"] for record in records)


def test_a_row_that_could_not_be_read_says_so_again(tmp_path: Path) -> None:
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    path.write_text(
        '{"id": "a", "prompt": "p", "checklist": ["x"], "response": "r"}\n{"id": "b"}\n'
    )
    evaluate(path, output=out)
    first, second = formats.read(out)
    assert first.problem is None
    assert second.id == "b"
    assert "conversation is missing" in (second.problem or "")
    assert Constraint(text="x") in first.sample.checklist if first.sample else False
