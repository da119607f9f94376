"""Replies that could not be read: one is shown, harmless and short, with the likely reason."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from fault_server import completion, serving
from heedful import Constraint, Sample, evaluate
from heedful.core.text import one_line
from heedful.jobs.evaluate_tables import example
from heedful.models import ScriptedModel

CONSTRAINTS = (Constraint(text="It is polite."), Constraint(text="It is kind."))
SAMPLE = Sample(id="1", prompt="Greet.", checklist=CONSTRAINTS, response="Hi!")
REPLIES = {
    "advancedif": '{"rubrics_check": {"question_1": "Yes, it is.", "question_2": "No."}, '
    '"SATISFIED_ALL_REQUIREMENTS": "NO"}',
    "plain": "<c1>\nIt is.\nVERDICT: MET\n</c1>\n<c2>\nIt is not.\nVERDICT: UNMET\n</c2>",
}


@pytest.mark.parametrize(("asked", "answered"), [("plain", "advancedif"), ("advancedif", "plain")])
def test_the_prompt_that_a_reply_belongs_to_is_named(asked: str, answered: str) -> None:
    model = ScriptedModel(REPLIES[answered])
    evaluation = evaluate([SAMPLE], judge="checklist", model=model, prompt=asked)
    unread = example(evaluation.summary, evaluation)
    assert unread is not None
    assert f"--prompt {answered}" in unread.hint


@pytest.mark.parametrize("prompt", REPLIES)
def test_a_reply_that_reads_is_no_example(prompt: str) -> None:
    model = ScriptedModel(REPLIES[prompt])
    evaluation = evaluate([SAMPLE], judge="checklist", model=model, prompt=prompt)
    assert example(evaluation.summary, evaluation) is None


def test_the_command_shows_the_reply_and_what_to_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(SAMPLE.model_dump_json() + "\n", encoding="utf-8")
    with serving(script=lambda *_: completion(REPLIES["advancedif"])) as server:
        words = ("--model", "m", "--base-url", server.url, "--run", tmp_path / "run")
        assert run("evaluate", data, *words) == 1
    said = capsys.readouterr().err
    assert "rubrics_check" in said
    assert "--prompt advancedif" in said


@given(st.text(), st.integers(1, 40))
def test_what_is_shown_is_one_short_line_that_no_terminal_obeys(text: str, most: int) -> None:
    shown = one_line(text, most)
    assert shown.isprintable()
    assert len(shown) <= most + 1


@pytest.mark.parametrize("own", [None, "mine"])
def test_a_reply_stands_beside_its_row_where_that_is_asked_for(
    own: str | None, tmp_path: Path
) -> None:
    model = ScriptedModel(REPLIES["plain"])
    sample = SAMPLE if own is None else SAMPLE.model_copy(update={"judge_reply": own})
    for replies in (False, True):
        directory = tmp_path / str(replies)
        evaluate([sample], judge="checklist", model=model, replies=replies, run=directory)
        (line,) = (directory / "results.jsonl").read_text("utf-8").splitlines()
        assert json.loads(line).get("judge_reply") == (REPLIES["plain"] if replies else None)
        (row,) = evaluate(directory / "results.jsonl")  # it can be read and scored again
        assert row.sample is not None
        assert (row.sample.model_extra or {}).get("judge_reply") == own
        assert [verdict.met for verdict in row.verdicts] == [True, False]
