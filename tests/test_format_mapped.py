"""Any table by a mapping of its columns."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import evaluate, export, judge_accuracy
from heedful.core.errors import HeedfulError, RowError
from heedful.core.nouns import Sample
from heedful.data.formats import named, open_source
from jsonl import write_rows

MAP = "map:question=prompt,meta.answer=response,rubric=checklist,lang=tags.language"


def record(rubric: Any, **more: Any) -> dict[str, Any]:
    return {"question": "Q", "meta": {"answer": "A"}, "rubric": rubric, "lang": "en", **more}


def read(path: Path, *records: dict[str, Any], mapping: str = MAP) -> list[Sample]:
    file = path / "in.jsonl"
    write_rows(file, records)
    rows = list(open_source(file, format=mapping))
    assert all(row.problem is None for row in rows), rows
    return [row.sample for row in rows if row.sample is not None]


RUBRICS = [
    ["a", "b"],
    [{"criterion": "a"}, {"requirement": "b"}],
    [{"title": "a", "points": 1}, {"question": "b", "weight": 2}],
    '["a", "b"]',
    '[{"description": "a"}, {"point": "b"}]',
    "a\nb",
    {"criteria": ["a", "b"]},
    {"first": "a", "second": "b"},
]


@pytest.mark.parametrize("rubric", RUBRICS)
def test_a_rubric_in_whatever_words(rubric: Any, tmp_path: Path) -> None:
    (sample,) = read(tmp_path, record(rubric))
    assert [constraint.text for constraint in sample.checklist] == ["a", "b"]
    assert (sample.conversation[0].content, sample.response) == ("Q", "A")
    assert sample.tags == {"language": "en"}


def test_points_types_and_own_fields_stay(tmp_path: Path) -> None:
    items = [{"criterion": "a", "points": -3, "axis": "accuracy", "note": "mine"}]
    (sample,) = read(tmp_path, record(items, difficulty=3))
    (constraint,) = sample.checklist
    assert (constraint.weight, constraint.type) == (-3, "accuracy")
    assert (constraint.model_extra or {})["note"] == "mine"
    assert (sample.model_extra or {})["difficulty"] == 3


@pytest.mark.parametrize(
    ("mapping", "problem"),
    [
        ("map:question", "'question'"),
        ("map:", "''"),
        ("map:question=promt", "no field 'promt'"),
        ("map:question=prompt,question=response", "'question' twice"),
        ("map:a=prompt,b=prompt", "'prompt' twice"),
        ("map:absent=prompt", "has no absent"),
    ],
)
def test_a_mapping_that_makes_no_sense_is_refused(
    mapping: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(HeedfulError) as refused:
        read(tmp_path, record(["a"]), mapping=mapping)
    assert problem in str(refused.value)


def test_a_row_without_a_mapped_column_is_a_failed_row(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    rows = [record(["a"]), {"question": "Q", "rubric": ["a"], "lang": "en", "meta": {}}]
    write_rows(file, rows)
    summary = evaluate(file, format=MAP, judge="rules").summary
    assert summary["rows"] == {"read": 1, "failed": 1}
    assert "meta.answer is missing" in summary["problems"][0]["problem"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_whatever_lies_in_a_column_is_read_or_named(value: Any) -> None:
    with suppress(RowError):  # and no other error
        assert named(MAP).sample(record(value), 1).response == "A"


def test_columns_of_one_constraint_each_make_a_checklist(tmp_path: Path) -> None:
    file = tmp_path / "wide.csv"
    file.write_text(
        "prompt,response,constraint_1,Criterion 2,checked_by\n"
        "Hi.,Hello,At most 3 words.,No commas.,nobody\n"
        "Hi.,Hello,At most 3 words.,,nobody\n"
    )
    samples = [row.sample for row in open_source(file)]
    texts = [[each.text for each in sample.checklist] for sample in samples if sample is not None]
    assert texts == [["At most 3 words.", "No commas."], ["At most 3 words."]]


@pytest.mark.parametrize("named", ["Query=prompt", "mine=response", "Rubrics=checklist"])
def test_a_mapping_of_some_columns_leaves_the_others_to_their_names(
    named: str, tmp_path: Path
) -> None:
    file = tmp_path / "in.csv"
    file.write_text("Query,mine,gpt_out,Rubrics\nHi.,Hello,Hey,No commas.\n")
    source = open_source(file, format=f"map:{named}")
    (sample,) = (row.sample for row in source)
    assert sample is not None
    assert sample.conversation[0].content == "Hi."
    assert sample.response == ("Hello" if named.startswith("mine") else "Hey")
    assert sample.checklist[0].text == "No commas."
    assert "--map" in source.said


@pytest.mark.parametrize("names", ["prompt,response,checklist", "Query,gpt_out,Rubrics"])
@pytest.mark.parametrize("beside", ["source", "Source", "tags", "Tags", "ID", "Reference", "note"])
def test_a_column_of_words_beside_loses_no_row(names: str, beside: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"{names},{beside}\nHi,a b,No commas.,web\n")
    assert evaluate(path, judge="rules,compiled").summary["verdicts"]["met"] == 1


def test_rows_of_one_criterion_each_are_told_of(tmp_path: Path) -> None:
    rows = [f"{prompt},R,Criterion {number}.\n" for prompt in "ab" for number in range(3)]
    file = tmp_path / "long.csv"
    file.write_text("prompt,output,criterion\n" + "".join(rows))
    assert "repeat the prompt" in open_source(file).said
    file.write_text("prompt,output,criterion\n" + "".join(rows[::3]))
    assert "repeat the prompt" not in open_source(file).said


def test_exported_judgments_are_measured_once_labels_are_filled_in(tmp_path: Path) -> None:
    checklist = ["At most 3 words.", "No commas.", "All lowercase."]
    rows = [{"id": "a", "prompt": "Hi.", "response": "one, two", "checklist": checklist}]
    run = evaluate(rows, run=tmp_path / "run")
    export(run, output=tmp_path / "out.csv")
    header, *lines = (tmp_path / "out.csv").read_text().splitlines()
    assert header.endswith(",label")
    filled = [line + label for line, label in zip(lines, ["met", "0", "no"], strict=True)]
    (tmp_path / "labelled.csv").write_text("\n".join([header, *filled]))
    labels = judge_accuracy(tmp_path / "labelled.csv")
    assert labels["labels"]["from"] == {"labels": 3}
    (recorded,) = labels["judges"]
    # The second constraint is unmet, as labelled; code says that the third is met.
    assert recorded["pooled"]["cells"] == {"tp": 1, "fp": 1, "fn": 0, "tn": 1}
