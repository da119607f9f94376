"""Every metric of a summary compared: by hand, by properties, and against scipy."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compared import only_pair, run, sample, value
from heedful import (
    Check,
    Constraint,
    Message,
    Recording,
    Sample,
    UsageError,
    compare,
    evaluate,
)
from heedful.analysis.compare.tables import document, summary
from heedful.metrics.agreement import mcnemar
from heedful.reporting.notation import interval, p_value, percent, signed


def tasks(verdicts: Mapping[str, Sequence[str]], response: str) -> list[Sample]:
    """Rows of AdvancedIF by task."""
    return [
        sample(
            f"{task}{n}",
            letters,
            response,
            tags={"benchmark": "advancedif", "task": task, "n_id": n},
        )
        for task, rows in verdicts.items()
        for n, letters in enumerate(rows)
    ]


NO_COMMA = Constraint(text="No commas.", check=Check(id="punctuation:no_comma"))
ANSWERS = {"+": "One two.", "-": "One, two.", "~": "One, two.\nThree.\nFour."}
"""Met; unmet; unmet, but met by the loose reading, which leaves out the first line."""


def conversations(answers: Mapping[str, str]) -> list[Sample]:
    """Conversations of Multi-IF, named by language and number, an answer for each turn."""
    return [
        Sample(
            id=f"{name}-{turn}",
            conversation=(Message(role="user", content=f"{name}, {turn}."),),
            checklist=(NO_COMMA,),
            response=ANSWERS[letter],
            tags={
                "benchmark": "multiif",
                "conversation_id": name,
                "turn": turn,
                "language": name.split()[0],
            },
        )
        for name, letters in answers.items()
        for turn, letter in enumerate(letters, 1)
        if letter != " "
    ]


def by_rules(folder: Path, rows: Sequence[Sample]) -> Path:
    evaluate(rows, judge="rules", run=folder)
    return folder


def test_the_mean_over_tasks_by_hand(tmp_path: Path) -> None:
    ours = {"a": ["m", "m", "mu", "m"], "b": ["m", "?"]}
    theirs = {"a": ["m", "u", "mm", "u"], "b": ["u", "m"]}
    first = run(tmp_path / "a", tasks(ours, "1"))
    second = run(tmp_path / "b", tasks(theirs, "2"))
    pair = only_pair(first, second)
    # Task a: 3/4 against 2/4; task b: 1/1 against 0/1, its other row being undecided.
    assert value(pair, "advancedif.macro_overall", "first") == pytest.approx((3 / 4 + 1) / 2)
    assert value(pair, "advancedif.macro_overall", "second") == pytest.approx((1 / 2 + 0) / 2)
    macro = pair["metrics"]["advancedif"]["macro_overall"]
    assert (macro["compared"], macro["coverage"]) == (5, (1 + 1 / 2) / 2)
    assert value(pair, "advancedif.overall") == pytest.approx(4 / 5 - 2 / 5)
    # The first judge's result on the last row was of no use; that the second's was is kept.
    assert value(pair, "advancedif.success", "first") == pytest.approx(5 / 6)
    assert value(pair, "advancedif.success", "second") == 1


def test_multi_if_by_hand(tmp_path: Path) -> None:
    ours = {"Hindi 1": "+-", "Hindi 2": "+~", "French 1": "-+"}
    theirs = {"Hindi 1": "--", "Hindi 2": "++", "French 1": "++"}
    first = by_rules(tmp_path / "a", conversations(ours))
    second = by_rules(tmp_path / "b", conversations(theirs))
    pair = only_pair(first, second)
    # Hindi 2/4 and French 1/2 against 2/4 and 2/2.
    assert value(pair, "ifeval.prompt_strict") == pytest.approx(3 / 6 - 4 / 6)
    by = pair["by"]
    assert by["turn"]["2"]["ifeval"]["prompt_loose"]["difference"]["value"] == pytest.approx(0)
    hindi = by["language"]["Hindi"]["ifeval"]["prompt_strict"]
    assert (hindi["first"]["value"], hindi["second"]["value"]) == (1 / 2, 1 / 2)


def test_agreement_with_labels_is_compared_on_the_same_responses(tmp_path: Path) -> None:
    rows = [
        Sample(
            id=f"x{n}",
            conversation=(Message(role="user", content=f"Do {n}."),),
            checklist=(NO_COMMA,),
            response=ANSWERS[answer],
            recording=sample("x", letter).recording,
            labels=(label,),
        )
        for n, (answer, letter, label) in enumerate(
            [("+", "u", True), ("+", "m", True), ("-", "m", True), ("-", "u", None)]
        )
    ]
    evaluate(rows, judge="rules", run=tmp_path / "rules")
    evaluate(rows, judge="recorded", run=tmp_path / "file")
    agreement = only_pair(tmp_path / "rules", tmp_path / "file")["metrics"]["labels"]["agreement"]
    assert (agreement["first"]["value"], agreement["second"]["value"]) == (2 / 3, 2 / 3)
    others = [row.model_copy(update={"response": "Three."}) for row in rows]
    evaluate(others, judge="rules", run=tmp_path / "others")
    assert "labels" not in only_pair(tmp_path / "rules", tmp_path / "others")["metrics"]


@pytest.mark.parametrize("kind", ["tasks", "conversations", "plain"])
def test_every_metric_of_a_summary_is_compared(kind: str, tmp_path: Path) -> None:
    runs = {
        "tasks": lambda: run(tmp_path / "a", tasks({"a": ["m", "mu"], "b": ["u", "m"]}, "1")),
        "conversations": lambda: by_rules(
            tmp_path / "a", conversations({"Hindi 1": "+-~", "Hindi 2": "+~+", "French 1": "-++"})
        ),
        "plain": lambda: run(tmp_path / "a", {"x1": "mm", "x2": "mu"}),
    }
    only = runs[kind]()
    summary = json.loads((only / "summary.json").read_text(encoding="utf-8"))
    compared = {f: rates for f, rates in summary["metrics"].items() if f != "multiif"}
    pair = only_pair(only, only)
    assert {f: set(rates) for f, rates in pair["metrics"].items()} == {
        f: set(rates) for f, rates in compared.items()
    }
    for family, rates in compared.items():
        for name, measured in rates.items():
            assert value(pair, f"{family}.{name}", "first") == pytest.approx(measured["value"])
            assert value(pair, f"{family}.{name}") == 0
            result = pair["metrics"][family][name]
            low, high = result["difference"]["interval"] or (0, 0)
            assert low == pytest.approx(-high)
            assert result["p"] == 1
    for dimension, groups in pair["by"].items():
        for group, families in groups.items():
            for family, rates in families.items():
                for name, measured in rates.items():
                    known = summary["by"][dimension][group]
                    known = known if dimension == "type" else known[family][name]
                    assert measured["second"]["value"] == pytest.approx(known["value"])


def test_of_samples_that_pass_or_fail_the_randomization_is_mcnemar(tmp_path: Path) -> None:
    first = run(tmp_path / "a", {f"x{n}": "m" if n < 9 else "u" for n in range(12)}, "1")
    second = run(tmp_path / "b", {f"x{n}": "m" if n > 6 else "u" for n in range(12)}, "2")
    pair = only_pair(first, second)
    assert pair["metrics"]["cfbench"]["isr"]["p"] == pair["mcnemar"]["samples"]["p"]
    assert pair["mcnemar"]["samples"]["p"] == mcnemar(7, 3)


def test_p_values_of_a_breakdown_are_adjusted_for_its_groups(tmp_path: Path) -> None:
    # Of eight pairs each, task a differs in all, b in seven, c in none.
    ours = {f"{task}{n}": "m" for task in "abc" for n in range(8)}
    theirs = {key: "m" if key[0] == "c" or key == "b0" else "u" for key in ours}
    runs = run(tmp_path / "a", ours, "1"), run(tmp_path / "b", theirs, "2")
    groups = only_pair(*runs)["by"]["task"]
    result = {group: rates["cfbench"]["isr"] for group, rates in groups.items()}
    assert [result[group]["p"] for group in "abc"] == pytest.approx([2 / 2**8, 2 / 2**7, 1])
    adjusted = [result[group]["p_holm"] for group in "abc"]
    assert adjusted == pytest.approx([3 * 2 / 2**8, 2 * 2 / 2**7, 1])
    page = document(compare(*runs, by=["task"], metrics=["isr"])).markdown()
    assert summary([*result.values()], "groups") in page


def three(tmp_path: Path) -> list[Path]:
    letters = {"a": "m" * 10, "b": "u" * 10, "c": "m" * 9 + "u"}
    return [
        run(tmp_path / name, {f"x{n}": x for n, x in enumerate(row)}, name)
        for name, row in letters.items()
    ]


def test_every_run_is_compared_with_the_baseline(tmp_path: Path) -> None:
    runs = three(tmp_path)
    for baseline in ("b", runs[1]):
        result = compare(*runs, baseline=baseline)
        assert result["baseline"] == "b"
        named = [(pair["first"], pair["second"]) for pair in result["pairs"]]
        assert named == [("a", "b"), ("c", "b"), ("a", "c")]
    isr = [pair["metrics"]["cfbench"]["isr"] for pair in result["pairs"]]
    assert [item["difference"]["value"] for item in isr] == pytest.approx([1, 0.9, 0.1])
    assert [item["p"] for item in isr] == pytest.approx([2 / 2**10, 2 / 2**9, 1])
    assert [item["p_holm"] for item in isr] == pytest.approx([3 * 2 / 2**10, 2 * 2 / 2**9, 1])
    with pytest.raises(UsageError, match=r"'d'.*a, b, c"):
        compare(*runs, baseline="d")


def test_an_unlike_pair_beside_the_baseline_is_left_out_and_named(tmp_path: Path) -> None:
    rows = [sample("x1", "mu"), sample("x2", "mm")]
    evaluate(rows, judge="recorded", run=tmp_path / "old")
    evaluate(rows, judge="rules,recorded", run=tmp_path / "judge")
    others = [sample("x1", "mu", "2"), sample("x2", "mm", "2")]
    evaluate(others, judge="recorded", run=tmp_path / "model")
    runs = [tmp_path / name for name in ("old", "judge", "model")]
    with pytest.raises(UsageError, match="judge and model: "):
        compare(*runs)
    result = compare(*runs, baseline="old")
    assert [(pair["first"], pair["second"]) for pair in result["pairs"]] == [
        ("judge", "old"),
        ("model", "old"),
    ]
    page = document(result).markdown()
    assert "- judge − model is left out" in page
    with pytest.raises(UsageError, match="not alike"):
        compare(*runs, baseline="model")


def test_several_pairs_are_listed_by_rate(tmp_path: Path) -> None:
    result = compare(*three(tmp_path), metrics=["isr"])
    page = document(result).markdown()
    assert "## Responses fully met\n" in page
    # Of Bonett and Price: 10 / 12, with a variance of (12 / 12 - (10 / 12)²) / 12; Student's
    # quantile for 11 degrees of freedom is 2.201.
    low = 10 / 12 - 2.201 * math.sqrt((1 - (10 / 12) ** 2) / 12)
    assert (
        f"| a − b | 100.0 | 0.0 | +100.0 | {interval([low, 1], signed)} | 0.006 | first |" in page
    )
    assert "intervals exclude 0" in page
    assert "10 samples" in page


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.lists(st.text("mun", min_size=6, max_size=6), min_size=3, max_size=6))
def test_what_does_not_apply_leaves_each_side_with_its_own_summary(said: list[str]) -> None:
    states = {"m": "met", "u": "unmet", "n": "not_applicable"}
    values, runs = [], []
    with TemporaryDirectory() as folder:
        for side in (0, 1):
            rows = []
            for number, letters in enumerate(said):
                # The first constraint applies on both sides.
                verdicts = letters[side].replace("n", "m") + letters[2 + side] + letters[4 + side]
                recorded = tuple({"status": states[v], "explanation": ""} for v in verdicts)
                row = sample(f"s{number}", "mmm", f"{side} {number}")
                recording = Recording(prompt="native", verdicts=recorded)
                rows.append(row.model_copy(update={"recording": recording}))
            runs.append(Path(folder) / str(side))
            values.append(evaluate(rows, judge="recorded", run=runs[-1]).summary["metrics"])
        pair = only_pair(*runs)
    for family, name in (("cfbench", "csr"), ("cfbench", "isr"), ("infobench", "drfr")):
        measured = pair["metrics"][family][name]
        assert measured["coverage"] == 1
        for of, which in zip(values, ("first", "second"), strict=True):
            assert measured[which]["value"] == pytest.approx(of[family][name]["value"])
    assert pair["undecided"]["first"]["value"] == pair["undecided"]["second"]["value"] == 0


def test_rows_that_could_not_be_read_on_a_side_are_in_coverage_and_bounds(tmp_path: Path) -> None:
    for name, broken in (("a", 0), ("b", 5)):
        lines = [sample(f"s{n}", "m", f"{name} {n}").model_dump_json() for n in range(20)]
        lines[:broken] = ["{"] * broken
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
        evaluate(tmp_path / f"{name}.jsonl", judge="recorded", run=tmp_path / name)
    for first, second in (("a", "b"), ("b", "a")):
        isr = only_pair(tmp_path / first, tmp_path / second)["metrics"]["cfbench"]["isr"]
        assert isr["coverage"] == pytest.approx(15 / 20)
        assert isr["bounds"] == pytest.approx([-5 / 20, 5 / 20])


def test_rates_over_samples_are_of_those_that_both_sides_decided_whole(tmp_path: Path) -> None:
    """To take in those that are known to fail, too, would leave out only those that pass."""
    first = run(tmp_path / "a", {"x1": "mm", "x2": "mm", "x3": "u?", "x4": "m?"}, "1")
    second = run(tmp_path / "b", {"x1": "mu", "x2": "mm", "x3": "mm", "x4": "uu"}, "2")
    pair = only_pair(first, second)
    isr = pair["metrics"]["cfbench"]["isr"]
    assert (isr["compared"], isr["coverage"]) == (2, 0.5)
    assert (isr["first"]["value"], isr["second"]["value"]) == (1.0, 0.5)
    # x3 is known to fail on one side and x4 on the other: only x4's first side is open.
    assert isr["bounds"] == [(2 - 2) / 4, (3 - 2) / 4]
    assert pair["mcnemar"]["samples"]["only_first"] == 1
    assert sum(pair["mcnemar"]["samples"][key] for key in ("both", "neither", "only_second")) == 1
    # Of constraints all that both decided count.
    assert pair["metrics"]["infobench"]["drfr"]["coverage"] == 6 / 8


def test_to_avoid_what_has_a_negative_weight_is_to_win(tmp_path: Path) -> None:
    checklist = (Constraint(text="Says it.", weight=2), Constraint(text="Lies.", weight=-1))

    def rows(said: str) -> list[Sample]:
        listed = []
        for number in range(6):
            row = sample(f"s{number}", said, f"{said} {number}")
            listed.append(row.model_copy(update={"checklist": checklist}))
        return listed

    pair = only_pair(run(tmp_path / "a", rows("mu")), run(tmp_path / "b", rows("mm")))
    assert (pair["outcomes"]["wins"], pair["outcomes"]["losses"]) == (6, 0)
    assert pair["mcnemar"]["samples"]["only_first"] == 6
    score = pair["metrics"]["rubric"]["score"]["difference"]["value"]
    assert score > 0


@given(st.floats(0, 1), st.floats(-6e-4, 6e-4))
def test_what_is_written_is_on_the_side_of_a_border_that_the_number_is_on(
    share: float, near: float
) -> None:
    for p in (share, 0.05 + near / 10):
        shown = p_value(p).removeprefix("< ")
        assert (float(shown) < 0.05) == (p < 0.05) or abs(p - 0.05) < 5e-7
    for rate in (share, 1 - abs(near)):
        for digits in (1, 2):
            assert (float(percent(rate, digits)) == 100) == (rate > 1 - 0.5 * 10 ** -(digits + 5))
