"""Benchmarks of rubrics: their files as they are, and their published numbers."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from heedful import evaluate
from heedful.core.errors import RowError
from heedful.core.nouns import Critique, Sample, Scoring
from heedful.data.formats import FORMATS, open_source
from heedful.judges import prompts
from heedful.metrics import Summary


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
    assert strict["csr"]["bounds"] == pytest.approx([(1 / 2 + 1 + 1 / 2) / 3, (1 / 2 + 1 + 1) / 3])
    assert strict["drfr"]["bounds"] == pytest.approx([3 / 5, 4 / 5])
    assert strict["isr"]["bounds"] == pytest.approx([1 / 3, 2 / 3])


@pytest.mark.slow
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


# --- signed points ------------------------------------------------------------------------------


def health(said: str, points: Sequence[int] = (7, -9), **more: Any) -> dict[str, Any]:
    return {
        "prompt_id": f"q{more.get('n', 1)}",
        "prompt": [{"role": "user", "content": f"Tooth hurts {more.get('n', 1)}, what now?"}],
        "rubrics": [
            {"criterion": f"c{at}", "points": each, "tags": ["level:example", "axis:accuracy"]}
            | ({} if sign == "?" else {"criteria_met": sign == "+", "explanation": "So."})
            for at, (each, sign) in enumerate(zip(points, said, strict=True))
        ],
        "example_tags": ["theme:context_seeking"],
        "completion": "See a dentist.",
    }


def test_healthbench(tmp_path: Path) -> None:
    (sample, *_) = read(tmp_path, health("+-"), health("-+", n=2))
    assert [each.weight for each in sample.checklist] == [7, -9]
    assert (sample.checklist[0].type, sample.tags["theme"]) == ("accuracy", "context_seeking")
    measure = metrics(tmp_path)["healthbench"]["score"]
    assert measure["numerator"] == pytest.approx(1 - 9 / 7)
    assert measure["value"] == 0


def test_researchrubrics_with_partial_verdicts(tmp_path: Path) -> None:
    def rubric(*verdicts: str | None) -> dict[str, Any]:
        return {
            "sample_id": "ab12",
            "prompt": f"Survey heat pumps {verdicts}",
            "domain": "Energy",
            "response": "A survey.",
            "rubrics": [
                {"criterion": f"c{weight}", "weight": weight, "axis": "Explicit"}
                | ({"verdict": verdict} if verdict else {})
                for weight, verdict in zip((4.0, 2.0, -5.0), verdicts, strict=True)
            ],
        }

    (sample,) = read(tmp_path, rubric("Satisfied", "Partially Satisfied", "Not Satisfied"))
    assert sample.checklist[0].scale is not None
    found = metrics(tmp_path)["researchrubrics"]["score"]
    assert found["value"] == pytest.approx(5 / 6)
    (sample,) = read(tmp_path, rubric("Satisfied", "Not Satisfied", "Satisfied"))
    assert sample.checklist[0].scale is None
    assert metrics(tmp_path)["researchrubrics"]["score"]["value"] == pytest.approx(-1 / 6)
    # A judge that failed counts as 0 in the published code: a gift where the points are negative.
    read(tmp_path, rubric("Satisfied", "Satisfied", "Error"))
    assert metrics(tmp_path, "faithful")["researchrubrics"]["score"]["value"] == 1
    strict = metrics(tmp_path)["researchrubrics"]["score"]
    assert strict["bounds"] == [pytest.approx(1 / 6), 1]


def profbench(domain: str, task: str, **fulfilled: Sequence[bool]) -> dict[str, Any]:
    return {
        "task_id": task,
        "domain": domain,
        "prompt": f"Do {task}.",
        "rubrics": [
            {
                "criterion_description": f"c{at}",
                "criterion_type": ["Reasoning"],
                "criterion_weight": weight,
            }
            | {f"{model}_fulfilment": said[at] for model, said in fulfilled.items()}
            for at, weight in enumerate(("Critical", "Minor"))
        ],
    } | {f"{model}_response": "So." for model in fulfilled}


def test_profbench(tmp_path: Path) -> None:
    samples = read(tmp_path, profbench("Finance MBA", "f1", o3=[True, False], grok4=[True, True]))
    assert [sample.id for sample in samples] == ["f1/o3", "f1/grok4"]
    assert [each.weight for each in samples[0].checklist] == [4, 2]
    assert (samples[0].labels, samples[1].labels) == ((True, False), (True, True))
    rating = {
        "task_id": "f1",
        "domain": "Finance MBA",
        "criterion_weight": "Critical",
        "criterion_type": ["Reasoning"],
        "criterion_description": "Uses the cost of debt",
        "human_annotation": True,
        "response": "…",
        "judge_rating": "Yes",
    }
    (judged,) = read(tmp_path, rating)
    assert judged.labels == (True,)
    assert judged.recording is not None
    (problem,) = problems(tmp_path, rating | {"criterion_weight": "Huge"})
    assert "Critical, Major, Minor" in problem


def ratings(**responses: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """Write a judge's rows, one a criterion: its weight and the rating; those of a model mixed."""
    most = max(map(len, responses.values()))
    for place in range(most):
        for response, rated in responses.items():
            if place < len(rated):
                weight, rating = rated[place]
                task, _, model = response.partition("_")
                yield {
                    "task_id": task,
                    "domain": "Finance MBA" if task == "f1" else "Physics PhD",
                    "criterion_weight": weight,
                    "criterion_type": ["Reasoning", "Style"],
                    "criterion_description": f"c{place}",
                    "human_annotation": True,
                    "model": model,
                    "response": f"By {response}",
                    "judge_rating": rating,
                }


def test_profbenchs_judged_criteria_are_scored_by_response(tmp_path: Path) -> None:
    read(
        tmp_path,
        *ratings(
            f1_o3=[("Critical", "Yes"), ("Minor", "No, because"), ("Additional", "Yes.")],
            f1_r1=[("Critical", "No"), ("Minor", "Yes")],
            p1_o3=[("Major", "Yes"), ("Minor", "No")],
        ),
    )
    scores = (5 / 7, 2 / 6, 3 / 5)
    for scoring in ("strict", "faithful"):
        found = metrics(tmp_path, scoring)
        assert found["profbench"]["score"]["value"] == pytest.approx(sum(scores) / 3)
        domain = (scores[0] + scores[1]) / 2
        digits = 3 if scoring == "faithful" else 9
        overall = (round(domain, digits) + scores[2]) / 2
        assert found["profbench"]["overall"]["value"] == pytest.approx(overall, abs=1e-9)
        # One criterion is no draw of a response, and no rubric.
        assert not {"reliability", "rubric", "prbench"} & found.keys()
    by = evaluate(tmp_path / "in.json").summary["by"]["constraint criterion type"]
    assert {kind: measure["denominator"] for kind, measure in by.items()} == {
        "Reasoning": 7,
        "Style": 7,
    }


def test_researchrubrics_result_rows_are_scored_by_response(tmp_path: Path) -> None:
    rows = [
        {
            "sample_id": sample,
            "rubric_title": f"c{place}",
            "verdict": verdict,
            "weight": weight,
            "score": 0,
            "success": verdict != "Error",
        }
        for place in range(3)
        for sample, said in (
            ("a", [("Satisfied", 4), ("Partially Satisfied", 2), ("Satisfied", -3)]),
            ("b", [("Not Satisfied", 5), ("Satisfied", 5)]),
        )
        if place < len(said)
        for verdict, weight in [said[place]]
    ]
    read(tmp_path, *rows)
    for scoring in ("strict", "faithful"):
        score = metrics(tmp_path, scoring)["researchrubrics"]["score"]
        assert score["value"] == pytest.approx(((4 + 1 - 3) / 6 + 5 / 10) / 2)


def test_ruverbench_divides_by_the_signed_sum(tmp_path: Path) -> None:
    record = {
        "id": "Q7",
        "question": "Report on X",
        "rubric": [{"point": "a", "weight": 3}, {"point": "b", "weight": -1}, {"point": "c"}],
        "result": {
            "coverage_results": [
                {"point": "b", "covered": True},
                {"point": "a", "covered": True},
                {"point": "c", "covered": False},
            ]
        },
        "response": "A report.",
    }
    read(tmp_path, record)
    assert metrics(tmp_path)["ruverbench"]["recall"]["value"] == pytest.approx(
        (3 - 1) / (3 - 1 + 1)
    )
    (problem,) = problems(tmp_path, {"id": "Q7", "result": record["result"]})
    assert "--responses" in problem


JOINED = {
    "ruverbench": ("id", "response", "result"),
    "multichallenge": ("QUESTION_ID", "RESPONSE"),
    "healthbench": ("prompt_id", "completion"),
    "infobench": ("id", "output", "eval"),
}
"""The key of a benchmark's record, and the fields of its own file of responses."""


@pytest.mark.parametrize("name", sorted(JOINED))
def test_a_benchmarks_own_file_of_responses_is_read_as_part_of_its_records(
    name: str, tmp_path: Path
) -> None:
    record, (key, *said) = RECORDS[name], JOINED[name]
    question = {field: value for field, value in record.items() if field not in said}
    answer = {field: record[field] for field in (key, *said)}
    whole, questions, answers = (tmp_path / f"{part}.json" for part in ("whole", "q", "a"))
    whole.write_text(json.dumps([record]))
    questions.write_text(json.dumps([question]))
    answers.write_text(json.dumps([answer, {**answer, key: "nobody's"}]))
    *rows, left = list(open_source(questions, responses=answers))
    assert [row.sample for row in rows] == [row.sample for row in open_source(whole)]
    assert all(row.sample is not None and row.sample.response for row in rows)
    assert "joins no prompt" in str(left.problem)
    answers.write_text(json.dumps([answer, answer]))
    (row,) = open_source(questions, responses=answers)
    assert "keep one of them" in str(row.problem)


# --- questions ----------------------------------------------------------------------------------


def complexbench(said: str) -> dict[str, Any]:
    return {
        "main_id": 3,
        "group": "g9",
        "category": "Selection_1",
        "instruction": "If it rains … else …",
        "generated": "So.",
        "scoring_questions": [
            {
                "point_id": at,
                "question": f"q{at}",
                "rule": None,
                "dep": [at - 1] if at else [],
                "constraint_dimensions": ["Factuality"],
                "composition_types": [],
            }
            for at in range(len(said))
        ],
        "point_judges": [sign == "+" for sign in said],
    }


def test_complexbench_goes_one_step_only_in_faithful_scoring(tmp_path: Path) -> None:
    read(tmp_path, complexbench("-++"))
    file = tmp_path / "in.json"

    def statuses(scoring: Scoring) -> str:
        (row,) = evaluate(file, scoring=scoring)
        assert row.critique is not None
        return "".join(judgment.status[0] for judgment in row.critique.judgments)

    assert statuses("faithful") == "uum"
    assert statuses("strict") == "uuu"
    assert metrics(tmp_path, "faithful")["infobench"]["drfr"]["value"] == pytest.approx(1 / 3)
    (problem,) = problems(tmp_path, complexbench("+") | {"point_judges": [True, True]})
    assert "point_judges" in problem


def selection(
    group: str, at: int, said: str, *, depth: int = 1, dimensions: Sequence[str] = ("Length",)
) -> dict[str, Any]:
    """Write an item of ComplexBench's coherent test, its first questions on selections."""
    record = complexbench(said) | {"main_id": f"{group}-{at}", "group": group, "idx_in_group": at}
    record["instruction"] = f"If {group} {at} …"
    for place, question in enumerate(record["scoring_questions"]):
        question |= {
            "dep": [],
            "constraint_dimensions": list(dimensions),
            "composition_types": ["Selection"] if place < depth else ["And"],
        }
    return record


def test_complexbenchs_coherent_test_by_hand(tmp_path: Path) -> None:
    read(
        tmp_path,
        # The first item decides how deep a group is, wherever it stands.
        *(selection("a", 1, "++", depth=2), selection("a", 0, "++")),
        *(selection("b", 0, "+-"), selection("b", 1, "++"), selection("b", 2, "++")),
        *(selection("c", 0, "-+", depth=2), selection("c", 1, "+-")),
        selection("d", 0, "--", depth=0),
    )
    for scoring in ("strict", "faithful"):
        found = metrics(tmp_path, scoring)["complexbench"]
        values = {name: measure["value"] for name, measure in found.items()}
        assert values == pytest.approx(
            {
                "single_origin": 4 / 5,
                "single_coherent": 1 / 2,
                "single_drop": (4 / 5 - 1 / 2) / (4 / 5),
                "multiple_origin": 0,
                "multiple_coherent": 0,
                "multiple_drop": None,
            }
        )
        assert found["single_drop"]["bounds"] == pytest.approx([0.375, 0.375])


def test_complexbench_counts_a_question_under_all_that_it_is_about(tmp_path: Path) -> None:
    read(
        tmp_path,
        selection("a", 0, "+-", dimensions=("Length", "Template", "Keywords", "New")),
        selection("b", 0, "++", dimensions=("Topic",)),
    )
    summary = evaluate(tmp_path / "in.json").summary
    by = summary["by"]
    counted = {
        kind: {
            value: (measure["numerator"], measure["denominator"])
            for value, measure in by[f"constraint {kind}"].items()
        }
        for kind in ("dimension", "dimension group", "composition")
    }
    assert counted["dimension"] == dict.fromkeys(
        ("Length", "Template", "Keywords", "New"), (1, 2)
    ) | {"Topic": (2, 2)}
    # Structure has two of them: the published code counts the question twice.
    groups = {"Structure": (2, 4), "Lexical": (1, 2), "Others": (1, 2), "Semantic": (2, 2)}
    assert counted["dimension group"] == groups
    assert counted["composition"] == {"Selection": (2, 2), "And": (1, 2)}


def test_infobench_ends_at_the_first_unclear_answer(tmp_path: Path) -> None:
    questions = {"decomposed_questions": [*"abcd"], "eval": [True, True, None]}
    read(tmp_path, RECORDS["infobench"] | questions)
    strict = metrics(tmp_path)["infobench"]["drfr"]
    assert strict["bounds"] == [0.5, 1]
    faithful = metrics(tmp_path, "faithful")["infobench"]["drfr"]
    assert (faithful["numerator"], faithful["denominator"]) == (2, 3)


def test_multichallenge_averages_its_axes(tmp_path: Path) -> None:
    def question(name: str, axis: str, wanted: str, *responses: str) -> dict[str, Any]:
        own = {"QUESTION_ID": name, "AXIS": axis, "PASS_CRITERIA": wanted}
        said = {"CONVERSATION": [{"role": "user", "content": f"A recipe {name}?"}]}
        return RECORDS["multichallenge"] | own | said | {"RESPONSE": list(responses)}

    samples = read(
        tmp_path, question("a", "X", "YES", "Yes.", "No."), question("b", "Y", "NO", "So.")
    )
    assert [sample.id for sample in samples] == ["a", "a#2", "b"]
    assert "no: Is it" in samples[2].checklist[0].text
    judged = [
        sample.model_dump(mode="json", exclude_defaults=True) | {"judgments": [{"status": met}]}
        for sample, met in zip(samples, (True, False, True), strict=True)
    ]
    read(tmp_path, *judged, name="native")
    found = metrics(tmp_path)["multichallenge"]
    assert found["overall"]["value"] == pytest.approx((1 / 2 + 1) / 2)
    assert found["any_attempt"]["value"] == 1


def test_trace_with_labels(tmp_path: Path) -> None:
    checklist = {"constraints_splits": ["短", "美", "真"], "levels2": ["a", "b", "c"]}
    record = RECORDS["trace"] | checklist | {"labels": ["是", 0, None]}
    (sample,) = read(tmp_path, record)
    assert sample.labels == (True, False, None)
    (problem,) = problems(tmp_path, record | {"labels": ["maybe", 0, 1]})
    assert "maybe" in problem


# --- anything in any field ----------------------------------------------------------------------

ODD: list[Any] = [None, -1.5, True, "x", [], [None], {"a": 1}, [["x"]], 1e400]

RECORDS: dict[str, dict[str, Any]] = {
    "structflow": flow(turn("Yes", "No"), turn("N/A", "Yes")),
    "healthbench": health("+-"),
    "profbench": profbench("Finance MBA", "f1", o3=[True, False]),
    "complexbench": complexbench("-+"),
    "researchrubrics": {
        "sample_id": "a",
        "prompt": "Q",
        "domain": "d",
        "response": "A",
        "rubrics": [{"criterion": "c", "weight": 1.0, "axis": "x", "verdict": "Satisfied"}],
    },
    "ruverbench": {
        "id": "Q7",
        "question": "Q",
        "rubric": [{"point": "a", "weight": 3}],
        "response": "A",
        "result": {"coverage_results": [{"point": "a", "covered": True}]},
    },
    "infobench": {
        "id": "u",
        "input": "i",
        "instruction": "I",
        "output": "O",
        "decomposed_questions": ["a", "b"],
        "eval": [True, None],
    },
    "multichallenge": {
        "QUESTION_ID": "q",
        "AXIS": "a",
        "PASS_CRITERIA": "YES",
        "RESPONSE": ["r"],
        "CONVERSATION": [{"role": "user", "content": "Q"}],
        "TARGET_QUESTION": "Is it?",
    },
    "wildbench": {
        "session_id": "a",
        "conversation_input": [{"role": "user", "content": "Q"}],
        "checklist": ["Is it?"],
        "primary_tag": "Math",
        "secondary_tags": ["Planning"],
        "parsed_result": {"strengths": "s", "score": "8"},
        "model_test": "m",
        "score": "8",
        "model_output": "So.",
    },
    "paperbench": {
        "paper_id": "p",
        "judge_output": {
            "graded_task_tree": {
                "id": "a",
                "requirements": "All.",
                "weight": 1,
                "sub_tasks": [
                    {
                        "id": "b",
                        "requirements": "It is.",
                        "weight": 2,
                        "sub_tasks": [],
                        "task_category": "Code Development",
                        "score": 1.0,
                        "valid_score": True,
                        "explanation": "So.",
                    }
                ],
            }
        },
    },
    "trace": {
        "id": "0",
        "messages": [{"role": "user", "content": "Q"}],
        "constraints_splits": ["a"],
        "levels2": ["l"],
        "labels": [1],
        "category": "c",
        "response": "r",
    },
}


def changed(value: Any, odd: Any) -> Iterator[Any]:
    """Put something odd in the place of each part of a value, in turn."""
    yield odd
    if isinstance(value, dict):
        for key, part in value.items():
            yield {name: each for name, each in value.items() if name != key}
            for other in changed(part, odd):
                yield {**value, key: other}
    elif isinstance(value, list):
        for place, part in enumerate(value):
            for other in changed(part, odd):
                yield [*value[:place], other, *value[place + 1 :]]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_record_with_anything_in_any_field_is_read_or_named(name: str, tmp_path: Path) -> None:
    record = RECORDS[name]
    records = [r for odd in ODD for r in changed(record, odd) if isinstance(r, dict)]
    wanted = FORMATS[name]
    for each in records:  # no error but the one that names what is wrong
        with suppress(RowError):
            for part in wanted.turns(each):
                wanted.sample(part, 1)
    file = tmp_path / "in.jsonl"
    lines = (json.dumps(each, ensure_ascii=False) for each in [record, *records])
    file.write_text("".join(line.replace("Infinity", "1e400") + "\n" for line in lines))
    rows = list(open_source(file, format=name))
    assert rows[0].problem is None
    assert len(rows) >= len(records)
    for row in rows:
        assert (row.sample is None) != (row.problem is None)
        if row.sample is not None:
            summary = Summary()
            recording = row.sample.recording
            count = len(row.sample.checklist)
            judgments = prompts.read(recording, row.sample.checklist) if recording else []
            assert len(judgments) == (count if recording else 0)
            summary.add(row.sample, Critique(judgments=tuple(judgments)))
            summary.result()
