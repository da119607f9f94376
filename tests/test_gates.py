"""A comparison's first sentence, and the exit codes of least rates and of runs that got worse."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run as command
from compared import run, sample
from heedful import Check, Constraint, Message, Sample, compare, evaluate
from heedful.analysis.compare.tables import headlines, no_worse

pytestmark = pytest.mark.slow  # whole commands, with servers, files and processes


ASKED = (Message(role="user", content="Write."),)
NEW_OLD = ("new", "old")


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
    assert there.startswith("old is better than bad on responses fully met: +45.0")
    assert "p < 0.001" in there
    (nothing,) = headlines(compare(three["old"], three["alike"]))
    assert nothing.startswith("No difference is shown between old and alike")
    assert "+2.5 points" in nothing


def test_the_first_sentence_says_what_was_undecided(tmp_path: Path) -> None:
    first = run(tmp_path / "a", rows(30, undecided=4), "1")
    (said,) = headlines(compare(first, run(tmp_path / "b", rows(10), "2")))
    assert "90.0 % decided" in said


def test_a_rate_about_few_samples_does_not_stand_for_all(tmp_path: Path) -> None:
    checked = Constraint(text="No commas.", check=Check(id="punctuation:no_comma"))

    def mixed(name: str, passed: int) -> Path:
        plain = [sample(f"p{n}", "m" if n < passed else "u", name) for n in range(60)]
        few = [
            Sample(id=f"c{n}", checklist=(checked,), response=f"{name} {n}", conversation=ASKED)
            for n in range(10)
        ]
        evaluate([*plain, *few], run=tmp_path / name, judge="rules,recorded")
        return tmp_path / name

    comparison = compare(mixed("a", 20), mixed("b", 50))
    assert "ifeval" in comparison["pairs"][0]["metrics"]
    (said,) = headlines(comparison)
    assert said.startswith("b is better than a on responses fully met")
    (result,) = no_worse(comparison["pairs"][0], margin=0.02)
    assert result.verdict == "worse"


def test_a_check_is_of_its_own_pair_whatever_else_is_compared(tmp_path: Path) -> None:
    said = {"old": ["m"] * 80 + ["u"] * 20}
    said["new"] = ["m"] * 68 + ["u"] * 12 + ["m"] * 3 + ["u"] * 17
    said |= {f"alike{n}": ["m"] * (79 - n) + ["u"] * (21 + n) for n in range(2)}
    runs = {
        name: run(tmp_path / name, {f"s{n}": v for n, v in enumerate(verdicts)}, name)
        for name, verdicts in said.items()
    }
    alone = compare(runs["new"], runs["old"], baseline=runs["old"])
    several = compare(*runs.values(), baseline=runs["old"])
    (pair,) = [each for each in several["pairs"] if (each["first"], each["second"]) == NEW_OLD]
    measured = pair["metrics"]["cfbench"]["isr"]
    assert measured["p"] < 0.05 < measured["p_holm"]
    assert no_worse(pair, margin=0.02) == no_worse(alone["pairs"][0], margin=0.02)
    assert no_worse(pair, margin=0.02)[0].verdict == "worse"
    # What is printed beside the interval is its own p; the adjusted one is called so.
    first = next(each for each in headlines(several) if " old" in each and "new" in each)
    assert first.startswith("No difference is shown")
    assert "adjusted for 6 pairs" in first


def test_a_difference_of_exactly_the_margin_is_not_beyond_it() -> None:
    for points in range(1, 60):
        value = -sum([0.001] * points)
        for margin in (points / 1000, -value):
            measured = {
                "difference": {"value": value, "interval": [value, value + 0.001]},
                "p": 0.01,
                "coverage": 1,
                "bounds": [value, value],
            }
            measured["p_holm"] = measured["p"]
            pair = {"first": "new", "second": "old", "metrics": {"cfbench": {"isr": measured}}}
            assert no_worse(pair, margin=margin)[0].verdict == "shown"


def test_a_difference_that_lost_verdicts_may_explain_is_hedged(tmp_path: Path) -> None:
    unknown = {f"t{n}": "?m" for n in range(60)}
    first = {f"s{n}": "mm" for n in range(20)} | unknown
    second = {f"s{n}": "mu" for n in range(20)} | unknown
    (said,) = headlines(compare(run(tmp_path / "c", first, "c"), run(tmp_path / "d", second, "d")))
    assert said.startswith("Of what both decided, c is better than d")


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
        "p": p,
        "p_holm": 1.0,  # of many pairs, which a check of one has nothing to do with
        "coverage": coverage,
        "bounds": [value - 0.2, value + 0.2],
    }
    pair = {"first": "new", "second": "old", "metrics": {"cfbench": {"isr": measured}}}
    (result,) = no_worse(pair, margin=margin)
    if result.verdict == "worse":
        assert p < 0.05
        assert value < -margin
    if result.verdict == "shown":
        assert interval[0] >= -margin - 1e-9
        assert coverage == 1 or value - 0.2 >= -margin - 1e-9
    if result.verdict == "open":
        assert interval[0] < -margin
        assert coverage == 1 or value - 0.2 >= -margin - 1e-9
    # That it is worse by more than the margin is said if the interval shows it, not by a test of 0.
    if margin and f"new is more than {100 * margin:.1f} points worse" in result.said:
        assert interval[1] < -margin


def test_a_gate_holds_against_the_lower_end_of_what_is_undecided(tmp_path: Path) -> None:
    old = run(tmp_path / "old", {f"s{n}": "mm" for n in range(30)}, "old")
    part = {f"s{n}": "m?" if n < 25 else "mm" for n in range(30)}
    nothing = {f"s{n}": "??" for n in range(30)}
    for name, states in (("part", part), ("nothing", nothing)):
        new = run(tmp_path / name, states, name)
        (result,) = no_worse(compare(new, old)["pairs"][0], margin=0.02)
        assert result.verdict == "undecided"
        assert command("compare", new, "--no-worse-than", old, "--margin", "2", "--quiet") == 3


def test_a_run_that_got_worse_fails(
    three: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = ("--no-worse-than", three["old"], "--quiet")
    assert command("compare", three["bad"], *gate) == 3
    assert "bad is more than 0.0 " in capsys.readouterr().err
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
        (("--no-worse-than", "old", "--margin", "-1"), "0 to 100"),
        (("--no-worse-than", "old", "--baseline", "alike"), "leave one out"),
        (("--no-worse-than", "old", "--comment", "a.html"), "(name a .md file"),
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
        ("fully_met=0.7", 3, "60.00 to 80.00 % (1 of 5 undecided), which isn't surely at least 70"),
        ("fully_met=0.9", 3, "is 60.00 to 80.00 % (1 of 5 undecided), below 90.00 %"),
        ("isr=0.6", 0, ""),
        ("drfr=0.99", 3, "below 99.00 %"),
        ("cfbnch.isr=0.6", 2, "knows no rate 'cfbnch.isr'"),
        ("constraints_met=0.5, fully_met=0.5", 0, ""),
        ("ifeval.prompt_strict=0.5", 3, "the run has no such rate"),
        ("fully_met=80", 2, "fully_met=0.8"),
        ("all_met=0.8", 2, "constraints_met, fully_met"),
    ],
)
def test_a_rate_below_its_least_fails(
    judged: Path, gate: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--judge", "recorded", "--run", judged.parent / "run", "--fail-under", gate)
    assert command("evaluate", judged, *flags) == code
    assert said in capsys.readouterr().err
