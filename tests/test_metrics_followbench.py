"""FollowBench's rates against cases computed by hand."""

from typing import Any

import pytest

from heedful import Constraint, Recording, Sample, evaluate

LEVELS = {  # example: verdicts by level, + met, - unmet, ? undecided
    "a": ["+", "++", "++-", "++++", "+++++"],
    "b": ["-", "+-", "+++", "++--", "-----"],
    "c": ["+", "++", "+++", "++++", "+++++"],
}


def rows(levels: dict[str, list[str]]) -> list[Sample]:
    status = {"+": "met", "-": "unmet", "?": "failed"}
    return [
        Sample(
            id=f"{example}-{level}",
            prompt=f"{example} {level}",
            checklist=[Constraint(text=f"c{at}") for at in range(len(said))],
            response="r",
            recording=Recording(
                prompt="native", verdicts=tuple({"status": status[sign]} for sign in said)
            ),
            tags={"benchmark": "followbench", "level": level, "conversation_id": example},
        )
        for example, verdicts in levels.items()
        for level, said in enumerate(["", *verdicts])
    ]


def measured(levels: dict[str, list[str]], **options: Any) -> dict[str, Any]:
    summary = evaluate(rows(levels), judge="recorded", **options).summary
    rates: dict[str, Any] = summary["metrics"]["followbench"]
    return rates | {"by": summary["by"]["level"]}


def test_rates_by_level_and_consecutive_levels() -> None:
    rates = measured(LEVELS)
    # Level 3: a 2/3, b 3/3, c 3/3. Leading levels: a 2, b 0, c 5.
    of_level = rates["by"]["3"]["followbench"]
    assert of_level["hsr"]["value"] == pytest.approx(2 / 3)
    assert of_level["ssr"]["value"] == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert rates["csl"]["value"] * 5 == pytest.approx((2 + 0 + 5) / 3)
    assert rates["hsr"]["value"] == pytest.approx(10 / 15)
    assert "followbench" not in rates["by"]["0"]


def test_an_undecided_level_bounds_the_consecutive_ones() -> None:
    open_ended = LEVELS | {"a": ["+", "+?", "+++", "++--", "-----"]}
    rates = measured(open_ended)
    low, high = (each * 5 * 3 for each in rates["csl"]["bounds"])
    assert (low, high) == (pytest.approx(1 + 0 + 5), pytest.approx(3 + 0 + 5))
    assert rates["csl"]["value"] is None
    faithful = measured(open_ended, scoring="faithful")
    assert faithful["csl"]["value"] * 15 == pytest.approx(6)
