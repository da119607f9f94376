from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import evaluate
from heedful.core.nouns import (
    Check,
    Constraint,
    Critique,
    Judgment,
    Sample,
    Scoring,
    Status,
)
from heedful.metrics import Summary, scores
from properties import of_a_hundred

Row = tuple[Sample, Critique]

WORDS = {
    "1": Status.MET,
    "0": Status.UNMET,
    "?": Status.UNPARSED,
    "!": Status.FAILED,
    "-": Status.UNSUPPORTED,
}
PRIORITIES = {"p": "primary", "s": "secondary", ".": None}


def row(
    verdicts: str,
    priorities: str = "",
    *,
    loose: str = "",
    declared: Mapping[str, Any] | None = None,
    identity: str = "row",
    **tags: str | float | bool,
) -> Row:
    """Write a row as one letter a constraint, such as row("10?", "pss")."""
    checklist = tuple(
        Constraint(
            text=f"c{position}",
            priority=PRIORITIES[letter],  # type: ignore[arg-type]
            check=Check(id="a:b") if loose else None,
        )
        for position, letter in enumerate(priorities.ljust(len(verdicts), "."))
    )
    judgments = tuple(
        Judgment(status=WORDS[letter], loose=WORDS[loose[position]] if loose else None)
        for position, letter in enumerate(verdicts)
    )
    sample = Sample(id=identity, checklist=checklist, response="r", tags=tags)
    return sample, Critique(judgments=judgments, declared=dict(declared or {}))


def summed(rows: Iterable[Row], scoring: Scoring = "strict", failed: int = 0) -> dict[str, Any]:
    summary = Summary(scoring)
    for sample, critique in rows:
        summary.add(sample, critique)
    if failed:
        summary.fail(failed)
    return summary.result()


def rates(rows: Iterable[Row], family: str, scoring: Scoring = "strict") -> dict[str, Any]:
    result: dict[str, Any] = summed(rows, scoring)["metrics"][family]
    return result


# --- CFBench ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdicts", "priorities", "expected"),
    [
        ("11", "pp", (1, 1, 1)),
        ("10", "ps", (0.5, 0, 0)),  # 0.5 + 0.5 * 0 is not more than 0.8
        ("110", "psp", (2 / 3, 0, 0)),  # a primary one is unmet
        ("111100", "psssss", (4 / 6, 0, 0)),  # secondary share 0.6: exactly 0.8 is not more
        ("111110", "psssss", (5 / 6, 0, 1)),
        ("11110", "sssss", (0.8, 0, 0)),  # no primary: CSR must be more than 0.8
        ("111110", "ssssss", (5 / 6, 0, 1)),
        ("1", "p", (1, 1, 1)),  # no secondary
        ("0", "p", (0, 0, 0)),
        ("11", "p.", (1, 1, 1)),  # no priority counts as secondary
        ("10", "p.", (0.5, 0, 0)),
    ],
)
@pytest.mark.parametrize("scoring", ["strict", "faithful"])
def test_cfbench_scores_by_hand(
    scoring: Scoring, verdicts: str, priorities: str, expected: tuple[float, int, int]
) -> None:
    result = scores(*row(verdicts, priorities), scoring)
    csr = round(expected[0], 2) if scoring == "faithful" else expected[0]
    assert result == {"csr": csr, "isr": expected[1], "psr": expected[2]}


def test_rounding_parts_the_scorings() -> None:
    secondary = "s" * 28
    verdicts = "1" + "1" * 17 + "0" * 11  # 17/28 = 0.607: 0.61 rounded, more than 0.6 as it is
    assert scores(*row(verdicts, "p" + secondary), "strict")["psr"] == 1
    verdicts = "1" + "1" * 125 + "0" * 83  # 125/208 = 0.60096: more than 0.6, but 0.60 rounded
    wide = "p" + "s" * 208
    assert scores(*row(verdicts, wide), "strict")["psr"] == 1
    assert scores(*row(verdicts, wide), "faithful")["psr"] == 0
    nearly = "1" * 299 + "0"
    assert scores(*row(nearly), "strict")["isr"] == 0
    assert scores(*row(nearly), "faithful")["isr"] == 1
    one_in_forty = "1" + "0" * 39  # numpy rounds 0.025 to 0.02, Python to 0.03
    assert scores(*row(one_in_forty), "faithful")["csr"] == 0.02


def declared(points: Sequence[object], parsing: str) -> dict[str, Any]:
    return {"cfbench": {"scores": list(points), "parsing": parsing}}


@pytest.mark.parametrize(
    ("points", "parsing", "expected"),
    [
        ([1.0, 1.0, 0.0], "1", (0.67, 0, 0)),
        ([1.0, 1.0], "0", (1.0, 1, 1)),  # the fallback lost the zeros
        ([0.0], "-1", (0.0, 0, 0)),
        (["1", "1", "1"], "1", (1.0, 1, 1)),
    ],
)
def test_faithful_takes_the_published_parse(
    points: list[object], parsing: str, expected: tuple[float, int, int]
) -> None:
    sample, critique = row("???", "pss", declared=declared(points, parsing))
    result = scores(sample, critique, "faithful")
    assert tuple(result.values()) == expected
    assert scores(sample, critique, "strict") == {"csr": None, "isr": None, "psr": None}


@pytest.mark.parametrize(
    "bad",
    [
        {"cfbench": {"scores": ["x"], "parsing": "1"}},
        {"cfbench": {"scores": [0.5, 1, 1], "parsing": "1"}},
        {"cfbench": {"scores": [1, 1], "parsing": "1"}},
    ],
)
def test_a_declaration_that_makes_no_sense_is_not_taken(bad: dict[str, Any]) -> None:
    result = scores(*row("110", "pss", declared=bad), "faithful")
    assert result == {"csr": 0.67, "isr": 0, "psr": 0}


def test_a_declaration_is_read_by_the_benchmark_of_its_row() -> None:
    """InFoBench's own rows declare how many questions were asked."""
    for benchmark, asked in (("infobench", 1), ("other", 2)):
        judged = row("10", declared={"asked": 1}, benchmark=benchmark)
        assert rates([judged], "infobench", "faithful")["drfr"]["denominator"] == asked


def test_undecided_verdicts_are_left_out_and_make_rates_ranges() -> None:
    rows = [row("11", "ps"), row("10?", "pss"), row("1?", "ps"), row("??", "ps")]
    result = rates(rows, "cfbench")
    assert (result["csr"]["value"], result["csr"]["undecided"]) == (None, 3)
    assert result["csr"]["bounds"] == pytest.approx([(1 + 1 / 3 + 0.5) / 4, (1 + 2 / 3 + 2) / 4])
    for rate in ("isr", "psr"):  # the second has failed whatever is missing
        assert (result[rate]["numerator"], result[rate]["denominator"]) == (1, 4)
        assert result[rate]["undecided"] == 2
        assert result[rate]["bounds"] == [1 / 4, 3 / 4]
    assert [scores(*item, "strict")["csr"] for item in rows] == [1, None, None, None]
    assert [scores(*item, "strict")["isr"] for item in rows] == [1, 0, None, None]


def test_priorities_and_loose_verdicts_decide_which_scores_a_row_has() -> None:
    assert set(scores(*row("1"), "strict")) == {"csr", "isr"}
    assert set(scores(*row("1", "s"), "strict")) == {"csr", "isr", "psr"}
    assert scores(*row("10", loose="11"), "strict") == {
        "csr": 0.5,
        "isr": 0,
        "strict": 0,
        "loose": 1,
    }
    assert scores(*row(""), "strict") == {"csr": None, "isr": None}
    assert "psr" not in rates([row("1")], "cfbench")


# --- InFoBench, IFEval -----------------------------------------------------------------------


def test_ifevals_four_accuracies() -> None:
    rows = [
        row("11", loose="11"),
        row("10", loose="11"),
        row("0-", loose="0-"),
        row("-", loose="-"),
    ]
    result = rates(rows, "ifeval")
    assert {name: (one["numerator"], one["denominator"]) for name, one in result.items()} == {
        "prompt_strict": (1, 4),
        "instruction_strict": (3, 7),
        "prompt_loose": (2, 4),
        "instruction_loose": (4, 7),
    }
    assert result["prompt_strict"]["undecided"] == 1


def test_ifeval_is_for_verifiers_only() -> None:
    sample, critique = row("1", loose="1")
    bare = Critique(judgments=(Judgment(status=Status.MET),))
    assert "ifeval" in summed([(sample, critique)])["metrics"]
    assert "ifeval" not in summed([(sample, bare)])["metrics"]


# --- AdvancedIF ------------------------------------------------------------------------------


def advancedif(
    verdicts: str, satisfied_all: str | None, answers: Sequence[str], task: str = "a"
) -> Row:
    reply = {
        "satisfied_all": satisfied_all,
        "answers": {f"question_{k}": text for k, text in enumerate(answers, 1)},
    }
    return row(verdicts, declared={"advancedif": reply}, benchmark="advancedif", task=task)


ADVANCEDIF = [
    advancedif("11", "YES", ["YES", "yes, it does"]),
    advancedif("10", "YES", ["YES", "NO"]),  # declares YES against its own verdict
    advancedif("10", "NO", ["Yes.", "NO: eyes only"]),  # "eyes" holds a "yes"
    advancedif("1?", "NO", ["YES"], "b"),  # one answer is missing
    row("!!", benchmark="advancedif", task="b"),
]


def test_advancedif_strict_goes_by_the_verdicts() -> None:
    result = rates(ADVANCEDIF, "advancedif")
    assert result["overall"]["bounds"] == [1 / 5, 3 / 5]
    assert (result["micro"]["numerator"], result["micro"]["denominator"]) == (5, 10)
    assert result["micro"]["undecided"] == 3
    assert result["row_rate"]["bounds"] == pytest.approx([2.5 / 5, 4 / 5])
    assert result["success"]["value"] == 4 / 5
    # The fourth declares a failure that its verdicts may bear out; the last declares nothing.
    assert result["declared_disagreement"]["bounds"] == [1 / 4, 2 / 4]
    assert result["macro_overall"]["bounds"] == pytest.approx([(1 / 3 + 0) / 2, (1 / 3 + 1) / 2])


def test_advancedif_faithful_goes_by_the_declaration() -> None:
    result = rates(ADVANCEDIF, "advancedif", "faithful")
    assert (result["overall"]["numerator"], result["overall"]["denominator"]) == (2, 5)
    assert (result["micro"]["numerator"], result["micro"]["denominator"]) == (6, 7)
    assert result["row_rate"]["value"] == pytest.approx((1 + 0.5 + 1 + 0.5) / 4)
    assert result["macro_overall"]["value"] == pytest.approx((2 / 3 + 0) / 2)


def test_rows_that_cannot_be_read_are_no_success_and_faithfully_no_pass() -> None:
    faithful = summed(ADVANCEDIF, "faithful", failed=5)["metrics"]["advancedif"]
    assert faithful["overall"]["value"] == 2 / 10
    assert faithful["success"]["value"] == 4 / 10
    strict = summed(ADVANCEDIF, failed=5)["metrics"]["advancedif"]
    assert strict["overall"]["bounds"] == pytest.approx([1 / 10, 8 / 10])
    assert strict["overall"]["coverage"] == pytest.approx(3 / 10)


def test_without_a_declaration_the_verdicts_count() -> None:
    rows = [row("11", benchmark="advancedif"), row("10", benchmark="advancedif")]
    result = rates(rows, "advancedif", "faithful")
    assert result["overall"]["value"] == 0.5
    assert result["micro"]["value"] == 0.75
    assert "declared_disagreement" not in result


# --- SysBench --------------------------------------------------------------------------------


def turns(system: int, verdicts: Sequence[str], flags: str = "") -> list[Row]:
    return [
        row(
            one,
            declared={"all_ok": int(flags[turn])} if flags else None,
            identity=f"{system}-{turn + 1}",
            benchmark="sysbench",
            model="m",
            system_id=system,
            turn=turn + 1,
        )
        for turn, one in enumerate(verdicts)
    ]


def test_ssr_counts_leading_turns_in_turn_order() -> None:
    rows = turns(1, ["11", "1", "0", "1", "1"]) + turns(2, ["0", "1", "1", "1", "1"])
    random.Random(0).shuffle(rows)
    result = rates(rows, "sysbench")
    assert result["ssr"]["value"] == pytest.approx((2 / 5 + 0) / 2)
    assert result["isr"]["value"] == 8 / 10
    assert (result["csr"]["numerator"], result["csr"]["denominator"]) == (9, 11)


def test_a_turn_that_is_undecided_or_missing_makes_a_range() -> None:
    rows = turns(1, ["1", "1", "?", "1", "0"]) + turns(2, ["1", "0", "?", "1", "1"])
    rows += turns(3, ["1", "1"])  # three turns are missing
    result = rates(rows, "sysbench")["ssr"]
    assert result["undecided"] == 2
    assert result["bounds"] == pytest.approx([(2 + 1 + 2) / 15, (4 + 1 + 5) / 15])
    faithful = rates(rows, "sysbench", "faithful")
    assert faithful["ssr"]["value"] == pytest.approx((2 + 1 + 2) / 15)
    assert faithful["csr"]["denominator"] == 12


def test_faithful_sysbench_goes_by_the_flag_and_lists_contradictions() -> None:
    rows = turns(7, ["1?", "11", "0", "1", "1"], "11011")
    result = summed(rows, "faithful")
    assert result["metrics"]["sysbench"]["isr"]["value"] == 4 / 5
    assert result["metrics"]["sysbench"]["ssr"]["value"] == 2 / 5
    turn = {"id": "7-1", "system_id": 7, "turn": 1, "declared": True, "verdicts": False}
    assert result["contradictions"] == {"count": 1, "turns": [turn]}
    assert summed(rows)["metrics"]["sysbench"]["isr"]["bounds"] == [3 / 5, 4 / 5]


# --- labels, breakdowns, the whole ---------------------------------------------------


def test_labels_are_compared_where_both_are_known() -> None:
    sample, critique = row("10?1", loose="11?1")
    sample = sample.model_copy(update={"labels": (True, True, True, None)})
    result = summed([(sample, critique), row("0")])["labels"]
    strict, loose = result["agreement"]["strict"], result["agreement"]["loose"]
    assert (strict["numerator"], strict["denominator"], strict["undecided"]) == (1, 3, 1)
    assert (loose["numerator"], loose["denominator"], loose["undecided"]) == (2, 3, 1)
    assert result["disagreements"] == [
        {"id": "row", "constraint": 2, "text": "c1", "label": "met", "verdict": "unmet"}
    ]
    assert summed([row("1")])["labels"] == {}


def test_constraints_are_broken_down_by_what_they_are() -> None:
    checklist = (
        Constraint(text="a", type="format", subtype="format/other", priority="primary"),
        Constraint(text="b", type="format", check=Check(id="x:y")),
        Constraint(text="c", type="rule"),
    )
    states = (Status.MET, Status.UNMET, Status.UNPARSED)
    critique = Critique(judgments=tuple(Judgment(status=status) for status in states))
    by = summed([(Sample(id="1", checklist=checklist), critique)])["by"]
    assert by["type"]["format"]["value"] == 0.5
    assert by["type"]["rule"]["bounds"] == [0, 1]
    assert set(by) == {"type", "subtype", "priority", "verifier"}
    assert by["verifier"]["x:y"]["denominator"] == 1


def test_tags_that_say_nothing_are_no_breakdown() -> None:
    rows = [
        row("1", same="x", key=number, kind=number % 2, type="t" if number else "u")
        for number in range(502)
    ]
    result = summed(rows)
    assert set(result["by"]) == {"key", "kind", "tag type"}
    assert result["by"]["key"] == {"dropped": "more than 500 values"}
    assert result["by"]["kind"]["0"]["samples"] == 251
    assert any("key" in note for note in result["notes"])
    assert "key" not in summed(rows[:500])["by"]


def test_coverage_counts_rows_that_could_not_be_read() -> None:
    result = summed([row("11?-"), row("0!")], failed=2)
    assert result["samples"] == 4
    assert result["rows"] == {"read": 2, "failed": 2}
    assert result["constraints"] == 6
    assert result["coverage"] == pytest.approx(3 / 6 * 2 / 4)
    assert result["verdicts"] == {
        "met": 2,
        "unmet": 1,
        "unparsed": 1,
        "failed": 1,
        "unsupported": 1,
    }
    assert result["metrics"]["infobench"]["drfr"]["coverage"] == result["coverage"]


def test_nothing_read_and_nothing_asked() -> None:
    assert summed([], failed=3)["coverage"] == 0
    result = summed([row("")])
    assert result["metrics"] == {}
    assert "no constraints" in result["notes"][0]


quickly = of_a_hundred(50)

ROWS = st.lists(
    st.builds(
        lambda pairs, loose, kind, number: row(
            "".join(verdict for verdict, _ in pairs),
            "".join(priority for _, priority in pairs),
            loose="".join(verdict for verdict, _ in pairs) if loose else "",
            benchmark=kind,
            task=f"t{number % 3}",
            system_id=number // 5,
            turn=number % 5 + 1,
        ),
        st.lists(st.tuples(st.sampled_from("1110?!-"), st.sampled_from("ps.")), max_size=6),
        st.booleans(),
        st.sampled_from(["advancedif", "sysbench", "cfbench"]),
        st.integers(0, 9),
    ),
    max_size=8,
)


def measures(found: Any) -> Iterable[dict[str, Any]]:
    if isinstance(found, dict):
        if "bounds" in found:
            yield found
        else:
            for part in found.values():
                yield from measures(part)


@quickly
@given(ROWS, st.sampled_from(["strict", "faithful"]), st.integers(0, 3))
def test_every_measure_keeps_its_promises(rows: list[Row], scoring: Scoring, failed: int) -> None:
    result = summed(rows, scoring, failed)
    json.dumps(result, allow_nan=False)
    for measure in measures(result):
        assert 0 <= measure["coverage"] <= 1 + 1e-9
        assert measure["undecided"] >= 0
        least, most = measure["bounds"]
        assert 0 <= least <= most <= 1
        assert measure["value"] in (None, least)
        assert (measure["value"] is None) == (least < most)
        low, high = measure["interval"] or (least, most)
        assert 0 <= low <= least + 1e-9
        assert most - 1e-9 <= high <= 1


@quickly
@given(ROWS, st.randoms())
def test_the_order_of_the_rows_does_not_matter(rows: list[Row], draw: random.Random) -> None:
    shuffled = list(rows)
    draw.shuffle(shuffled)
    assert summed(rows) == summed(shuffled)


@quickly
@given(st.lists(st.text("01", min_size=1, max_size=5), min_size=1, max_size=6))
def test_scorings_agree_where_all_is_decided(verdicts: list[str]) -> None:
    rows = [made for system, one in enumerate(verdicts) for made in turns(system, list(one), one)]
    strict, faithful = summed(rows), summed(rows, "faithful")
    assert strict["metrics"]["sysbench"]["isr"] == faithful["metrics"]["sysbench"]["isr"]
    assert strict["metrics"]["sysbench"]["csr"] == faithful["metrics"]["sysbench"]["csr"]
    assert strict["contradictions"]["count"] == 0
    replies = [
        advancedif(
            item, "NO" if "0" in item else "YES", ["NO" if c == "0" else "YES" for c in item]
        )
        for item in verdicts
    ]
    assert rates(replies, "advancedif") == rates(replies, "advancedif", "faithful")


def test_rows_that_ifevals_rates_leave_out_are_counted() -> None:
    check = Check(id="punctuation:no_comma")
    checked = Constraint(text="No commas.", check=check)
    rows = [
        Sample(id="1", checklist=(checked,), response="a"),
        Sample(id="2", checklist=(checked, Constraint(text="Be kind.")), response="a"),
        Sample(id="3", checklist=(Constraint(text="Be kind."),), response="a"),
    ]
    summary = evaluate(rows, judge="rules").summary
    assert summary["metrics"]["ifeval"]["prompt_strict"]["denominator"] == 1
    (note,) = (note for note in summary["notes"] if "IFEval" in note)
    assert note.endswith(": 2")
    assert not any("IFEval" in note for note in evaluate(rows[:1]).summary["notes"])
    assert not any("IFEval" in note for note in evaluate(rows[2:]).summary["notes"])
