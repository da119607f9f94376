"""RealCritic end to end with scripted models: built, asked once, graded, extended, reported."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import dry_run
from heedful.bench.grading.problems import read_problems
from heedful.bench.realcritic.build import (
    CandidateSolution,
    Pool,
    build_realcritic,
    choose,
    ranking,
)
from heedful.bench.realcritic.critic import GradedAnswer, SolutionVerdict
from heedful.bench.realcritic.metrics import numbers
from heedful.bench.realcritic.run import RealCriticPlan, Results, run_realcritic
from heedful.bench.realcritic.tables import write_report
from heedful.core.errors import InputError, ModelError, RunError, UsageError
from heedful.core.nouns import Message
from heedful.models import Completion, Sampling, ScriptedModel
from jsonl import read_rows, write_rows

pytest.importorskip("math_verify", reason="the extra 'reasoning' is not installed")


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
    model = ScriptedModel(script, name="toy")
    checker = ScriptedModel(script, name="judge")
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
    first = ScriptedModel(script, name="toy")
    run_realcritic(plan(data_file, first, modes=["cross"]), run=run)
    assert len(first.calls) == 6
    again = ScriptedModel(script, name="toy")
    run_realcritic(plan(data_file, again, modes=["cross"]), run=run)
    assert not again.calls
    more = ScriptedModel(script, name="toy")
    wide = run_realcritic(plan(data_file, more, rounds=2), run=run)
    assert len(more.calls) == 6 + 6 + 12  # direct; self, round 1; round 2 of both
    assert len(numbers(wide)["critics"]["toy"]["cross"]) == 2
    with pytest.raises(RunError, match="sampling"):
        run_realcritic(plan(data_file, more, sampling=Sampling(temperature=1.0)), run=run)


def test_a_failed_call_is_a_gap_that_can_be_filled(data_file: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    broken = ScriptedModel(
        script, name="toy", fail={0: ModelError("busy"), 4: ModelError("busy")}.get
    )
    results = run_realcritic(plan(data_file, broken), run=run, concurrency=1)
    assert results.summary()["rows"] == {"done": 4, "incomplete": 2, "failed": 0, "unread": 0}
    result = numbers(results)["critics"]["toy"]
    assert result["direct"]["accuracy"]["coverage"] == pytest.approx(5 / 6)
    assert result["self"][0]["accuracy"]["undecided"] == 1
    assert result["cross"][0]["undecided"] == {"busy": 1}
    faithful = numbers(results, "faithful")["critics"]["toy"]
    assert faithful["self"][0]["accuracy"]["denominator"] == 6
    mended = ScriptedModel(script, name="toy")
    whole = run_realcritic(plan(data_file, mended), run=run, retry_failed=True)
    assert len(mended.calls) == 3  # a direct answer with its critique; a critique
    assert whole.summary()["rows"]["done"] == 6


def test_a_reply_without_an_answer_is_undecided_not_wrong(data_file: Path, tmp_path: Path) -> None:
    replies: Iterator[str | Completion] = iter(
        [Completion(text="Step 1: 2", finish_reason="length"), *["No idea."] * 5]
    )
    model = ScriptedModel(lambda *_: next(replies), name="toy")
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
        plan(path, ScriptedModel(script, name="toy"), modes=["cross"]), run=tmp_path / "run"
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
        plan(path, ScriptedModel(script, name="toy"), modes=["cross"]), run=tmp_path / "run"
    )
    assert results.summary()["rows"]["unread"] == 1
    (result,) = numbers(results)["critics"]["toy"]["cross"]
    assert result["first_error"]["f1_bounds"][1] == 1.0  # of the broken row nothing is known
    assert result["accuracy"]["coverage"] == 0  # there is no gold answer to grade by
    assert result["verdict"]["accuracy"]["numerator"] == 2


def test_an_estimate_asks_nobody_and_knows_what_is_there(data_file: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    model = ScriptedModel(script, name="toy")
    wanted = plan(data_file, model, rounds=2, checker=ScriptedModel(script, name="judge"))
    result = dry_run(run_realcritic, wanted, run=run)
    asked = {judge["judge"]: judge["calls"] for judge in result["judges"]}
    assert asked == {"toy": 6 + 12 + 12, "judge (post-check)": 24}
    assert not model.calls
    assert not run.exists()
    run_realcritic(wanted, run=run)
    assert dry_run(run_realcritic, wanted, run=run)["calls"] == 0


def test_the_report_is_made_without_a_call(data_file: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    run_realcritic(plan(data_file, ScriptedModel(script, name="a<b|c"), rounds=2), run=run)
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
        plan(path, ScriptedModel(repeat, name="yes"), modes=["cross"]), run=tmp_path / "run"
    )
    result = numbers(results)["critics"]["yes"]
    assert result["baseline"]["accuracy"]["numerator"] == 136
    assert result["labels"] == {"agreed": 273, "decided": 273}
    (cross,) = result["cross"]
    assert cross["delta"]["value"] == 0.0
    assert cross["verdict"]["accuracy"]["numerator"] == 136


MODELS = ("strong", "middle", "weak")


def candidate(model: str, *, correct: bool | None, cut: bool = False) -> CandidateSolution:
    answer = GradedAnswer(text=f"by {model}", cut_off=cut, grade=SolutionVerdict(correct=correct))
    return CandidateSolution(model, answer)


def models_said(grades: str) -> list[CandidateSolution]:
    """What the models answered: + correct, - wrong, ? unknown."""
    known = {"+": True, "-": False, "?": None}
    pairs = zip(MODELS, grades, strict=True)
    return [candidate(model, correct=known[grade]) for model, grade in pairs]


def test_wrong_ones_come_from_the_strong_and_correct_ones_from_the_weak() -> None:
    questions = {
        "easy": models_said("+++"),
        "hard": models_said("---"),
        "fair": models_said("++-"),
        "odd": models_said("???"),
    }
    chosen, counts = choose(questions, MODELS, "0")
    assert {key: one.model for key, one in chosen.items()} == {
        "hard": "strong",
        "fair": "middle",
    }
    assert counts["too_easy"] == counts["unusable"] == 1
    assert counts["undecided"] == 3


def test_over_long_solutions_are_dropped_and_do_not_make_a_question_easy() -> None:
    looping = [candidate("strong", correct=True), candidate("weak", correct=True, cut=True)]
    questions = {
        "q": looping,
        "w": [candidate("strong", correct=False), candidate("weak", correct=False)],
    }
    chosen, counts = choose(questions, ("strong", "weak"), "0")
    assert chosen["q"].model == "strong"
    assert counts["over_long"] == 1
    assert counts["too_easy"] == 0


def test_models_are_ranked_by_what_they_got_right() -> None:
    result = ranking(
        [candidate("a", correct=True), candidate("b", correct=False), candidate("b", correct=True)],
        "bac",
    )
    assert result == {"a": 1.0, "b": 0.5, "c": None}
    assert list(result) == ["a", "b", "c"]
    assert ranking([candidate("a", correct=True, cut=True)], "a") == {"a": 0.0}


GRADES = st.text("+-?", min_size=3, max_size=3)


@given(st.lists(GRADES, max_size=40), st.integers())
def test_sets_are_balanced_and_as_large_as_can_be(grades: list[str], seed: int) -> None:
    questions = {str(number): models_said(own) for number, own in enumerate(grades)}
    chosen, counts = choose(questions, MODELS, str(seed))
    correct = [item.answer.grade.correct for item in chosen.values()]
    assert correct.count(True) == correct.count(False) == counts["chosen_correct"]
    both, right, wrong = (counts[name] for name in ("both", "only_correct", "only_wrong"))
    # One pair more is impossible: it takes another of each kind, and two more questions.
    more = counts["chosen_correct"] + 1
    assert more > right + both or more > wrong + both or 2 * more > right + wrong + both
    assert (chosen, counts) == choose(questions, MODELS, str(seed))


def gsm8k(path: Path, count: int) -> Path:
    rows = [{"question": f"What is {n} + 1?", "answer": f"#### {n + 1}"} for n in range(count)]
    return write_rows(path, rows)


def solver(limit: int) -> Any:
    """Solve what is below a limit, and run on for ever at 7."""

    def reply(messages: Sequence[Message], _: int) -> str | Completion:
        number = int(re.findall(r"What is (\d+)", messages[0].content)[0])
        if number == 7:
            return Completion(text="and on " * 9, finish_reason="length")
        return f"It is \\boxed{{{number + 1 if number < limit else 0}}}"

    return reply


def test_a_set_is_built_and_can_be_read_back(tmp_path: Path) -> None:
    path = gsm8k(tmp_path / "sums.jsonl", 12)
    models = [ScriptedModel(solver(4), name="small"), ScriptedModel(solver(9), name="large")]
    pool = Pool([str(path)], models)
    assert dry_run(build_realcritic, pool, tmp_path / "out", run=tmp_path / "run")["calls"] == 24
    manifest = build_realcritic(pool, tmp_path / "out", run=tmp_path / "run")
    # 0–3 are too easy, 7 is cut off for both, 4, 5, 6 and 8 go either way, 9–11 are too hard.
    assert manifest["models"] == {"large": 8 / 12, "small": 4 / 12}
    counts = manifest["sets"]["sums"]
    assert (counts["too_easy"], counts["both"], counts["only_wrong"]) == (4, 4, 3)
    assert (counts["unusable"], counts["over_long"]) == (1, 2)
    attempts = list(read_problems(tmp_path / "out" / "sums.jsonl"))
    labels = [attempt.solution.label for attempt in attempts if attempt.solution]
    assert labels.count(True) == labels.count(False) == 3
    assert {attempt.solution.model for attempt in attempts if attempt.solution} == {"large"}
    assert [attempt.problem.answers[0] for attempt in attempts if attempt.problem] == [
        str(int(attempt.id.removeprefix("row-"))) for attempt in attempts
    ]
    again = [ScriptedModel(solver(4), name="small"), ScriptedModel(solver(9), name="large")]
    assert (
        build_realcritic(Pool([str(path)], again), tmp_path / "out", run=tmp_path / "run")
        == manifest
    )
    assert not any(model.calls for model in again)


def test_what_cannot_be_built_is_refused(tmp_path: Path) -> None:
    models = [ScriptedModel("x", name="a"), ScriptedModel("x", name="b")]
    for sources, pool, cap, message in (
        ([], models, 300, "no file"),
        (["x.jsonl"], models[:1], 300, "1 model"),
        (["x.jsonl"], models, 1, "--cap"),
        (["x.jsonl"], [*models, models[0]], 300, "twice"),
    ):
        with pytest.raises(UsageError, match=message):
            Pool(sources, pool, cap)
    path = tmp_path / "code.jsonl"
    program = {"task_id": "1", "prompt": "def f():", "test": "def check(c): pass"}
    path.write_text(json.dumps(program | {"entry_point": "f"}) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="a program"):
        build_realcritic(Pool([str(path)], models), tmp_path / "out", run=tmp_path / "run")
    assert not (tmp_path / "out").exists()
