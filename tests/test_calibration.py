"""Rates from few labels: PPI++, the plan, the draw, and what is refused."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run as command
from heedful import Constraint, Sample, evaluate
from heedful.analysis import calibration
from heedful.core.errors import InputError, UsageError
from heedful.core.nouns import Judgment, Status
from heedful.metrics.prediction_powered import (
    Stratum,
    powered_mean,
    small_sample,
)
from jsonl import read_rows, write_rows
from told import Told

SHARES = st.floats(0, 1, allow_nan=False).map(lambda share: round(share, 3))


def stratum(chance: random.Random, labelled: int, unlabelled: int, rate: float = 0.7) -> Stratum:
    """Draw units that a judge calls right nine times of ten."""

    def unit() -> tuple[float, float]:
        label = float(chance.random() < rate)
        return label, label if chance.random() < 0.9 else 1 - label

    pairs = [unit() for _ in range(labelled)]
    rest = [unit()[1] for _ in range(unlabelled)]
    return Stratum([y for y, _ in pairs], [f for _, f in pairs], rest)


# --- PPI++ --------------------------------------------------------------------------------------


def test_ppi_as_ppi_python_has_it() -> None:
    # ppi_mean_pointestimate and ppi_mean_ci of ppi-python 0.2.3, alpha 0.05.
    labels = [1, 0, 1, 1, 0, 1, 1, 1, 0, 1]
    verdicts = [1, 0, 1, 0, 0, 1, 1, 1, 1, 1]
    rest = [1] * 17 + [0] * 3
    powered = powered_mean([Stratum(labels, verdicts, rest)])
    assert powered["value"] == pytest.approx(0.7664583333333332, abs=1e-9)
    expected = [0.5137335994659765, 1.0191830672006899]
    assert powered["interval"] == pytest.approx(expected, abs=1e-9)


@given(
    st.lists(st.tuples(SHARES, SHARES), min_size=2, max_size=12),
    st.lists(SHARES, min_size=2, max_size=30),
)
def test_the_interval_of_a_share_is_one_of_shares(
    labelled: list[tuple[float, float]], rest: list[float]
) -> None:
    labels, verdicts = map(list, zip(*labelled, strict=True))
    strata = [Stratum(labels, verdicts, rest)]
    powered = small_sample(strata, powered_mean(strata))
    for value, (low, high) in (
        (powered["value"], powered["interval"]),
        (powered["classical"], powered["classical_interval"]),
    ):
        assert 0 <= low <= value + 1e-9
        assert value - 1e-9 <= high <= 1
        assert low < high


# --- runs ---------------------------------------------------------------------------------------

ROWS = 120


def truth(number: int) -> list[bool]:
    return [number % 3 != 0, number % 2 == 0]


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Make a run whose judge takes some of what is unmet for met."""
    rows = [
        Sample.model_validate(
            {
                "id": f"r{number}",
                "prompt": f"Do {number}.",
                "response": "So." * (number % 7 + 1),
                "checklist": (Constraint(text="a"), Constraint(text="b")),
                "tags": {"model": f"m{number % 2}", "kind": "xyz"[number % 3]},
                "recording": {
                    "prompt": "native",
                    "verdicts": [{"status": met or number % 5 == 0} for met in truth(number)],
                },
            }
        )
        for number in range(ROWS)
    ]
    evaluate(rows, judge="recorded", run=tmp_path / "run")
    return tmp_path / "run"


def label(file: Path, change: Callable[[list[dict[str, Any]]], object] = lambda _: None) -> Path:
    rows = read_rows(file)
    for row in rows:
        row["labels"] = truth(int(row["id"][1:]))
    change(rows)
    return write_rows(file, rows)


@pytest.mark.parametrize("by", [None, "kind"])
@pytest.mark.parametrize("rate", ["csr", "isr"])
def test_drawn_labelled_and_calibrated(judged: Path, by: str | None, rate: Any) -> None:
    file = judged.parent / "drawn.jsonl"
    drawn = calibration.draw(judged, file, labels=40, by=by, seed=3)
    assert drawn["drawn"] == 40
    rows = read_rows(file)
    assert all(row["labels"] == [None, None] and "recording" not in row for row in rows)
    result = calibration.calibrate(judged, label(file), rate=rate)
    right = [truth(number) for number in range(ROWS)]
    share = sum(map(all, right)) / ROWS if rate == "isr" else sum(map(sum, right)) / (2 * ROWS)
    low, high = result["interval"]
    assert low <= share <= high
    assert result["judged"] > share
    assert (result["labels"], result["units"]) == (40, ROWS)
    assert result["bias"]["error"]["value"] > 0
    assert set(result["bias"]["models"]) == {"m0", "m1"}
    assert set(result.get("kinds", ())) == (set("xyz") if by else set())


def test_what_does_not_apply_is_in_no_labelled_rate(judged: Path) -> None:
    file = judged.parent / "drawn.jsonl"
    calibration.draw(judged, file, labels=20)

    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows[1:]:
            row["labels"] = [True, "not_applicable"]
        rows[0]["labels"] = ["n/a", "n/a"]

    result = calibration.calibrate(judged, label(file, change))
    assert (result["labels"], result["units"]) == (19, ROWS - 1)
    assert result["classical"] == 1
    calibration.draw(judged, judged.parent / "more.jsonl", labels=25, labelled=file)
    kept = [json.loads(each) for each in (judged.parent / "more.jsonl").read_text().splitlines()]
    assert sum(row.get("label_levels") == [None, "not_applicable"] for row in kept) == 19


def graded(path: Path, verdicts: list[list[Any]], *weights: float) -> Path:
    """Make a run of rubrics with the statuses of its judge."""
    rows = [
        Sample.model_validate(
            {
                "id": f"r{number}",
                "prompt": f"Do {number}.",
                "response": "So.",
                "checklist": [{"text": f"c{w}", "weight": w} for w in weights],
                "judgments": [{"status": status} for status in said],
            }
        )
        for number, said in enumerate(verdicts)
    ]
    file = path / "rows.jsonl"
    file.write_text(
        "".join(json.dumps(row.model_dump(exclude_defaults=True)) + "\n" for row in rows)
    )
    evaluate(file, judge="recorded", run=path / "graded")
    return path / "graded"


def drawn_and_labelled(run: Path, labels: int, said: Callable[[int], list[bool]]) -> Path:
    file = run.parent / "labels.jsonl"
    calibration.draw(run, file, labels=labels)
    return label(file, lambda rows: [row.update(labels=said(int(row["id"][1:]))) for row in rows])


def test_mistakes_are_estimated_as_a_weighted_score(tmp_path: Path) -> None:
    run = graded(tmp_path, [["met", "met" if n % 2 else "unmet"] for n in range(60)], 5, -5)
    file = drawn_and_labelled(run, 20, lambda number: [True, bool(number % 2)])
    with pytest.raises(UsageError, match="negative points"):
        calibration.calibrate(run, file)
    result = calibration.calibrate(run, file, rate="score")
    assert result["value"] == pytest.approx(0.5, abs=0.03)  # 1 without the mistake, else 0
    assert result["judged"] == pytest.approx(0.5)


@pytest.mark.parametrize("field", ["response", "checklist"])
def test_labels_of_another_text_are_refused(judged: Path, field: str) -> None:
    file = judged.parent / "drawn.jsonl"
    calibration.draw(judged, file, labels=20)
    others = {"response": "edited", "checklist": [{"text": "a"}, {"text": "another"}]}
    label(file, lambda rows: rows[3].update({field: others[field]}))
    with pytest.raises(InputError, match="another response or checklist"):
        calibration.calibrate(judged, file)


def test_a_larger_draw_holds_the_smaller_one_and_its_labels(judged: Path) -> None:
    first, second = judged.parent / "1.jsonl", judged.parent / "2.jsonl"
    for by in (None, "kind"):
        calibration.draw(judged, first, labels=20, by=by)
        known = {
            row["id"]: row["labels"]
            for row in map(json.loads, label(first).read_text().splitlines())
        }
        calibration.draw(judged, second, labels=50, by=by, labelled=first)
        rows = {
            row["id"]: row["labels"] for row in map(json.loads, second.read_text().splitlines())
        }
        assert known.items() <= rows.items()
        assert sum(None in labels for labels in rows.values()) == 30
        first.unlink()
        second.unlink()


@pytest.mark.parametrize("first", [[None, True], [False, False]])
def test_a_draw_never_wipes_labels(judged: Path, first: list[bool | None]) -> None:
    file = judged.parent / "drawn.jsonl"
    calibration.draw(judged, file, labels=20)
    calibration.draw(judged, file, labels=30)  # nothing is filled in yet
    label(
        file,
        lambda rows: [
            row.update(labels=first if row is rows[-1] else [None, None]) for row in rows
        ],
    )
    content = file.read_text()
    with pytest.raises(UsageError, match="labels"):
        calibration.draw(judged, file, labels=30)
    assert file.read_text() == content


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda rows: [row.pop("draw") for row in rows], "drawn at random"),
        (lambda rows: rows.pop(), "1 of them are missing"),
        (lambda rows: rows[0].update(id="r999"), "1 others are there (such as 'r999')"),
        (lambda rows: rows.append(rows[0]), "stands in line 1, too"),
        (lambda rows: rows[0].update(labels=[None, True]), "isn't labelled"),
        (lambda rows: rows[0]["draw"].update(seed=9), "drawn at random"),
        (lambda rows: [row["draw"].update(seed=9) for row in rows], "not the rows that were drawn"),
        (lambda rows: [row["draw"].update(labels="x") for row in rows], "does not fit the run"),
    ],
)
def test_labels_that_were_not_drawn_at_random_are_refused(
    judged: Path, change: Any, problem: str
) -> None:
    file = judged.parent / "drawn.jsonl"
    calibration.draw(judged, file, labels=20)
    with pytest.raises(InputError) as refused:
        calibration.calibrate(judged, label(file, change))
    assert problem in str(refused.value)


def test_the_command_line(judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = judged.parent / "drawn.jsonl"
    assert command("calibrate", judged, "--plan", 0.15) == 0
    assert "label 43 rows of 120" in capsys.readouterr().out
    assert command("calibrate", judged, "--draw", 40, "-o", file) == 0
    assert command("calibrate", judged, "--labels", file) == 2
    label(file)
    assert command("calibrate", judged, "--labels", file, "-o", judged.parent / "out.json") == 0
    assert json.loads((judged.parent / "out.json").read_text())["labels"] == 40
    for flags in ((), ("--draw", 9), ("--by", "kind", "--labels", file), ("--plan", 0)):
        assert command("calibrate", judged, *flags) == 2


def test_doubtful_rows_are_drawn_three_times_as_often_and_weighted_back(tmp_path: Path) -> None:
    """A judge that errs where its votes differ: the rate stays right, and is known better."""
    chance = random.Random(3)
    truth = {str(n): chance.random() < 0.6 for n in range(400)}
    doubtful = {name for name in truth if chance.random() < 0.25}
    wrong = {name for name in doubtful if chance.random() < 0.5}

    def verdict(sample: Sample, _: int) -> Judgment:
        met = truth[sample.id] != (sample.id in wrong)
        status = Status.MET if met else Status.UNMET
        return Judgment(status=status, confidence=0.6 if sample.id in doubtful else 1.0)

    samples = [
        Sample(id=name, prompt=f"Do {name}.", checklist=(Constraint(text="a"),), response="So.")
        for name in truth
    ]
    run = tmp_path / "run"
    evaluate(samples, judge=Told(verdict), run=run)
    files = {}
    for by in (None, "doubt"):
        file = tmp_path / f"{by}.jsonl"
        calibration.draw(run, file, labels=100, by=by)
        rows = read_rows(file)
        write_rows(file, [{**row, "labels": [truth[row["id"]]]} for row in rows])
        files[by] = file
    drawn = {row["id"] for row in read_rows(files["doubt"])}
    assert len(drawn & doubtful) / len(drawn) == pytest.approx(0.5, abs=0.06)  # 3 × 25 of 150 %
    plain, aimed = (calibration.calibrate(run, files[by]) for by in (None, "doubt"))
    width = [each["interval"][1] - each["interval"][0] for each in (plain, aimed)]
    assert width[1] < 0.85 * width[0]
    rate = sum(truth.values()) / len(truth)
    assert aimed["interval"][0] < rate < aimed["interval"][1]


def test_votes_are_needed_to_draw_by_doubt(tmp_path: Path) -> None:
    rows = [
        Sample(id=str(n), checklist=(Constraint(text="No commas."),), response="So.")
        for n in range(9)
    ]
    evaluate(rows, run=tmp_path / "run")
    with pytest.raises(UsageError, match="no votes differ"):
        calibration.draw(tmp_path / "run", tmp_path / "d.jsonl", labels=4, by="doubt")
