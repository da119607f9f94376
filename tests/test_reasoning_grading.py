"""Reading problems, grading them, and ``heedful bench realcritic grade``."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

import commands
from heedful.bench.grading.graders import Grade, Grader
from heedful.bench.grading.math_pool import MathPool
from heedful.bench.grading.problems import Attempt, read_problems
from heedful.core.errors import InputError, UsageError
from heedful.core.problems import Problem, Solution
from jsonl import read_rows

pytest.importorskip("math_verify", reason="the extra 'reasoning' is not installed")

ROW = {
    "idx": 0,
    "question": "What is twice six?",
    "gt": "12",
    "pred": "12",
    "reasoning": "Twice six is \\boxed{12}.",
    "model": "m",
    "previous_score": [True],
}
CHOICE = ROW | {
    "question": "Which is a metal?\nAnswer Choices: (A) tin (B) oak (C) ink",
    "gt": "A",
    "pred": "A",
    "reasoning": "Tin is one, so the answer is (A).",
    "choices": {"text": ["tin", "oak", "ink"], "label": ["1", "2", "3"]},
}


def written(path: Path, *rows: dict[str, Any] | str) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def read(path: Path) -> list[Attempt]:
    return list(read_problems(path))


def grade(problem: Problem, text: str | None, **options: Any) -> Grade:
    async def work() -> Grade:
        async with MathPool(1) as pool:
            return await Grader(pool, **options).grade(problem, Solution(text=text))

    return asyncio.run(work())


def run(*words: str | Path) -> int:
    return commands.run("bench", "realcritic", "grade", *words)


def test_the_benchmarks_are_told_apart_and_read(tmp_path: Path) -> None:
    rows: dict[str, dict[str, Any]] = {
        "gsm8k": {"question": "q", "answer": "3 * 4 = <<3*4=12>>12\n#### 1,200"},
        "math": {"problem": "q", "solution": r"so \boxed{\frac{1}{2}}.", "level": "Level 1"},
        "humaneval": {
            "task_id": "T/0",
            "prompt": "def f():\n",
            "test": "def check(c): pass",
            "entry_point": "f",
        },
        "truthfulqa": {
            "question": "q",
            "mc1_targets": {"choices": ["yes", "no"], "labels": [0, 1]},
        },
        "realcritic": CHOICE,
    }
    result = {name: read(written(tmp_path / name, row))[0].problem for name, row in rows.items()}
    assert {name: p.tags["benchmark"] for name, p in result.items() if p} == {n: n for n in rows}
    gsm8k, math, code, truthful, critic = (result[name] for name in rows)
    assert gsm8k is not None
    assert gsm8k.answers == ("1,200",)
    assert math is not None
    assert (math.answers, math.tags["level"]) == ((r"\frac{1}{2}",), "Level 1")
    assert code is not None
    assert (code.id, code.kind, code.entry_point) == ("T/0", "code", "f")
    assert truthful is not None
    assert (truthful.answers, truthful.choices) == (("B",), {"A": "yes", "B": "no"})
    assert critic is not None
    assert (critic.kind, list(critic.choices)) == ("choice", ["A", "B", "C"])


def test_original_truthfulqa_with_its_choices_as_keys(tmp_path: Path) -> None:
    row = {"question": "q", "mc1_targets": {"yes": 1, "no": 0}}
    (attempt,) = read(written(tmp_path / "t.jsonl", row))
    assert attempt.problem is not None
    assert attempt.problem.answers == ("A",)


@pytest.mark.parametrize(
    ("question", "choices"),
    [
        ("Which?\nAnswer Choices: (A) tin (B) oak (C) ink", {"A": "tin", "B": "oak", "C": "ink"}),
        ("Which?\nA. tin\nB. oak", {"A": "tin", "B": "oak"}),
        (r"Which? $\textbf{(A)}\ 1 \qquad \textbf{(B)}\ 2$", {"A": "", "B": ""}),
        ("Which of them is A?", {}),
    ],
)
def test_choices_may_stand_in_the_question_only(
    question: str, choices: dict[str, str], tmp_path: Path
) -> None:
    row = ROW | {"question": question, "gt": "A"}
    (attempt,) = read(written(tmp_path / "t.jsonl", row))
    assert attempt.problem is not None
    assert attempt.problem.choices == choices
    assert attempt.problem.kind == ("choice" if choices else "open")


def test_a_bad_row_says_why_and_costs_no_other(tmp_path: Path) -> None:
    bad: list[dict[str, Any] | str] = [
        {k: v for k, v in ROW.items() if k != "gt"},
        ROW | {"gt": 12},
        "{",
        "[1]",
    ]
    attempts = read(written(tmp_path / "t.jsonl", ROW, *bad, ROW))
    errors = [attempt.error or "" for attempt in attempts]
    assert errors[0] == errors[5] == ""
    for error, part in zip(errors[1:5], ("gt is missing", "a number", "JSON", "list"), strict=True):
        assert part in error


def test_files_of_no_benchmark_and_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'colour'"):
        read(written(tmp_path / "t.jsonl", {"colour": "green"}))
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "missing.jsonl")
    with pytest.raises(UsageError, match=r"telepathy.*gsm8k"):
        next(read_problems(tmp_path / "t.jsonl", "telepathy"))


@pytest.mark.slow
def test_a_dataset_is_read_as_the_hub_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("datasets", reason="the extra 'hub' is not installed")
    folder = tmp_path / "owner" / "name"
    folder.mkdir(parents=True)
    written(folder / "test.jsonl", {"question": "q", "answer": "#### 7"})
    monkeypatch.chdir(tmp_path)  # the library reads a folder of that name as it reads the hub
    (attempt,) = read_problems("hf:owner/name@test")
    assert attempt.problem is not None
    assert attempt.problem.answers == ("7",)


OPEN = Problem(id="1", question="q", kind="open", answers=("12",))
LETTERS = Problem(
    id="2", question="q", kind="choice", answers=("B",), choices={"A": "tin", "B": "5 years"}
)


def test_grades_say_what_was_found_and_how_it_was_compared() -> None:
    assert grade(OPEN, r"\boxed{12.0}") == Grade(
        correct=True, extracted="12.0", gold="12", compared="numeric"
    )
    assert grade(OPEN, r"\boxed{13}").correct is False
    assert grade(LETTERS, "The answer is (B).") == Grade(
        correct=True, extracted="B", gold="B", compared="letter"
    )
    assert grade(LETTERS, "The answer is (A).").correct is False


def test_what_has_no_answer_is_not_decided() -> None:
    for problem in (OPEN, LETTERS):
        for text in (None, " ", "I do not know.\nReally."):
            result = grade(problem, text)
            assert result.correct is None
            assert result.reason
    assert grade(OPEN.model_copy(update={"answers": ()}), "12").correct is None


@pytest.mark.slow
@pytest.mark.parametrize("box", [r"5 \text{ years}", "5"])
def test_a_choice_in_words_counts_unless_the_benchmark_wants_letters(box: str) -> None:
    text = rf"It takes \boxed{{{box}}} years."
    assert grade(LETTERS, text).correct is True
    strict = LETTERS.model_copy(update={"letters_only": True})
    assert grade(strict, text).correct is False
    assert grade(strict, text, accept_choice_text=True).correct is True


@pytest.mark.slow
def test_any_accepted_form_of_the_gold_is_enough() -> None:
    either = OPEN.model_copy(update={"answers": ("no solution", "-")})
    assert grade(either, r"\boxed{\emptyset}").correct is True


def test_code_without_a_sandbox_is_refused() -> None:
    code = Problem(id="c", question="def f():\n", kind="code", tests="", entry_point="f")
    with pytest.raises(UsageError, match="sandbox"):
        grade(code, "    return 1")


def test_the_command_writes_a_line_an_item_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = ROW | {"idx": 1, "reasoning": r"\boxed{13}", "previous_score": [True]}
    unclear = ROW | {"idx": 2, "reasoning": "Who knows."}
    path = written(tmp_path / "sums.jsonl", ROW, wrong, unclear)
    out = tmp_path / "graded.jsonl"
    assert run(path, written(tmp_path / "metals.jsonl", CHOICE), "-o", out) == 0
    graded = read_rows(out)
    assert [row["correct"] for row in graded] == [True, False, None, True]
    assert graded[0] == {
        "set": "sums",
        "id": "0",
        "line": 1,
        "correct": True,
        "extracted": "12",
        "gold": "12",
        "compared": "text",
        "label": True,
        "model": "m",
    }
    assert "no final answer" in graded[2]["reason"]
    shown = capsys.readouterr().out
    assert "1 undecided" in shown
    assert re.search(r"2 ?/ ?3", shown)


def test_bad_rows_are_named_and_the_exit_code_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "sums.jsonl", ROW, ROW | {"gt": 12})
    assert run(path) == 1
    assert "sums.jsonl:2: gt " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.jsonl"], "no such file"),
        (["sums.jsonl", "-o", "no/such/folder.jsonl"], "cannot be written"),
        (["sums.jsonl", "-o", "sums.jsonl"], "the output is the input"),
        (["sums.jsonl", "--timeout", "0"], "time-out"),
        (["sums.jsonl", "--workers", "0"], "at least 1"),
        (["other.jsonl"], "no row can be graded"),
    ],
)
def test_wrong_use_is_refused_in_one_line(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "sums.jsonl", ROW)
    written(tmp_path / "other.jsonl", {"colour": "green"})
    assert run(*words) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1


def test_realcritic_multiple_choice_as_labelled(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "graded.jsonl"
    path = data / "realcritic" / "arc-challenge.jsonl"
    assert run(path, "--from", "pred", "-o", out, "-q") == 0
    rows = read_rows(out)
    assert all(row["correct"] is row["label"] for row in rows)
    assert run(path, "-o", out, "-q") == 0
    rows = read_rows(out)
    decided = [row for row in rows if row["correct"] is not None]
    assert len(decided) >= 0.99 * len(rows)
    assert sum(row["correct"] is row["label"] for row in decided) >= 0.985 * len(decided)


@pytest.mark.slow
@pytest.mark.parametrize("reading", ["pred", "solution"])
def test_realcritic_word_problems_as_labelled(reading: str, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "graded.jsonl"
    path = data / "realcritic" / "gsm8k.jsonl"
    assert run(path, "--from", reading, "-o", out, "-q") == 0
    rows = read_rows(out)
    assert all(row["correct"] is row["label"] for row in rows)
