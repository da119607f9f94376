"""Reliability over several responses: pass^k, pass@k, reliable@k."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import evaluate
from heedful.core.nouns import Constraint, Critique, Judgment, Sample, Scoring, Status
from heedful.metrics import Summary
from jsonl import write_rows

STATUSES = {"+": Status.MET, "-": Status.UNMET, "?": Status.UNPARSED}


def measured(
    *instructions: str, scoring: Scoring = "strict", models: str = "m", **tags: str
) -> dict[str, Any]:
    """Measure responses of each model, a sign each, to several instructions."""
    summary = Summary(scoring)
    asked = itertools.product(models, enumerate(instructions))
    for model, (number, signs) in asked:
        for draw, sign in enumerate(signs):
            sample = Sample(
                id=f"{number}@{model}#{draw}",
                instruction_id=str(number),
                prompt=f"Do {number}.",
                response="So.",
                checklist=[Constraint(text="a")],
                tags=tags or {"model": model},
            )
            summary.add(sample, Critique(judgments=(Judgment(status=STATUSES[sign]),)))
    found: dict[str, Any] = summary.result()["metrics"].get("reliability", {})
    return found


def share(signs: str, k: int, rule: Any) -> float:
    chosen = list(itertools.combinations(signs, k))
    return sum(bool(rule(sign == "+" for sign in each)) for each in chosen) / len(chosen)


@given(st.lists(st.text("+-", min_size=4, max_size=4), min_size=1, max_size=5))
def test_chances_are_those_of_all_subsets(instructions: Sequence[str]) -> None:
    found = measured(*instructions)
    for k in (2, 4):
        for name, rule in (("pass_all", all), ("pass_any", any)):
            expected = sum(share(signs, k, rule) for signs in instructions) / len(instructions)
            assert found[f"{name}_{k}"]["value"] == pytest.approx(expected)


def test_models_share_the_instructions_they_answered() -> None:
    instructions = ["++", "+-", "--", "++", "+-", "++", "--", "+-"]
    three, one = measured(*instructions, models="abc"), measured(*instructions)
    for name in one:
        assert three[name]["value"] == pytest.approx(one[name]["value"])
        # Three models that come out alike say little more than one does.
        widths = [ends[1] - ends[0] for ends in (three[name]["interval"], one[name]["interval"])]
        assert widths[0] > 0.8 * widths[1]


def test_single_responses_have_no_reliability() -> None:
    assert measured("+", "-") == {}
    assert measured("++", note="no model") == {}


def test_reliable_at_k_by_hand() -> None:
    instructions = ("++++", "+-++", "-+++", "+++")
    # The last lacks a variant, which could pass or fail.
    assert measured(*instructions, variant="x")["reliable_4"]["bounds"] == [1 / 4, 2 / 4]
    faithful = measured(*instructions, variant="x", scoring="faithful")
    assert faithful["reliable_4"]["value"] == pytest.approx(1 / 4)
    assert measured("+-?+", "++++", variant="x")["reliable_4"]["value"] == 0.5
    assert measured("+?++", "++++", variant="x")["reliable_4"]["bounds"] == [0.5, 1]


def test_ifeval_variants_belong_together(tmp_path: Path) -> None:
    kinds = ("original", "rephrasing", "rephrasing", "distractor")
    rows: list[dict[str, Any]] = [
        {
            "key": f"{number}:{kind}",
            "prompt": f"Do {number}, {place}.",
            "instruction_id_list": ["punctuation:no_comma"],
            "kwargs": [{}],
            "response": "One, two." if (number, place) == (2, 3) else "One.",
        }
        for number in (1, 2)
        for place, kind in enumerate(kinds)
    ]
    file = tmp_path / "in.jsonl"
    write_rows(file, rows)
    summary = evaluate(file).summary
    assert summary["rows"] == {"read": 8, "failed": 0}
    assert summary["metrics"]["reliability"]["reliable_4"]["value"] == 0.5
    assert summary["by"]["variant"]["distractor"]["samples"] == 2
