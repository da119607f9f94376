"""Obtaining responses: rows, ids, what is kept and what failed, through the API."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from heedful import Constraint, Message, Sample, UsageError, evaluate, respond
from heedful.core.errors import ModelError, RunError
from heedful.models import Completion, Sampling, ScriptedModel
from jsonl import read_rows


def sample(key: str, **fields: Any) -> Sample:
    conversation = (
        Message(role="system", content="Be brief."),
        Message(role="user", content=f"Question {key}."),
    )
    return Sample.model_validate({"id": key, "conversation": conversation} | fields)


def echo(messages: Sequence[Message], number: int) -> str:
    return f"{messages[-1].content} Draw {number}."


def test_each_sample_gets_its_response_in_input_order() -> None:
    model = ScriptedModel(echo, latency_s=0.001)
    rows = list(respond([sample(str(n)) for n in range(50)], models=model))
    assert [row.id for row in rows] == [str(n) for n in range(50)]
    result = [row.sample for row in rows if row.sample]
    assert [item.response for item in result] == [f"Question {n}. Draw 0." for n in range(50)]
    assert {item.tags["model"] for item in result} == {"scripted"}
    assert [turn.role for turn in model.calls[0].messages] == ["system", "user"]


def test_what_has_a_response_keeps_it_unless_told_otherwise() -> None:
    old = sample("1", response="Old.", labels=(True,), checklist=(Constraint(text="c"),))
    model = ScriptedModel("New.")
    kept = respond([old, sample("2")], models=model)
    assert next(iter(kept)).sample == old
    assert kept.summary["rows"] == {"completed": 1, "unchanged": 1, "failed": 0, "unread": 0}
    (row,) = respond([old], models=model, overwrite=True)
    assert row.sample is not None
    assert row.sample.response == "New."
    assert row.sample.labels is None  # they were verdicts on the old response
    assert row.sample.checklist == old.checklist


def test_models_and_draws_make_a_row_each_with_ids_that_say_which() -> None:
    models = [ScriptedModel(echo, name="a"), ScriptedModel(echo, name="b")]
    generation = respond([sample("x"), sample("y", response="Old.")], models=models, samples=2)
    assert [row.id for row in generation] == ["x@a#1", "x@a#2", "x@b#1", "x@b#2", "y"]
    first, second, third, _, kept = generation.records()
    assert (first["tags"]["model"], third["tags"]["model"]) == ("a", "b")
    assert [item["response"] for item in (first, second)] == [
        f"Question x. Draw {n}." for n in (0, 1)
    ]
    assert [item["completion"]["sample_index"] for item in (first, second)] == [1, 2]
    assert {item["instruction_id"] for item in (first, second, third)} == {"x"}
    assert "instruction_id" not in kept
    assert models[0].calls[0].sampling.temperature == 1.0


def test_models_are_drawn_for_each_sample_by_its_id_alone() -> None:
    models = [ScriptedModel(echo, name=name) for name in "abcde"]
    samples = [sample(str(n)) for n in range(200)]
    ids = [row.id for row in respond(samples, models=models, models_per_sample=2, seed=7)]
    assert len(ids) == 400
    again = respond(samples[::-1][:50], models=models[::-1], models_per_sample=2, seed=7)
    assert {row.id for row in again} <= {*ids}
    other = {row.id for row in respond(samples, models=models, models_per_sample=2, seed=8)}
    assert 0 < len(other & {*ids}) < 400
    for model in models:  # each is drawn about 80 times
        assert 60 < sum(item.endswith(f"@{model.name}") for item in ids) < 100
    for draw in (0, 6):
        with pytest.raises(UsageError, match="models_per_sample is"):
            respond(samples, models=models, models_per_sample=draw)


def test_samples_that_would_be_the_same_and_models_named_twice_are_refused() -> None:
    with pytest.raises(UsageError, match="temperature 0"):
        respond([sample("1")], models=ScriptedModel("x"), samples=2, sampling=Sampling())
    with pytest.raises(UsageError, match="named twice"):
        respond([sample("1")], models=[ScriptedModel("x", name="a"), ScriptedModel("y", name="a")])
    with pytest.raises(UsageError, match="at least one"):
        respond([sample("1")], models=[])


def test_a_failure_is_a_row_with_its_problem_and_is_tried_again(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    samples = [sample("1", problem="a field of the user's"), sample("2"), sample("3")]
    options: dict[str, Any] = {"run": tmp_path / "run", "output": out, "concurrency": 1}

    def second(call: int) -> Exception | None:
        return ModelError("busy") if call == 1 else None

    first = respond(samples, models=ScriptedModel(echo, fail=second), **options)
    assert first.summary["rows"] == {"completed": 2, "unchanged": 0, "failed": 1, "unread": 0}
    assert [row.get("problem") for row in read_rows(out)] == ["a field of the user's", "busy", None]
    assert read_rows(out)[1]["id"] == "2"
    assert "response" not in read_rows(out)[1]

    same = ScriptedModel(echo)
    respond(samples, models=same, **options)
    assert not same.calls
    respond(samples, models=same, retry_failed=True, **options)
    assert len(same.calls) == 1
    assert [row["response"][:11] for row in read_rows(out)] == [f"Question {n}." for n in "123"]


def test_an_output_with_failures_is_an_input_that_fills_them(tmp_path: Path) -> None:
    out, again = tmp_path / "out.jsonl", tmp_path / "again.jsonl"
    broken = ScriptedModel(echo, fail={0: ModelError("busy")}.get)
    respond([sample("1"), sample("2")], models=broken, output=out, concurrency=1)
    model = ScriptedModel(echo)
    respond(out, models=model, output=again)
    assert len(model.calls) == 1
    assert [row["response"] for row in read_rows(again)] == [
        "Question 1. Draw 0.",
        "Question 2. Draw 0.",
    ]
    assert not any("problem" in row for row in read_rows(again))


@pytest.mark.parametrize(
    ("conversation", "message"),
    [
        ((), "no conversation"),
        ((Message(role="user", content="q"), Message(role="assistant", content="a")), "ends on"),
    ],
)
def test_a_row_with_nothing_to_answer_fails_without_a_call(
    conversation: tuple[Message, ...], message: str
) -> None:
    model = ScriptedModel(echo)
    (row,) = respond([sample("1", conversation=conversation)], models=model)
    assert row.problem is not None
    assert message in row.problem
    assert not model.calls


def test_answers_cut_off_and_empty_are_counted() -> None:
    texts = iter([Completion(text="half", finish_reason="length"), Completion(text="")])
    model = ScriptedModel(lambda *_: next(texts))
    generation = respond([sample("1"), sample("2")], models=model, concurrency=1)
    assert generation.summary["counts"] == {"cut_off": 1, "empty": 1}
    first = next(generation.records())
    assert first["completion"]["finish_reason"] == "length"


def test_responses_are_judged_with_the_file_they_came_from(tmp_path: Path) -> None:
    prompts, out = tmp_path / "prompts.jsonl", tmp_path / "out.jsonl"
    row = {"key": 7, "prompt": "No commas.", "instruction_id_list": ["punctuation:no_comma"]}
    prompts.write_text(json.dumps(row | {"kwargs": [{}]}) + "\n")
    respond(prompts, models=ScriptedModel("None here."), output=out)
    for summary in (evaluate(prompts, responses=out).summary, evaluate(out).summary):
        assert summary["verdicts"]["met"] == 1


def test_a_run_over_fewer_rows_is_not_resumed_over_all(tmp_path: Path) -> None:
    path, run = tmp_path / "rows.jsonl", tmp_path / "run"
    row = {"prompt": "p", "checklist": ["c"]}
    rows = [row | {"id": "a"}, row | {"id": "b", "_generation_error": "timeout"}, row | {"id": "c"}]
    path.write_text("\n".join(map(json.dumps, rows)))
    for options in ({"exclude_generation_failures": True}, {"limit": 2}):
        respond(path, models=ScriptedModel("New."), run=run, **options)
        with pytest.raises(RunError):
            respond(path, models=ScriptedModel("New."), run=run)
        shutil.rmtree(run)
