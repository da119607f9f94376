"""A critic that repeats the given answer neither gains nor loses, however the data is labelled."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

from heedful.bench.grading.problems import read_problems
from heedful.bench.realcritic.critic import RealCriticItem
from heedful.bench.realcritic.metrics import (
    Labels,
    adjudication_of,
    adjudications,
    digest_of,
    numbers,
)
from heedful.bench.realcritic.run import RealCriticPlan, run_realcritic
from heedful.core.nouns import Message, Scoring
from heedful.models import ScriptedModel

pytest.importorskip("math_verify", reason="the extra 'reasoning' is not installed")

SCORINGS: tuple[Scoring, ...] = get_args(Scoring)
LABELS: tuple[Labels, ...] = get_args(Labels)
MOVES = ("incorrect_to_correct", "correct_to_incorrect")


def critique(correction: str) -> str:
    return (
        "## Critique\n### Step 1\nSeen.\n## Conclusion\nThe solution is Correct.\n"
        f"First wrong step: -1\n## Correction\n{correction}"
    )


class Echo(ScriptedModel):
    """Finds no fault, and repeats the solution, or only the answer that the file has for it."""

    def __init__(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        super().__init__(self.said)
        self.name = name
        self.rows = rows

    def said(self, messages: Sequence[Message], _: int) -> str:
        asked = messages[0].content
        checking = "You are checking" in asked
        row = next(
            row
            for row in self.rows
            if row["question"] in asked and (not checking or row["reasoning"] in asked)
        )
        if not checking:  # its own answer is the file's
            return str(row["reasoning"])
        answer = f"So \\boxed{{{row['pred']}}}."
        return critique(str(row["reasoning"]) if self.name == "text" else answer)


Views = dict[tuple[Scoring, Labels], dict[str, Any]]


def echoed(files: Sequence[Path], run: Path, **options: Any) -> Views:
    rows = [
        json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()
    ]
    critics = [Echo("text", rows), Echo("pred", rows)]
    results = run_realcritic(RealCriticPlan(files=list(files), critics=critics, **options), run=run)
    return {
        (scoring, labels): numbers(results, scoring, labels=labels)["critics"]
        for scoring in SCORINGS
        for labels in LABELS
    }


def assert_nothing_gained(critics: dict[str, Any], paradigm: str) -> None:
    for name, found in critics.items():
        for number in found[paradigm]:
            assert number["delta"]["value"] == 0.0, name
            assert set(number["delta"]["sets"].values()) == {0.0}
            for step in (number["transitions"], number["step"]):
                assert [step[move]["count"] for move in MOVES] == [0, 0], name


@pytest.mark.slow
def test_an_echo_of_the_shared_sets_gains_nothing(data: Path, tmp_path: Path) -> None:
    files, labels_of_rows = [], []
    for shared in sorted((data / "realcritic").glob("*.jsonl")):
        some = shared.read_text(encoding="utf-8").splitlines()[::6]  # a grade takes a while
        labels_of_rows += [json.loads(line)["previous_score"][0] for line in some]
        files.append(tmp_path / shared.name)
        files[-1].write_text("\n".join(some) + "\n", encoding="utf-8")
    result = echoed(files, tmp_path / "run", modes=["cross"])
    for critics in result.values():
        assert_nothing_gained(critics, "cross")
    for name in ("text", "pred"):
        faithful = result["faithful", "shipped"][name]
        # The baseline is still the published one: the labels.
        assert faithful["baseline"]["accuracy"]["numerator"] == sum(labels_of_rows)
        assert faithful["cross"][0]["accuracy"]["numerator"] == sum(labels_of_rows)
        assert faithful["cross"][0]["delta"]["n"] == len(labels_of_rows)
    for labels in LABELS:
        strict = result["strict", labels]["text"]
        assert strict["cross"][0]["accuracy"]["value"] == pytest.approx(
            strict["baseline"]["accuracy"]["value"]
        )


ANSWERS = ("7", "\\frac{1}{2}", "0.5", "7 \\text{ and } 8", "[", "3, 4", "x = 7", "a fog")


def generated(seed: int) -> list[dict[str, Any]]:
    """Items whose labels and ``pred`` are right, wrong, mangled or missing."""
    draw = random.Random(seed)
    rows = []
    for number in range(40):
        answer = draw.choice(ANSWERS)
        text = draw.choice([f"Hence \\boxed{{{answer}}}.", f"I think it is {answer}", "I give up."])
        rows.append(
            {
                "idx": number,
                "question": f"Question {number}: how many?",
                "gt": draw.choice(ANSWERS),
                "pred": draw.choice([answer, answer.replace("x", ""), draw.choice(ANSWERS)]),
                "reasoning": text,
                "model": "weak",
                "previous_score": [draw.random() < 0.5],
            }
        )
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_an_echo_of_any_data_gains_nothing(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "made.jsonl"
    lines = [json.dumps(row) + "\n" for row in generated(seed)]
    path.write_text("".join(lines), encoding="utf-8")
    result = echoed([path], tmp_path / "run", rounds=2)
    for critics in result.values():
        assert_nothing_gained(critics, "cross")
        assert_nothing_gained({"text": critics["text"]}, "self")


def test_adjudicated_labels_are_of_the_published_items(data: Path) -> None:
    known = dict(adjudications())
    changed = [v.correct for v in known.values() if v.correct != v.shipped]
    assert (changed.count(True), changed.count(False)) == (82, 6)
    assert all(verdict.reason for verdict in known.values())
    for path in sorted((data / "realcritic").glob("*.jsonl")):
        for attempt in read_problems(path):
            assert attempt.problem is not None
            assert attempt.solution is not None
            item = RealCriticItem(set=path.stem, problem=attempt.problem, solution=attempt.solution)
            verdict = adjudication_of(item)
            if verdict is not None:
                assert verdict.shipped == attempt.solution.label
                assert known.pop(digest_of(item)) == verdict
    assert not known
