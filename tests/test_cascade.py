"""Cascades replayed from saved runs."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from heedful import evaluate
from heedful.analysis.cascade import document, replay
from heedful.core.errors import InputError, UsageError
from heedful.core.nouns import Constraint, Judgment, Sample, Status
from told import Told

ROWS = 300
Said = tuple[bool | None, float | None]


def judge(say: Callable[[int], Said]) -> Told:
    """A judge that says what it is told of each row, by its number."""

    def judgment(sample: Sample, _: int) -> Judgment:
        met, confidence = say(int(sample.id))
        status = Status.UNPARSED if met is None else Status.MET if met else Status.UNMET
        return Judgment(status=status, confidence=confidence, judge="told")

    return Told(judgment)


def truth(number: int) -> bool:
    return number % 3 != 0


def runs(path: Path, small: Callable[[int], Said], *, labelled: bool = True) -> tuple[Path, Path]:
    """Run a small judge, and a large one that is right but for every 50th row."""
    samples = [
        Sample(
            id=str(number),
            prompt=f"Do {number}.",
            checklist=(Constraint(text="a"),),
            response="So.",
            labels=(truth(number),) if labelled else None,
        )
        for number in range(ROWS)
    ]
    evaluate(samples, judge=judge(small), run=path / "small")
    wrong = lambda number: (truth(number) != (number % 50 == 0), None)  # noqa: E731
    evaluate(samples, judge=judge(wrong), run=path / "large")
    return path / "small", path / "large"


def by_confidence(number: int) -> Said:
    """Be right where sure (three of four rows), and guess where not."""
    sure = number % 4 != 0
    guess = random.Random(number).random() < 0.5
    return (truth(number) if sure else guess), 0.9 if sure else 0.6


def test_the_threshold_parts_what_is_known_from_what_is_guessed(tmp_path: Path) -> None:
    result = replay(*runs(tmp_path, by_confidence), margin=0.02)
    assert result["truth"] == "labels"
    points = {point["threshold"]: point for point in result["points"]}
    assert set(points) == {0.0, 0.9, None}
    assert points[0.9]["goes_on"] == pytest.approx(0.25)
    assert points[0.0]["accuracy"]["value"] < points[0.9]["accuracy"]["value"]
    assert points[None]["saving"] == 0
    chosen = result["chosen"]
    assert chosen["threshold"] == 0.9
    assert chosen["saving"] == pytest.approx(0.75, abs=0.1)
    assert chosen["rows"] < ROWS
    low, high = chosen["difference"]["interval"]
    assert low <= chosen["difference"]["value"] <= high


def test_every_point_by_counting(tmp_path: Path) -> None:
    small, large = runs(tmp_path, by_confidence)
    for point in replay(small, large)["points"]:
        threshold = 2 if point["threshold"] is None else point["threshold"]
        right = 0
        for number in range(ROWS):
            met, confidence = by_confidence(number)
            if confidence is None or confidence < threshold:
                met = truth(number) != (number % 50 == 0)
            right += met == truth(number)
        assert point["accuracy"]["value"] == pytest.approx(right / ROWS)


def test_rows_that_differ_are_left_out_and_counted(tmp_path: Path) -> None:
    small, _ = runs(tmp_path, by_confidence)
    rows = [
        Sample(
            id=str(number),
            prompt=f"Do {number}." if number < 40 else "Another.",
            checklist=(Constraint(text="a"),),
            response="So.",
            labels=(truth(number),),
        )
        for number in range(50)
    ]
    evaluate(rows, judge=judge(lambda number: (truth(number), None)), run=tmp_path / "fifty")
    result = replay(small, tmp_path / "fifty")
    assert (result["rows"], result["left_out"]) == (40, ROWS - 40)
    assert f"Left out: {ROWS - 40} rows" in document(result).markdown()


def test_a_judge_that_guesses_is_never_trusted(tmp_path: Path) -> None:
    result = replay(*runs(tmp_path, lambda number: (random.Random(number).random() < 0.5, 0.7)))
    assert result["chosen"]["threshold"] is None
    assert result["chosen"]["saving"] == 0


def test_without_labels_the_large_judge_or_a_run_is_the_truth(tmp_path: Path) -> None:
    small, large = runs(tmp_path, lambda number: (truth(number), None), labelled=False)
    result = replay(small, large)
    assert result["truth"] == str(large)
    assert result["points"][-1]["accuracy"]["value"] == 1
    assert replay(small, large, truth=small)["points"][0]["accuracy"]["value"] == 1


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    small, large = runs(tmp_path, by_confidence)
    with pytest.raises(UsageError):
        replay(small, large, margin=2)
    other = Sample(id="x", prompt="Q", checklist=(Constraint(text="a"),), response="So.")
    evaluate([other], judge="rules", run=tmp_path / "other")
    with pytest.raises(InputError, match="in both runs"):
        replay(small, tmp_path / "other")


@pytest.mark.slow
def test_code_before_gpt4o_on_sysbench(data: Path, tmp_path: Path) -> None:
    file = data / "sysbench" / "gpt35.jsonl"
    for judge in ("rules,compiled", "recorded"):
        evaluate(file, judge=judge, run=tmp_path / judge, limit=500)
    result = replay(tmp_path / "rules,compiled", tmp_path / "recorded", margin=0.02)
    chosen = result["chosen"]
    assert chosen["threshold"] == 0
    # What code decides, and so both numbers, changes a little with what the compiler reads.
    assert chosen["saving"] == pytest.approx(0.09, abs=0.01)
    assert chosen["difference"]["value"] == pytest.approx(-0.0018, abs=0.003)
