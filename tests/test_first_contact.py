"""What people type first, in a notebook and on the command line."""

import asyncio
import csv
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from heedful import Reward, Sample, SavedRun, evaluate, respond, verifier
from heedful.core.nouns import Constraint
from heedful.verify import Response, base, known

ROW: dict[str, Any] = {"prompt": "Greet.", "checklist": ["No commas."], "response": "Hi, you!"}
VAGUE: dict[str, Any] = {**ROW, "checklist": ["Be kind."]}
OWN = {"Query": "Greet.", "gpt_out": "Hi, you!", "Rubrics": ["No commas."]}
COLUMNS = {"Query": "prompt", "gpt_out": "response", "Rubrics": "checklist"}


def statuses(evaluation: Any) -> list[str]:
    return [verdict.status for row in evaluation for verdict in row.verdicts]


@pytest.mark.parametrize("columns", [COLUMNS, "Query=prompt,gpt_out=response,Rubrics=checklist"])
def test_own_columns(columns: Any) -> None:
    assert statuses(evaluate([OWN], map=columns)) == ["unmet"]


def test_a_format_for_rows_in_memory() -> None:
    assert statuses(evaluate([ROW], format="native")) == ["unmet"]


def test_a_judge_that_is_a_function() -> None:
    def of_constraint(sample: Sample, constraint: Constraint) -> tuple[bool, str]:
        return constraint.text.startswith("No") and "," in (sample.response or ""), "looked"

    async def of_sample(sample: Sample) -> list[bool | None]:
        await asyncio.sleep(0)
        return [None for _ in sample.checklist]

    def broken(sample: Sample) -> list[bool]:
        raise ZeroDivisionError(sample.id)

    assert statuses(evaluate([ROW], judge=of_constraint)) == ["met"]
    assert evaluate([ROW], judge=of_constraint)[0].verdicts[0].explanation == "looked"
    assert statuses(evaluate([ROW], judge=lambda _: [True])) == ["met"]
    assert statuses(evaluate([ROW], judge=lambda _: False)) == ["unmet"]
    assert statuses(evaluate([ROW], judge=of_sample)) == ["unparsed"]
    (verdict,) = evaluate([ROW], judge=broken)[0].verdicts
    assert (verdict.status, "ZeroDivisionError" in verdict.explanation) == ("failed", True)
    two = {**ROW, "checklist": ["A.", "B."]}
    assert statuses(evaluate([two], judge=lambda _: [True])) == ["failed", "failed"]


class Engine:
    """An object with ``generate`` and nothing besides."""

    async def generate(self, messages: Sequence[Any], sampling: Any) -> str:
        del sampling
        return answer([{"content": each.content} for each in messages])


def answer(messages: Sequence[dict[str, str]]) -> str:
    """Reply as the prompt ``plain`` asks."""
    from heedful.judges.prompts.plain import Plain

    del messages
    from heedful.core.nouns import Constraint, Judgment, Status

    judgment = Judgment(status=Status.MET, explanation="Kind.", judge="m")
    return Plain().write([judgment], [Constraint(text="Be kind.")])


async def answer_later(messages: Sequence[dict[str, str]]) -> str:
    await asyncio.sleep(0)
    return answer(messages)


class Pipeline:
    """Called as a text-generation pipeline of transformers is."""

    task = "text-generation"
    tokenizer = None
    batches = 0

    def __call__(self, prompts: list[Any], **options: Any) -> list[Any]:
        assert options["return_full_text"] is False
        type(self).batches += 1
        return [[{"generated_text": answer(each)}] for each in prompts]


@pytest.mark.parametrize(
    "model",
    [answer, answer_later, Engine(), Pipeline()],
    ids=["function", "async", "object", "pipeline"],
)
def test_a_model_that_is_a_function_or_an_object(model: Any) -> None:
    assert statuses(evaluate([VAGUE] * 3, model=model)) == ["met"] * 3


def test_a_pipeline_gets_many_prompts_at_once() -> None:
    Pipeline.batches = 0
    rows = [{**VAGUE, "response": f"Hi {number}"} for number in range(40)]
    assert statuses(evaluate(rows, model=Pipeline())) == ["met"] * 40
    assert Pipeline.batches < 20


def test_a_function_that_fails_fails_its_rows_alone() -> None:
    def sometimes(messages: Sequence[dict[str, str]]) -> str:
        if "fail now" in messages[-1]["content"]:
            raise ValueError("no")
        return answer(messages)

    rows = [VAGUE, {**VAGUE, "response": "fail now"}]
    assert statuses(evaluate(rows, model=sometimes)) == ["met", "failed"]


def test_another_function_of_the_name_does_not_resume_the_run(tmp_path: Path) -> None:
    evaluate([ROW], judge=lambda _: [True], run=tmp_path / "r")
    with pytest.raises(Exception, match="judge"):
        evaluate([ROW], judge=lambda _: [False], run=tmp_path / "r")


def test_a_prompt_as_text() -> None:
    seen = []

    def model(messages: Sequence[dict[str, str]]) -> str:
        seen.append(messages[-1]["content"])
        return answer(messages)

    text = "My own words.\n{{checklist}}\n{{response}}\n{{format}}"
    assert statuses(evaluate([VAGUE], model=model, prompt=text)) == ["met"]
    assert seen[0].startswith("My own words.")
    with pytest.raises(Exception, match=r"\{\{response\}\}"):
        evaluate([VAGUE], model=model, prompt="my own text")


def test_rates_by_the_names_that_are_printed() -> None:
    evaluation = evaluate([ROW, {**ROW, "response": "Hi"}])
    assert evaluation.responses_fully_met["value"] == 0.5
    assert evaluation.isr is evaluation.responses_fully_met
    with pytest.raises(AttributeError, match="constraints_met"):
        _ = evaluation.accuracy


def test_an_evaluation_is_saved_pickled_and_written(tmp_path: Path) -> None:
    evaluation = evaluate([ROW])
    again = pickle.loads(pickle.dumps(evaluation))  # noqa: S301 - pickled above
    assert statuses(again) == ["unmet"]
    assert again.summary == evaluation.summary
    folder = evaluation.save(tmp_path / "run")
    with SavedRun.open(folder) as run:
        assert run.summary == evaluation.summary
    in_folder = evaluate([ROW], run=tmp_path / "other")
    assert statuses(pickle.loads(pickle.dumps(in_folder))) == ["unmet"]  # noqa: S301 - as above
    evaluation.to_csv(tmp_path / "o.csv")
    with (tmp_path / "o.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["constraint"], row["status"]) == ("No commas.", "unmet")


def test_respond_and_rewards_take_a_model() -> None:
    unanswered = {"prompt": "Greet."}
    (row,) = respond([unanswered], model=lambda _: "Hi.")
    assert row.sample is not None
    assert row.sample.response == "Hi."
    with Reward(model=answer) as reward:
        assert reward.score_sync([VAGUE])[0].value == 1.0
    with Reward(lambda _: [True]) as reward:
        assert reward.score_sync([VAGUE])[0].value == 1.0


def test_a_verifier_that_returns_a_bool(monkeypatch: pytest.MonkeyPatch) -> None:
    known("none of these")
    monkeypatch.setattr(base, "_registry", dict(base._registry))  # noqa: SLF001 - nothing unregisters

    @verifier("mine:short", describe="Be short.")
    def short(response: Response) -> bool:
        return len(response.text) < 5

    row = {"prompt": "p", "checklist": [{"text": "short", "check": {"id": "mine:short"}}]}
    assert statuses(evaluate([{**row, "response": "abc"}])) == ["met"]
    assert statuses(evaluate([{**row, "response": "abcdef"}])) == ["unmet"]
