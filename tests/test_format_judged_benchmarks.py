"""Trees of requirements, scores from 1 to 10, choices and levels, by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from heedful import Constraint, Recording, Sample, evaluate
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


# --- WildBench ----------------------------------------------------------------------------------

KINDS = ("Math", "Coding & Debugging", "Planning", "Editing", "Advice seeking")
CUT = "So. ... (truncated)"


def task(kind: str, *others: str, **judged: Any) -> dict[str, Any]:
    return {
        "session_id": f"{kind}-{others}-{judged}",
        "conversation_input": [{"role": "user", "content": "Why?"}],
        "checklist": ["Is it so?"],
        "primary_tag": kind,
        "secondary_tags": list(others),
        **judged,
    }


def score(said: Any, *kinds: str, output: str = "So.") -> dict[str, Any]:
    result = {"strengths": "s", "weaknesses": "w", "score": said}
    return task(*kinds, parsed_result=result, score=said, model_test="m", model_output=output)


def test_wildbenchs_score_by_hand(tmp_path: Path) -> None:
    said = dict(zip(KINDS, (8, "6", "10", 3, 7), strict=True))
    rows = [score(said[kind], kind) for kind in KINDS]
    # Two kinds that are the same group count once.
    rows += [score("1", "Math", "Data Analysis", "Editing"), score("2", "Planning", output=CUT)]
    file = write(tmp_path, *rows)
    first = read(file)[0]
    assert "Is it so?" in first.checklist[0].text
    assert first.recording is not None
    verdict = {"status": True, "level": "8", "explanation": "s\nw"}
    assert first.recording.verdicts == (verdict,)
    whole = ((8 + 6 + 10 + 3 + 7 + 1 + 2) / 7 - 5) / 5
    # Weights 1, 1.25, 1.25, 0.5 and 0.75; scores less 5, over 5.
    others = 1 * (4.5 - 5) + 1.25 * (6 - 5) + 0.5 * (2 - 5) + 0.75 * (7 - 5)
    by_kind = {
        "strict": (others + 1.25 * (6 - 5)) / 5 / 4.75,
        "faithful": (others + 1.25 * (10 - 5)) / 5 / 4.75,
    }
    for scoring, wanted in by_kind.items():
        found = rates(file, "wildbench", scoring)  # type: ignore[arg-type]
        assert found["score"]["value"] == pytest.approx(whole)
        assert found["task_score"]["value"] == pytest.approx(wanted)
        assert found["task_score"]["interval"] is None


def test_wildbenchs_judge_that_says_no_number_decides_nothing(tmp_path: Path) -> None:
    file = write(tmp_path, score("N/A", "Math"), score("6", "Math"))
    found = rates(file, "wildbench", "strict")
    assert found["score"]["bounds"] == pytest.approx([(-0.8 + 0.2) / 2, (1 + 0.2) / 2])
    assert "task_score" not in found  # of four kinds there is nothing
    assert rates(file, "wildbench", "faithful")["task_score"]["value"] is not None
    (row,) = open_source(write(tmp_path, score("7.5", "Math")))
    assert "whole number from 1 to 10" in str(row.problem)


def test_wildbenchs_tasks_and_scores_lie_in_two_files(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps(task("Math") | {"id": "a1", "session_id": "long"}))
    judged = {"session_id": "a1", "parsed_result": {"score": "9"}, "model_output": ["So."]}
    scores = write(tmp_path, judged | {"generator": "m"})
    (row,) = open_source(tasks, responses=scores)
    assert row.sample is not None
    assert (row.sample.response, row.sample.tags["model"]) == ("So.", "m")
    value = evaluate(tasks, responses=scores).summary["metrics"]["wildbench"]["score"]["value"]
    assert value == pytest.approx(0.8)


REFERENCE = "claude-3-haiku-20240307"


def pair(winner: str, extent: int, mine: str = "So.") -> dict[str, Any]:
    outputs = {REFERENCE: "No.", "m": mine}
    said = {"winner": winner, "extent": extent, "model_outputs": outputs}
    return task("Math", parsed_result={"choice": "A+"}, **said)


def test_wildbenchs_reward_by_hand(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        *(
            pair("m", 2),
            pair("m", 1),
            pair("m", 1, mine="Yes."),
            pair(REFERENCE, 1),
            pair(REFERENCE, 2),
        ),
        *(pair("tie", 0), pair("m", 2, mine=CUT)),
    )
    first = read(file)[0]
    assert (first.tags["model"], first.tags["reference_model"]) == ("m", REFERENCE)
    assert (first.response, first.reference) == ("So.", "No.")
    strict, faithful = (rates(file, "wildbench_reward", s) for s in ("strict", "faithful"))
    assert strict["reward"]["value"] == pytest.approx((1 + 2 / 2 - 1 / 2 - 1 + 0 + 1) / 7)
    assert "task_reward" not in strict
    assert faithful["reward"]["value"] == pytest.approx((1 + 2 / 2 - 1 / 2 - 1) / 7)
    assert faithful["task_reward"]["value"] == pytest.approx((1 + 2 / 2 - 1 / 2 - 1) / 6 / 4.75)


def test_which_of_two_models_is_the_reference_is_known_or_asked_for(tmp_path: Path) -> None:
    both = pair("m", 1)
    both["model_outputs"] = {REFERENCE: "a", "openai/gpt-4-turbo-2024-04-09": "b"}
    (row,) = open_source(write(tmp_path, both))
    assert "ref_model" in str(row.problem)
    (sample,) = read(write(tmp_path, both | {"ref_model": REFERENCE}))
    assert sample.response == "b"


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
