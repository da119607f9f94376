"""Building RealCritic's data from a pool of models: the paper's rules, on scripted models."""

import json
import re
from collections.abc import Sequence
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
from heedful.core.errors import InputError, UsageError
from heedful.core.nouns import Message
from heedful.models import Completion, ScriptedModel
from jsonl import write_rows

pytest.importorskip("math_verify", reason="the extra 'reasoning' is not installed")

MODELS = ("strong", "middle", "weak")


class Named(ScriptedModel):
    """A scripted model with a name of its own."""

    def __init__(self, name: str, reply: Any) -> None:
        super().__init__(reply)
        self.name = name


def candidate(model: str, *, correct: bool | None, cut: bool = False) -> CandidateSolution:
    answer = GradedAnswer(text=f"by {model}", cut_off=cut, grade=SolutionVerdict(correct=correct))
    return CandidateSolution(model, answer)


def row(grades: str) -> list[CandidateSolution]:
    """What the models answered: + correct, - wrong, ? unknown."""
    known = {"+": True, "-": False, "?": None}
    pairs = zip(MODELS, grades, strict=True)
    return [candidate(model, correct=known[grade]) for model, grade in pairs]


def test_wrong_ones_come_from_the_strong_and_correct_ones_from_the_weak() -> None:
    questions = {
        "easy": row("+++"),
        "hard": row("---"),
        "fair": row("++-"),
        "odd": row("???"),
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
    questions = {str(number): row(own) for number, own in enumerate(grades)}
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
    models = [Named("small", solver(4)), Named("large", solver(9))]
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
    again = [Named("small", solver(4)), Named("large", solver(9))]
    assert (
        build_realcritic(Pool([str(path)], again), tmp_path / "out", run=tmp_path / "run")
        == manifest
    )
    assert not any(model.calls for model in again)


def test_what_cannot_be_built_is_refused(tmp_path: Path) -> None:
    models = [Named("a", "x"), Named("b", "x")]
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
