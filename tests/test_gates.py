"""A comparison's first sentence, and the exit codes of least rates and of runs that got worse."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run as command
from compared import run, sample
from heedful import compare
from heedful.analysis.compare.headline import headlines, no_worse

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow  # whole commands, with servers, files and processes


def rows(passed: int, of: int = 40, undecided: int = 0) -> dict[str, str]:
    """Samples of two constraints: so many pass, so many of the others fail, the rest is open."""
    said = ["mm"] * passed + ["mu"] * (of - passed - undecided) + ["m?"] * undecided
    return {f"s{number}": verdicts for number, verdicts in enumerate(said)}


@pytest.fixture
def three(tmp_path: Path) -> dict[str, Path]:
    return {
        name: run(tmp_path / name, rows(passed), name)
        for name, passed in {"old": 30, "alike": 29, "bad": 12}.items()
    }


def test_the_first_sentence_names_the_better_run_whichever_comes_first(
    three: dict[str, Path],
) -> None:
    (there,) = headlines(compare(three["bad"], three["old"]))
    (back,) = headlines(compare(three["old"], three["bad"]))
    assert there == back
    assert there.startswith("old is better than bad on responses fully met (CFBench ISR): +45.0")
    assert "p < 0.001" in there
    (nothing,) = headlines(compare(three["old"], three["alike"]))
    assert nothing.startswith("No difference is shown between old and alike")
    assert "+2.5 points" in nothing


def test_the_first_sentence_says_what_was_undecided(tmp_path: Path) -> None:
    first = run(tmp_path / "a", rows(30, undecided=4), "1")
    (said,) = headlines(compare(first, run(tmp_path / "b", rows(10), "2")))
    assert "90.0 % decided on both sides, bounds" in said


def test_of_three_runs_each_is_put_beside_the_baseline(three: dict[str, Path]) -> None:
    said = headlines(compare(*three.values(), baseline=three["old"]))
    assert [sentence.split(" on ")[0] for sentence in said] == [
        "No difference is shown between alike and old",
        "old is better than bad",
    ]


@given(
    st.floats(-0.3, 0.3),
    st.floats(0, 0.4),
    st.floats(0, 0.1),
    st.floats(0, 1),
    st.sampled_from([0.8, 1.0]),
)
def test_a_gate_never_says_worse_without_a_test_nor_no_worse_beside_its_interval(
    value: float, half: float, margin: float, p: float, coverage: float
) -> None:
    interval = [value - half, value + half]
    measured: dict[str, Any] = {
        "difference": {"value": value, "interval": interval},
        "p_holm": p,
        "coverage": coverage,
        "bounds": [value - 0.2, value + 0.2],
    }
    pair = {"first": "new", "second": "old", "metrics": {"cfbench": {"isr": measured}}}
    (result,) = no_worse(pair, margin=margin)
    if result.verdict == "worse":
        assert p < 0.05
        assert value < -margin
    if result.verdict == "shown":
        assert interval[0] >= -margin
        assert ("undecided" in result.said) == (coverage < 1 and value - 0.2 < -margin)
    if result.verdict == "open":
        assert interval[0] < -margin


def test_a_run_that_got_worse_fails(
    three: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = ("--no-worse-than", three["old"], "--quiet")
    assert command("compare", three["bad"], *gate) == 3
    assert "bad is more than 0.0 points worse" in capsys.readouterr().err
    assert command("compare", three["bad"], *gate, "--margin", "60") == 0
    comment = tmp_path / "comment.md"
    assert command("compare", three["alike"], *gate, "--margin", "2", "--comment", comment) == 0
    assert "is open" in capsys.readouterr().err
    assert command("compare", three["alike"], *gate, "--margin", "2", "--require-shown") == 3
    assert command("compare", three["alike"], *gate, "--margin", "30", "--require-shown") == 0
    assert command("compare", three["alike"], three["bad"], *gate) == 3
    both = (three["bad"], three["old"], "--no-worse-than", f"{three['old']}/", "--quiet")
    assert command("compare", *both) == 3
    text = comment.read_text("utf-8")
    assert text.index("is open") < text.index("No difference is shown") < text.index("| metric")
    assert "Verdicts that differ" not in text


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--margin", "2"), "--no-worse-than RUN"),
        (("--require-shown",), "--no-worse-than RUN"),
        (("--no-worse-than", "old", "--margin", "-1"), "0 to 100"),
        (("--no-worse-than", "old", "--margin", "nan"), "0 to 100"),
        (("--no-worse-than", "old", "--baseline", "alike"), "leave one out"),
        (("--no-worse-than", "old", "--comment", "a.html"), "name a"),
    ],
)
def test_gates_that_make_no_sense(
    three: dict[str, Path], flags: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given_flags = [str(three[flag]) if flag in three else flag for flag in flags]
    assert command("compare", three["alike"], three["bad"], *given_flags) == 2
    assert said in capsys.readouterr().err


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Four responses fully met of five, and one of them open."""
    path = tmp_path / "rows.jsonl"
    said = ["mm", "mm", "mm", "m?", "uu"]
    lines = [sample(f"s{n}", verdicts).model_dump_json() for n, verdicts in enumerate(said)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("gate", "code", "said"),
    [
        ("fully_met=0.7", 0, ""),
        ("fully_met=0.9", 3, "is 75.56 %, below 90.00 % (coverage 80.0 %, bounds 60.0 to 80.0)"),
        ("constraints_met=0.5, fully_met=0.5", 0, ""),
        ("infobench.drfr=0.99", 3, "below 99.00 %"),
        ("ifeval.prompt_strict=0.5", 3, "the run has no such rate"),
        ("fully_met=80", 2, "fully_met=0.8"),
        ("fully_met", 2, "share from 0 to 1"),
        ("fully_met=nan", 2, "share from 0 to 1"),
        ("all_met=0.8", 2, "constraints_met, fully_met"),
    ],
)
def test_a_rate_below_its_least_fails(
    judged: Path, gate: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--judge", "recorded", "--run", judged.parent / "run", "--fail-under", gate)
    assert command("evaluate", judged, *flags) == code
    assert said in capsys.readouterr().err


def test_a_run_of_which_nothing_was_decided_reaches_no_rate(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    row = {"id": "1", "prompt": "Say.", "response": "x", "checklist": ["Is it nice?"]}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    flags = ("--judge", "rules", "--run", tmp_path / "run", "--fail-under", "fully_met=0")
    assert command("evaluate", path, *flags) == 3
