"""RealCritic end to end with scripted critics: asked once, graded, resumed, extended, reported."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from heedful import dry_run
from heedful.bench.realcritic.metrics import numbers
from heedful.bench.realcritic.run import RealCriticPlan, Results, run_realcritic
from heedful.bench.realcritic.tables import write_report
from heedful.core.errors import ModelError, RunError, UsageError
from heedful.core.nouns import Message
from heedful.models import Completion, Sampling, ScriptedModel
from jsonl import read_rows, write_rows

pytest.importorskip("math_verify", reason="the extra 'reasoning' is not installed")


class Named(ScriptedModel):
    """A scripted model with a name of its own."""

    def __init__(self, name: str, reply: Any, **options: Any) -> None:
        super().__init__(reply, **options)
        self.name = name


def row(number: int, *, right: bool, **fields: Any) -> dict[str, Any]:
    answer = number + 1 if right else number + 2
    return {
        "idx": number,
        "question": f"What is {number} + 1?",
        "gt": str(number + 1),
        "pred": str(answer),
        "reasoning": f"It is \\boxed{{{answer}}}.",
        "model": "weak" if right else "strong",
        "previous_score": [right],
        **fields,
    }


def written(path: Path, *rows: dict[str, Any]) -> Path:
    return write_rows(path, rows)


def critique(verdict: bool, answer: object) -> str:  # noqa: FBT001 - what it says
    said, step = ("Correct", -1) if verdict else ("Incorrect", 1)
    return (
        f"## Critique\n### Step 1\nSeen.\n## Conclusion\nThe solution is {said}.\n"
        f"First wrong step: {step}\n## Correction\nSo \\boxed{{{answer}}}."
    )


def script(messages: Sequence[Message], _: int) -> str:
    """Solve small numbers only; see every error; hint all in round 1, spoil all in round 2."""
    asked = messages[0].content
    if "how a critic worked" in asked:
        return "RESULT: UNQUALIFIED" if "What is 1 +" in asked else "RESULT: QUALIFIED"
    number = int(re.findall(r"What is (\d+) \+ 1", asked)[0])
    if "You are checking" not in asked:
        return f"Hm. \\boxed{{{number + 1 if number < 3 else 0}}}"
    solution = asked.split("<<<SOLUTION")[1]
    stands = f"boxed{{{number + 1}}}" in solution
    return critique(stands, number + 1 if len(messages) == 1 else 0)


ROWS = [row(n, right=n % 2 == 0) for n in range(6)]


@pytest.fixture
def data_file(tmp_path: Path) -> Path:
    return written(tmp_path / "sums.jsonl", *ROWS)


def plan(path: Path, model: ScriptedModel, **options: Any) -> RealCriticPlan:
    return RealCriticPlan(files=[path], critics=[model], **options)


def test_a_critic_end_to_end(data_file: Path, tmp_path: Path) -> None:
    model = Named("toy", script)
    checker = Named("judge", script)
    results = run_realcritic(
        plan(data_file, model, rounds=2, checker=checker), run=tmp_path / "run"
    )
    result = numbers(results)["critics"]["toy"]
    # Directly 0, 1 and 2 are right; given are 0, 2 and 4; the first round mends all, the second
    # spoils all.
    assert result["items"] == 6
    assert result["baseline"]["accuracy"]["numerator"] == 3
    assert result["direct"]["accuracy"]["numerator"] == 3
    for paradigm in ("self", "cross"):
        first, second = result[paradigm]
        assert (first["accuracy"]["value"], second["accuracy"]["value"]) == (1.0, 0.0)
        assert first["delta"]["value"] == 0.5
        assert second["delta"]["value"] == -0.5
        assert second["step"]["correct_to_incorrect"]["count"] == 6
        assert first["verdict"]["accuracy"]["value"] == 1.0
        assert first["verdict"]["quality"]["high_right"] == 6
        assert first["post_check"]["unqualified"] == 1
    assert list(result["cross"][0]["generators"]) == ["weak", "strong"]
    assert len(model.calls) == 6 + 2 * 12
    history = max(model.calls, key=lambda call: len(call.messages)).messages
    assert [turn.role for turn in history] == ["user", "assistant", "user"]
    lines = read_rows(tmp_path / "run" / "results.jsonl")
    assert lines[1]["id"] == "sums/1@toy"
    assert lines[1]["cross_rounds"][0]["first_error"] == 1
    summary = json.loads((tmp_path / "run/summary.json").read_text(encoding="utf-8"))
    assert summary["rows"] == {"done": 6, "incomplete": 0, "failed": 0, "unread": 0}
    assert summary["cost"]["calls"] == len(model.calls) + len(checker.calls)


def test_nothing_is_bought_twice_and_runs_can_be_extended(data_file: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    first = Named("toy", script)
    run_realcritic(plan(data_file, first, modes=["cross"]), run=run)
    assert len(first.calls) == 6
    again = Named("toy", script)
    run_realcritic(plan(data_file, again, modes=["cross"]), run=run)
    assert not again.calls
    more = Named("toy", script)
    wide = run_realcritic(plan(data_file, more, rounds=2), run=run)
    assert len(more.calls) == 6 + 6 + 12  # direct; self, round 1; round 2 of both
    assert len(numbers(wide)["critics"]["toy"]["cross"]) == 2
    with pytest.raises(RunError, match="sampling"):
        run_realcritic(plan(data_file, more, sampling=Sampling(temperature=1.0)), run=run)


def test_a_failed_call_is_a_gap_that_can_be_filled(data_file: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    broken = Named("toy", script, fail={0: ModelError("busy"), 4: ModelError("busy")}.get)
    results = run_realcritic(plan(data_file, broken), run=run, concurrency=1)
    assert results.summary()["rows"] == {"done": 4, "incomplete": 2, "failed": 0, "unread": 0}
    result = numbers(results)["critics"]["toy"]
    assert result["direct"]["accuracy"]["coverage"] == pytest.approx(5 / 6)
    assert result["self"][0]["accuracy"]["undecided"] == 1
    assert result["cross"][0]["undecided"] == {"busy": 1}
    faithful = numbers(results, "faithful")["critics"]["toy"]
    assert faithful["self"][0]["accuracy"]["denominator"] == 6
    mended = Named("toy", script)
    whole = run_realcritic(plan(data_file, mended), run=run, retry_failed=True)
    assert len(mended.calls) == 3  # a direct answer with its critique; a critique
    assert whole.summary()["rows"]["done"] == 6


def test_a_reply_without_an_answer_is_undecided_not_wrong(data_file: Path, tmp_path: Path) -> None:
    replies = iter([Completion(text="Step 1: 2", finish_reason="length"), *["No idea."] * 5])
    model = Named("toy", lambda *_: next(replies))
    results = run_realcritic(
        plan(data_file, model, modes=["cross"]), run=tmp_path / "r", concurrency=1
    )
    (strict,) = numbers(results)["critics"]["toy"]["cross"]
    assert strict["accuracy"]["value"] is None
    assert strict["accuracy"]["coverage"] == 0.0
    assert strict["delta"]["value"] is None
    assert any("cut off" in reason for reason in strict["undecided"])
    (faithful,) = numbers(results, "faithful")["critics"]["toy"]["cross"]
    assert faithful["accuracy"]["value"] == 0.0
    assert faithful["delta"]["value"] == -0.5


def test_given_solutions_are_graded_unless_scoring_is_faithful(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", *ROWS[:3], row(8, right=True, previous_score=[False]))
    results = run_realcritic(
        plan(path, Named("toy", script), modes=["cross"]), run=tmp_path / "run"
    )
    strict = numbers(results, "strict")["critics"]["toy"]
    faithful = numbers(results, "faithful")["critics"]["toy"]
    assert strict["baseline"]["accuracy"]["numerator"] == 3
    assert faithful["baseline"]["accuracy"]["numerator"] == 2
    assert strict["labels"] == {"agreed": 3, "decided": 4}


def test_processbench_files_are_scored_by_their_steps(tmp_path: Path) -> None:
    path = tmp_path / "gsm8k.jsonl"
    shared = {"generator": "g", "final_answer_correct": True}
    right = {"id": "p-0", "problem": "What is 0 + 1?", "steps": ["boxed{1}", "b"], "label": -1}
    wrong = {"id": "p-1", "problem": "What is 1 + 1?", "steps": ["a", "b"], "label": 0}
    broken = wrong | {"id": "p-2", "label": 7}
    written(path, right | shared, wrong | shared | {"final_answer_correct": False}, broken | shared)
    results = run_realcritic(
        plan(path, Named("toy", script), modes=["cross"]), run=tmp_path / "run"
    )
    assert results.summary()["rows"]["unread"] == 1
    (result,) = numbers(results)["critics"]["toy"]["cross"]
    assert result["first_error"]["f1_bounds"][1] == 1.0  # of the broken row nothing is known
    assert result["accuracy"]["coverage"] == 0  # there is no gold answer to grade by
    assert result["verdict"]["accuracy"]["numerator"] == 2


def test_an_estimate_asks_nobody_and_knows_what_is_there(data_file: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    model = Named("toy", script)
    wanted = plan(data_file, model, rounds=2, checker=Named("judge", script))
    result = dry_run(run_realcritic, wanted, run=run)
    asked = {judge["judge"]: judge["calls"] for judge in result["judges"]}
    assert asked == {"toy": 6 + 12 + 12, "judge (post-check)": 24}
    assert not model.calls
    assert not run.exists()
    run_realcritic(wanted, run=run)
    assert dry_run(run_realcritic, wanted, run=run)["calls"] == 0


def test_the_report_is_made_without_a_call(data_file: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    run_realcritic(plan(data_file, Named("a<b|c", script), rounds=2), run=run)
    found, files = write_report([run], out)
    drawn = {"rounds-self.svg", "rounds-cross.svg", "flows-1-self.svg", "flows-1-cross.svg"}
    drawn = drawn if find_spec("vl_convert") else set()  # the extra charts
    assert {path.name for path in files} == {"report.json", "report.md", "report.html", *drawn}
    assert "critics" in json.loads((out / "report.json").read_text(encoding="utf-8"))
    text = (out / "report.md").read_text(encoding="utf-8")
    assert "a\\<b\\|c" in text
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
    charts = {chart.name: chart.spec["data"]["values"] for chart in found.charts}
    steps = {(row["step"], row["way"]): row["count"] for row in charts["flows-1-cross"]}
    assert steps["round 1", "becomes correct"] == 3
    assert steps["round 2", "becomes incorrect"] == 6
    marks = {(row["series"], row["x"]): row["y"] for row in charts["rounds-cross"]}
    assert marks["a<b|c", "round 1"] == 1
    for path in files:
        if path.suffix == ".svg":
            ET.parse(path)  # noqa: S314 - our own file
    with pytest.raises(UsageError, match="in 2 runs"):
        write_report([run, run], out)
    with pytest.raises(RunError, match="no run"):
        Results.open(tmp_path)


@pytest.mark.slow
def test_shipped_solutions_keep_their_correctness_where_the_critic_repeats_them(
    data: Path, tmp_path: Path
) -> None:
    path = data / "realcritic" / "gsm8k.jsonl"
    shipped = {each["question"]: each for each in read_rows(path)}

    def repeat(messages: Sequence[Message], _: int) -> str:
        asked = messages[0].content
        item = next(one for question, one in shipped.items() if question in asked)
        return critique(True, item["pred"])  # noqa: FBT003 - a critic who finds no fault

    results = run_realcritic(
        plan(path, Named("yes", repeat), modes=["cross"]), run=tmp_path / "run"
    )
    result = numbers(results)["critics"]["yes"]
    assert result["baseline"]["accuracy"]["numerator"] == 136
    assert result["labels"] == {"agreed": 273, "decided": 273}
    (cross,) = result["cross"]
    assert cross["delta"]["value"] == 0.0
    assert cross["verdict"]["accuracy"]["numerator"] == 136
