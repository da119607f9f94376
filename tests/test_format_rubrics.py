"""Benchmarks of rubrics: their files as they are, and their published numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from heedful import evaluate
from heedful.core.nouns import Status
from heedful.data.formats import open_source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from heedful.core.nouns import Sample, Scoring


def read(path: Path, *records: Any, name: str | None = None) -> list[Sample]:
    file = path / "in.json"
    file.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    rows = list(open_source(file, format=name))
    assert all(row.problem is None for row in rows), [row.problem for row in rows]
    return [row.sample for row in rows if row.sample is not None]


def problems(path: Path, *records: Any) -> list[str]:
    file = path / "in.json"
    file.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    return [row.problem for row in open_source(file) if row.problem is not None]


def metrics(path: Path, scoring: Scoring = "strict") -> dict[str, Any]:
    found: dict[str, Any] = evaluate(path / "in.json", scoring=scoring).summary["metrics"]
    return found


# --- StructFlowBench ----------------------------------------------------------------------------


def turn(*verdicts: str, types: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    kinds = [*types, *["Content Constraint"] * (len(verdicts) - len(types))]
    return {
        "name": "c1",
        "user prompt": "Again, shorter",
        "assistant answer": "The reference.",
        "constraints": [{"type": kind, "content": f"Is it {kind}?"} for kind in kinds],
        "response": "So.",
        "judge result": [{"judgement": verdict} for verdict in verdicts],
        **more,
    }


def flow(*turns: dict[str, Any], task: str = "Casual Chat: small talk") -> dict[str, Any]:
    return {"conv_task": task, "structure": [], "whole_conv": list(turns)}


def test_a_turn_of_structflow_goes_on_from_the_references(tmp_path: Path) -> None:
    first, second = read(tmp_path, flow(turn("Yes"), turn("No", "Yes", types=["recall"])))
    assert [message.content for message in second.conversation] == [
        "Again, shorter",
        "The reference.",
        "Again, shorter",
    ]
    assert (first.id, second.id) == ("1-1", "1-2")
    assert second.tags["task"] == "Casual Chat"
    assert [each.weight for each in second.checklist] == [2, 1]


def test_structflow_by_hand(tmp_path: Path) -> None:
    read(tmp_path, flow(turn("Yes", "No", types=["recall"]), turn("Yes")), flow(turn("N/A", "Yes")))
    strict, faithful = metrics(tmp_path)["structflow"], metrics(tmp_path, "faithful")["structflow"]
    assert faithful["csr"]["value"] == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)
    assert faithful["wcsr"]["value"] == pytest.approx((2 / 3 + 1 + 1 / 2) / 3)
    assert faithful["isr"]["value"] == pytest.approx(1 / 3)
    assert faithful["drfr"]["value"] == pytest.approx(3 / 5)
    assert strict["csr"]["value"] == pytest.approx((1 / 2 + 1 + 1) / 3)
    assert strict["drfr"]["value"] == pytest.approx(3 / 4)
    assert strict["csr"]["undecided"] == 0
    assert strict["csr"]["coverage"] < 1
    # The turn with "N/A" is met in full as probably as a decided verdict is met.
    assert strict["isr"]["value"] == pytest.approx((0 + 1 + 3 / 4) / 3)


def test_a_type_without_points_counts_in_all_but_wcsr(tmp_path: Path) -> None:
    read(tmp_path, flow(turn("No", "Yes", types=["unrelatedness"])), flow(turn("No", types=["?"])))
    found = metrics(tmp_path, "faithful")["structflow"]
    assert found["csr"]["value"] == pytest.approx(1 / 4)
    assert found["wcsr"]["value"] == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"whole_conv": "x"}, "whole_conv is text"),
        ({"whole_conv": []}, "whole_conv is empty"),
        ({"whole_conv": [{"user prompt": 3}]}, "user prompt is a number"),
        (flow(turn("Yes", constraints=None)), "constraints is null"),
    ],
)
def test_a_broken_conversation_is_named(record: Any, problem: str, tmp_path: Path) -> None:
    (found,) = problems(tmp_path, record)
    assert problem in found


def test_an_error_in_place_of_verdicts_decides_nothing(tmp_path: Path) -> None:
    record = flow(turn("Yes") | {"judge result": {"error": "no reply"}})
    read(tmp_path, record)
    (row,) = evaluate(tmp_path / "in.json")
    assert row.critique is not None
    assert row.critique.judgments[0].status is Status.FAILED


@pytest.mark.parametrize(
    "model",
    ["glm_4_9b_chat", "gpt4o", "mistral_7b_instruct_v0_3", "qwen2_5_7b_instruct", "yi_6b_chat"],
)
def test_structflows_shipped_scores(model: str, data: Path) -> None:
    folder = data / "structflow"
    shipped = json.loads((folder / f"{model}_score.json").read_text())
    summary = evaluate(folder / f"{model}_evaluate.json", scoring="faithful").summary
    assert summary["rows"] == {"read": 643, "failed": 0}
    groups = {"overall": summary["metrics"]} | summary["by"]["task"]
    wanted = {"overall": shipped["overall"]} | shipped["tasks"]
    compared = 0
    for group, scores in wanted.items():
        for name, score in scores.items():
            rates = groups[group]["structflow"]
            measure = rates.get(name.lower()) or summary["by"]["type"][name]
            assert round(measure["value"], 2) == score, (group, name)
            compared += 1
    assert compared == 4 + 13 + 8 * 4
