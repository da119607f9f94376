"""RealCritic's numbers, against sums done by hand and the paper's own table."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.bench.realcritic.metrics import Case, harmonic_mean, round_numbers, transitions
from heedful.bench.realcritic.tables import league

MAYBE = st.sampled_from([True, False, None])

CASES = [
    Case(set="a", generator="weak", before=True, after=True, verdict=True),
    Case(set="a", generator="weak", before=True, after=False, verdict=False),
    Case(set="a", generator="strong", before=False, after=True, verdict=False, qualified=True),
    Case(set="a", generator="strong", before=False, after=True, verdict=True, qualified=False),
    Case(set="b", generator="strong", before=False, after=False, verdict=False, qualified=False),
    Case(set="b", generator="weak", before=True, after=None, verdict=None, reason="no box"),
]


def test_a_round_by_hand() -> None:
    result = round_numbers(CASES)
    assert result["accuracy"]["coverage"] == pytest.approx(5 / 6)
    assert result["accuracy"]["bounds"] == pytest.approx([3 / 6, 4 / 6])
    assert result["macro"]["bounds"] == pytest.approx([(3 / 4 + 0) / 2, (3 / 4 + 1 / 2) / 2])
    # Five pairs are decided on both sides: 2 of 5 correct before, 3 of 5 after.
    delta = result["delta"]
    assert (delta["n"], delta["gained"]) == (5, 1)
    assert delta["value"] == pytest.approx(3 / 5 - 2 / 5)
    assert delta["macro"] == pytest.approx((1 / 4 + 0) / 2)
    moved = result["transitions"]
    assert moved["incorrect_to_correct"] == {
        "count": 2,
        "of_incorrect": pytest.approx(2 / 3),
        "of_all": pytest.approx(2 / 5),
    }
    assert moved["correct_to_incorrect"] == {
        "count": 1,
        "of_correct": pytest.approx(1 / 2),
        "of_all": pytest.approx(1 / 5),
    }
    assert moved["undecided"] == {"correct": 1, "incorrect": 0, "unknown": 0}
    # Verdicts: right, wrong, right, wrong, right; one not said.
    verdict = result["verdict"]
    assert verdict["accuracy"]["bounds"] == pytest.approx([3 / 6, 4 / 6])
    assert verdict["of_incorrect"]["value"] == pytest.approx(2 / 3)
    quality = {"n": 5, "high_right": 2, "high_wrong": 1, "low_right": 1, "low_wrong": 1}
    assert verdict["quality"] == quality
    check = result["post_check"]
    assert (check["qualified"], check["unqualified"], check["undecided"]) == (1, 2, 3)
    assert check["accuracy_without_unqualified"]["bounds"] == pytest.approx([2 / 4, 3 / 4])
    weak, strong = (result["generators"][name]["accuracy"] for name in ("weak", "strong"))
    assert weak["bounds"] == pytest.approx([1 / 3, 2 / 3])
    assert strong["value"] == pytest.approx(2 / 3)
    assert result["undecided"] == {"no box": 1}
    assert "first_error" not in result


def test_first_errors_as_processbench_scores_them() -> None:
    cases = [
        Case(marked=2, found=2),
        Case(marked=2, found=3),
        Case(marked=1, found=-1),
        Case(marked=3, found=None),
        Case(marked=-1, found=-1),
        Case(marked=-1, found=1),
    ]
    result = round_numbers(cases)["first_error"]
    assert result["erroneous"]["bounds"] == pytest.approx([1 / 4, 2 / 4])
    assert result["correct"]["value"] == pytest.approx(1 / 2)
    least = 2 * (1 / 4) * (1 / 2) / (1 / 4 + 1 / 2)
    assert (result["f1"], result["f1_bounds"]) == (None, pytest.approx([least, 1 / 2]))
    faithful = round_numbers(cases, scoring="faithful")["first_error"]
    assert faithful["erroneous"]["value"] == pytest.approx(1 / 4)
    assert harmonic_mean(0.0, 0.0) == 0.0
    assert harmonic_mean(None, 1.0) is None


@given(st.lists(st.tuples(MAYBE, MAYBE)))
def test_every_pair_is_counted_once(pairs: Sequence[tuple[bool | None, bool | None]]) -> None:
    result = transitions(pairs)
    assert result["n"] + sum(result["undecided"].values()) == len(pairs)


@given(st.lists(st.builds(Case, before=MAYBE, after=MAYBE, verdict=MAYBE), min_size=1))
def test_what_critique_gains_is_what_it_mends_less_what_it_spoils(cases: list[Case]) -> None:
    result = round_numbers(cases)
    moved, delta = result["transitions"], result["delta"]
    if delta["n"]:
        shares = (
            moved["incorrect_to_correct"]["of_all"] - moved["correct_to_incorrect"]["of_all"],
            delta["after"] - delta["before"],
        )
        assert shares == pytest.approx((delta["value"], delta["value"]))
    else:
        assert delta["value"] is None


# The paper's result table, in per cent: eight sets, then the averages that it prints.
PAPER: dict[str, dict[str, list[float]]] = {
    "LLaMA-3.1-70B-Instruct": {
        "direct": [88.6, 93.4, 65.3, 40.1, 33.7, 32.6, 63.0, 31.1],
        "self": [87.5, 91.9, 59.0, 37.3, 33.7, 22.1, 53.8, 28.5],
        "cross": [82.5, 88.6, 64.9, 49.1, 42.1, 35.3, 42.8, 40.8],
        "averages": [56.0, 51.7, 55.8, -4.3, 5.8],
    },
    "Mistral-Large-Instruct": {
        "direct": [86.7, 94.5, 70.1, 41.6, 35.6, 41.1, 66.8, 34.5],
        "self": [85.2, 93.4, 70.9, 41.6, 36.8, 36.3, 56.5, 36.0],
        "cross": [84.8, 90.8, 69.0, 50.9, 49.4, 40.5, 53.8, 48.7],
        "averages": [58.9, 57.1, 61.0, -1.8, 11.0],
    },
    "Qwen2.5-72B-Math-Instruct": {
        "direct": [94.3, 95.6, 86.9, 45.2, 42.1, 42.6, 86.3, 47.6],
        "self": [93.5, 95.2, 85.4, 45.2, 41.0, 41.6, 50.7, 47.2],
        "cross": [72.6, 86.4, 73.1, 52.0, 50.2, 43.7, 38.0, 53.9],
        "averages": [67.6, 62.5, 58.7, -5.1, 8.7],
    },
    "Qwen2.5-72B-Instruct": {
        "direct": [94.3, 96.7, 82.5, 46.2, 37.9, 38.9, 70.9, 44.2],
        "self": [92.4, 96.7, 82.5, 46.2, 37.2, 29.5, 59.9, 43.8],
        "cross": [84.8, 88.6, 71.6, 51.3, 47.1, 26.8, 41.4, 46.1],
        "averages": [64.0, 61.0, 57.2, -2.9, 7.2],
    },
    "GPT-4": {
        "direct": [92.4, 94.9, 76.5, 41.6, 33.0, 34.2, 59.9, 36.3],
        "self": [89.4, 93.4, 74.6, 40.5, 30.7, 24.2, 42.5, 37.1],
        "cross": [82.1, 84.6, 68.3, 49.8, 43.3, 30.5, 37.0, 45.3],
        "averages": [58.6, 54.1, 55.1, -4.6, 5.1],
    },
    "O1-Mini": {
        "direct": [68.1, 89.0, 81.3, 20.1, 28.4, 56.3, 81.8, 49.4],
        "self": [87.5, 93.8, 91.4, 44.1, 41.0, 33.2, 53.8, 55.8],
        "cross": [85.2, 93.8, 85.1, 52.7, 49.8, 44.7, 56.5, 57.3],
        "averages": [59.3, 62.6, 65.6, 3.3, 15.6],
    },
}
AVERAGED = ("direct", "self", "cross", "self - direct", "cross - baseline")


@pytest.mark.parametrize("model", PAPER)
def test_the_averages_of_the_papers_table_come_out_of_its_cells(model: str) -> None:
    modes = {name: PAPER[model][name] for name in ("direct", "self", "cross")}
    rows = modes | {"baseline": [50.0] * 8}
    cells = {name: [(each, each) for each in row] for name, row in rows.items()}
    result = league({name: dict(zip("abcdefgh", row, strict=True)) for name, row in cells.items()})
    for name, printed in zip(AVERAGED, PAPER[model]["averages"], strict=True):
        # What is printed is rounded to 0.1, half up or down.
        assert result[name]["average"] == pytest.approx((printed,) * 2, abs=0.05000001), name
