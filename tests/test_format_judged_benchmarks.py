"""Trees of requirements, scores from 1 to 10, and choices between responses, by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from heedful import evaluate
from heedful.data.formats import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from heedful.core.nouns import Sample, Scoring


def write(path: Path, *records: Any) -> Path:
    file = path / "in.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def read(file: Path) -> list[Sample]:
    rows = list(open_source(file))
    assert all(row.problem is None for row in rows), [row.problem for row in rows]
    return [row.sample for row in rows if row.sample is not None]


def rates(file: Path, family: str, scoring: Scoring) -> dict[str, Any]:
    found: dict[str, Any] = evaluate(file, scoring=scoring).summary["metrics"][family]
    return found


# --- PaperBench ---------------------------------------------------------------------------------


def node(weight: float, *below: dict[str, Any], **leaf: Any) -> dict[str, Any]:
    name = f"n{weight}-{len(below)}"
    if not below:
        leaf = {"task_category": "Code Development", "explanation": "So.", **leaf}
    return {"id": name, "requirements": "It is.", "weight": weight, "sub_tasks": [*below], **leaf}


def graded(weight: float, score: float, *, valid: bool = True, **leaf: Any) -> dict[str, Any]:
    return node(weight, score=score, valid_score=valid, **leaf)


def paper(*below: dict[str, Any], name: str = "p") -> dict[str, Any]:
    return {"paper_id": name, "judge_output": {"graded_task_tree": node(1, *below)}}


def test_a_papers_score_is_the_weighted_mean_up_the_tree(tmp_path: Path) -> None:
    executed = graded(1, 0, task_category="Code Execution")
    tree = paper(
        node(3, graded(2, 1), graded(1, 0), node(1, graded(5, 1), executed)),
        node(1, graded(4, 0), graded(1, 1)),
    )
    inner = (2 * 1 + 1 * 0 + 1 * 5 / 6) / 4
    wanted = (3 * inner + 1 * 1 / 5) / 4
    other = paper(graded(1, 1), graded(1, 0), name="q")
    file = write(tmp_path, tree, other)
    first, _ = read(file)
    assert first.tags == {"benchmark": "paperbench", "paper": "p"}
    assert [each.type for each in first.checklist[2:4]] == ["Code Development", "Code Execution"]
    assert first.checklist[2].weight == pytest.approx(3 / 4 * 1 / 4 * 5 / 6)
    for scoring in ("strict", "faithful"):
        found = rates(file, "paperbench", scoring)
        assert found["score"]["value"] == pytest.approx((wanted + 0.5) / 2)
        assert list(found) == ["score"]


def test_a_grade_that_is_not_valid_is_open_and_0_in_faithful_scoring(tmp_path: Path) -> None:
    file = write(tmp_path, paper(graded(3, 1), graded(1, 0, valid=False)))
    assert rates(file, "paperbench", "strict")["score"]["bounds"] == pytest.approx([0.75, 1])
    assert rates(file, "paperbench", "faithful")["score"]["value"] == pytest.approx(0.75)


def test_a_node_whose_weights_are_all_0_counts_0_only_in_faithful_scoring(tmp_path: Path) -> None:
    file = write(tmp_path, paper(node(1, graded(0, 1)), graded(3, 1)))
    assert rates(file, "paperbench", "strict")["score"]["value"] == 1
    assert rates(file, "paperbench", "faithful")["score"]["value"] == pytest.approx(0.75)


def test_a_graders_file_and_a_rubric_are_read_as_they_lie(tmp_path: Path) -> None:
    output = {"judge_type": "simple", "score": 0.5}
    output |= paper(graded(1, 1), graded(1, 0))["judge_output"]
    file = write(tmp_path, output)
    assert rates(file, "paperbench", "faithful")["score"]["value"] == output["score"]
    (rubric,) = read(write(tmp_path, node(1, node(2), node(1))))
    assert [each.weight for each in rubric.checklist] == pytest.approx([2 / 3, 1 / 3])
    assert rubric.recording is None
    file = write(tmp_path, paper(graded(1, 0.4)))
    (row,) = open_source(file)
    assert "score of a leaf" in str(row.problem)
