"""What people type first, in a notebook and on the command line."""

from __future__ import annotations

import asyncio
import csv
import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest

import commands
from heedful import (
    Reward,
    RunError,
    SavedRun,
    UsageError,
    compare,
    evaluate,
    export,
    judge_accuracy,
    report,
    respond,
    verifier,
)
from heedful.jobs.evaluate_tables import document
from heedful.reporting.metric_names import WORDS, label
from heedful.verify import base, known

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from heedful import Sample
    from heedful.core.nouns import Constraint
    from heedful.verify import Response

ROW: dict[str, Any] = {"prompt": "Greet.", "checklist": ["No commas."], "response": "Hi, you!"}
VAGUE: dict[str, Any] = {**ROW, "checklist": ["Be kind."]}


def statuses(evaluation: Any) -> list[str]:
    return [verdict.status for row in evaluation for verdict in row.verdicts]


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


@pytest.mark.parametrize(
    "model",
    [answer, answer_later, Engine()],
    ids=["function", "async", "object"],
)
def test_a_model_that_is_a_function_or_an_object(model: Any) -> None:
    assert statuses(evaluate([VAGUE] * 3, model=model)) == ["met"] * 3


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


OTHER = {**ROW, "response": "Hi you"}


def test_evaluations_are_compared(tmp_path: Path) -> None:
    rows = [{**OTHER, "prompt": f"Greet {n}."} for n in range(12)]
    worse = [{**row, "response": ROW["response"]} for row in rows]
    here = evaluate(rows)
    there = evaluate(worse, run=tmp_path / "there")
    result = compare(here, there, baseline=there)
    assert result.sentence.startswith(
        "evaluation 1 is better than there on responses fully met: +100.0 points"
    )
    assert repr(result) == f"<Comparison: {result.sentence}>"
    page = result._repr_html_()
    assert result.sentence.replace("<", "&lt;") in page
    assert "<td>constraints met</td>" in page
    assert json.loads(json.dumps(result)) == result
    assert [run["run"] for run in result["runs"]] == ["evaluation 1", str(there.directory)]
    with SavedRun(there.directory or "") as run:
        assert compare(run, here)["pairs"][0]["compared"] == "responses"


def test_a_saved_run_is_a_table(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    evaluation = evaluate([ROW, OTHER], run=tmp_path / "run")
    with SavedRun(tmp_path / "run") as run:
        assert list(run.to_pandas()["status"]) == ["unmet", "met"]
        assert list(run.table("sample")) == list(evaluation.table("sample"))
        assert "responses fully met 50.0 %" in repr(run)
        assert run._repr_html_() == evaluation._repr_html_()
        assert run.rates() == evaluation.rates()
        (tmp_path / "run" / "summary.json").unlink()
        assert "not finished" in repr(run)
        assert run._repr_html_() is None
        assert pickle.loads(pickle.dumps(run)).directory == run.directory  # noqa: S301 - as above
    respond([{"prompt": "Greet."}], model=lambda _: "Hi.", run=tmp_path / "responses")
    with SavedRun(tmp_path / "responses") as run:
        assert "heedful respond" in repr(run)
        with pytest.raises(RunError, match="heedful respond"):
            run.to_pandas()


def test_a_report_of_a_run_lies_in_it(tmp_path: Path) -> None:
    evaluation = evaluate([ROW], run=tmp_path / "run")
    for given in (evaluation, tmp_path / "run"):
        written = report(given, charts=False)
        assert written.path == tmp_path / "run" / "report.html"
        assert written.samples == 1


def test_progress_is_shown_or_not(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{**ROW, "response": f"Hi {n}"} for n in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heedful.engine.progress.PLAIN_SECONDS", 0.0)
        evaluate(rows, progress=False)
        assert capsys.readouterr().err == ""
        evaluate(rows, progress=True)
        assert "rows" in capsys.readouterr().err


def test_plain_names_for_own_rows_and_published_names_for_a_benchmarks() -> None:
    own = evaluate([ROW])
    assert own.summary["benchmarks"] == []
    named = [label(family, name, own.summary) for family, name in WORDS]
    assert named[:4] == [*WORDS.values()][:4]
    theirs = evaluate([{**ROW, "tags": {"benchmark": "cfbench"}}]).summary
    assert label("cfbench", "isr", theirs) == "responses fully met (CFBench ISR)"
    assert label("infobench", "drfr", theirs) == "constraints met, pooled"
    for page in (document("own", own.summary).markdown(), own._repr_html_(), own.plot().json()):
        assert "CFBench" not in str(page)
    assert "judge code, strict" in str(own._repr_html_())
    assert own.summary["judge"] == "rules,recorded,compiled"


@pytest.mark.parametrize(
    ("flag", "meant"),
    [
        ("--threads", "--max-concurrency"),
        ("--parallel", "--max-concurrency"),
        ("--html", "heedful report"),
        ("--api-base", "--base-url"),
        ("--endpoint=http://x", "--base-url"),
        ("--url", "--base-url"),
        ("--csv", "heedful export RUN -o FILE.csv"),
        ("--key", "--api-key-env"),
    ],
)
def test_flags_of_other_tools(flag: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.run("evaluate", "a.jsonl", flag) == 2
    assert f"Did you mean {meant}" in capsys.readouterr().err


def test_nothing_is_assumed_of_runs_that_only_code_judged() -> None:
    rows = [{**row, "id": "1"} for row in (ROW, OTHER)]
    (pair,) = compare(*(evaluate([row]) for row in rows))["pairs"]
    assert pair["notes"] == []
    recorded = {"checklist": ["Be kind."], "judgments": [{"status": "met"}]}
    (pair,) = compare(*(evaluate([{**row, **recorded}]) for row in rows))["pairs"]
    assert "that one judge gave them is assumed" in pair["notes"][-1]


def test_cells_of_one_column_may_be_divided_in_several_ways() -> None:
    cells = [
        "No commas; under 5 words; is kind; mention Ann",
        "No commas | under 5 words | is kind",
        "No commas; under 5 words; is kind",
    ]
    evaluation = evaluate([{"Query": "Greet.", "gpt_out": "Hi", "Rubrics": cell} for cell in cells])
    assert [len(row.verdicts) for row in evaluation] == [4, 3, 3]


def test_functions_are_measured_as_judges() -> None:
    row = {**ROW, "labels": [False]}
    summary = judge_accuracy([row], judge=["compiled", lambda _, __: True])
    assert [judge["pooled"]["cells"] for judge in summary["judges"]] != []
    assert len(judge_accuracy([row], judge=lambda _, __: True)["judges"]) == 1


def test_evaluations_are_exported_and_what_is_no_run_is_refused(tmp_path: Path) -> None:
    evaluation = evaluate([ROW])
    assert export(evaluation, output=tmp_path / "o.jsonl").judgments == 1
    runs: Any = [evaluation, evaluation]
    for function in (compare, report):
        with pytest.raises(UsageError, match="a run is list"):
            function(runs)


def test_rates_are_compared_by_the_names_of_gates() -> None:
    pair = compare(evaluate([ROW]), evaluate([{**ROW, "response": "Hi"}]), metrics="fully_met")
    assert list(pair["pairs"][0]["metrics"]["cfbench"]) == ["isr"]


def test_rows_that_cannot_be_read_are_told_of(caplog: pytest.LogCaptureFixture) -> None:
    evaluate([{"prompt": "Greet.", "respnse": "Hi", "checklist": ["No commas."]}])
    assert "did you mean 'response'?" in caplog.text
