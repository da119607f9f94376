"""Evaluations in Python: rows by place, verdicts as tables, their look in a notebook."""

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful import Constraint, Critique, Evaluation, Judgment, Sample, Status, evaluate
from heedful.engine.store import Entry
from heedful.jobs.results import Scored, StoredSample, line, record, scored_entry, written

ROWS: list[dict[str, Any]] = [
    {
        "id": f"r{number}",
        "prompt": "Greet.",
        "checklist": [
            {"text": "No commas.", "check": "punctuation:no_comma"},
            {"text": "It is kind.", "type": "content"},
        ],
        "response": "Hi!" if number % 2 else "Hi, you!",
        "labels": [True, None],
        "tags": {"model": "a", "level": number} if number % 2 else {"model": "b"},
    }
    for number in range(5)
]


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return evaluate(ROWS)


@given(place=st.integers(-6, 6) | st.slices(7))
@settings(max_examples=60)
def test_rows_are_indexed_as_in_a_list(place: Any, evaluation: Evaluation) -> None:
    rows = list(evaluation)
    assert len(evaluation) == len(rows) == len(ROWS)
    try:
        expected = rows[place]
    except IndexError:
        with pytest.raises(IndexError):
            evaluation[place]
    else:
        assert evaluation[place] == expected


def test_a_verdict_names_its_constraint(evaluation: Evaluation) -> None:
    first, second = evaluation[0].verdicts
    assert (first.constraint, first.status, first.met, first.label) == (
        "No commas.",
        "unmet",
        False,
        True,
    )
    assert first.explanation == "1 comma, none allowed"
    assert (second.constraint, second.type, second.met) == ("It is kind.", "content", None)


def test_an_undecided_verdict_is_neither_met_nor_unmet(evaluation: Evaluation) -> None:
    for cells in evaluation.table("sample"):
        assert cells["met"] + cells["unmet"] + cells["undecided"] == cells["constraints"] == 2
        assert cells["fully_met"] is (False if cells["unmet"] else None)


@pytest.mark.parametrize(("by", "rows"), [("judgment", 10), ("sample", 5)])
def test_a_table_has_the_same_columns_in_every_row(
    by: Any, rows: int, evaluation: Evaluation
) -> None:
    table = list(evaluation.table(by))
    assert len(table) == rows
    assert len({tuple(cells) for cells in table}) == 1
    assert {"tags.model", "tags.level"} <= table[0].keys()


@pytest.mark.slow
def test_pandas_takes_the_table(evaluation: Evaluation) -> None:
    pytest.importorskip("pandas")
    frame = evaluation.to_pandas()
    assert len(frame) == 10
    assert frame["met"].isna().sum() == 5
    assert evaluation.to_pandas(by="sample")["met"].sum() == 2


@pytest.mark.slow
def test_datasets_takes_the_table_and_gives_it_back(evaluation: Evaluation) -> None:
    pytest.importorskip("datasets")
    dataset = evaluation.to_dataset()
    assert dataset.num_rows == 10
    mixed = evaluate([{**ROWS[0], "id": str(n), "tags": {"x": x}} for n, x in enumerate([1, "a"])])
    assert mixed.to_dataset("sample")["tags.x"][:] == ["1", "a"]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        self.names.add(tag)


@settings(max_examples=20)
@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))
def test_a_notebook_shows_text_and_no_markup_of_the_data(text: str) -> None:
    hostile = f"<script>{text}</script><img src=x onerror=1>"
    row = {"id": hostile, "prompt": "x", "checklist": [hostile], "response": hostile}
    shown = evaluate([row])._repr_html_()
    parsed = Tags()
    parsed.feed(shown)
    assert parsed.names <= {"p", "b", "br", "table", "thead", "tbody", "tr", "th", "td"}


def test_it_reads_as_a_sentence(evaluation: Evaluation) -> None:
    shown = repr(evaluation)
    assert re.search(r"5 responses: constraints met 20\.0 to 70\.0 %: 5 of 5 undecided", shown)
    assert "50.0 %" in shown
    assert "2 responses" not in shown


def test_an_evaluation_without_rows_is_still_one() -> None:
    nothing = evaluate([])
    assert nothing
    assert len(nothing) == 0
    assert nothing[:3] == []
    assert "nothing decided" in repr(nothing)
    assert nothing._repr_html_()
    unchecked = evaluate([{"prompt": "Write.", "response": "No.", "rulz": ["at most 5 words"]}])
    assert "no sample has a constraint" in repr(unchecked)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JUDGMENTS = st.builds(
    lambda fields, extra: Judgment.model_validate({**extra, **fields}),
    st.fixed_dictionaries(
        {"status": st.sampled_from(Status), "explanation": TEXTS, "judge": TEXTS},
        optional={
            "confidence": st.floats(0, 1),
            "loose": st.sampled_from([Status.MET, Status.UNMET]),
            "votes": st.just(({"judge": "a", "status": "met"},)),
            "evidence": TEXTS,
        },
    ),
    st.dictionaries(TEXTS, TEXTS | st.integers() | st.booleans(), max_size=1),
)


@given(judgments=st.lists(JUDGMENTS, min_size=1, max_size=3), text=TEXTS, data=st.data())
@settings(max_examples=100)
def test_a_row_is_the_same_as_it_is_judged_in_the_store_and_in_the_results(
    judgments: list[Judgment], text: str, data: st.DataObject
) -> None:
    source = data.draw(st.dictionaries(TEXTS, TEXTS | st.floats(-1, 1), max_size=2))
    tags = data.draw(st.dictionaries(TEXTS, TEXTS, max_size=1))
    checklist = tuple(Constraint(text=f"{text}{number}") for number in range(len(judgments)))
    sample = Sample(id=text, checklist=checklist, response=text, source=source, tags=tags)
    declared = data.draw(st.sampled_from([{}, {"cfbench": 1}]))
    critique = Critique(judgments=tuple(judgments), text=text or None, declared=declared)
    entry = Entry(0, 1, text, StoredSample.of(sample), None, written(critique), None)
    read = entry._replace(input=str(entry.input), output=str(entry.output))
    row = Scored(1, text, sample, critique, None)
    assert scored_entry(read) == scored_entry(entry)
    assert (scored_entry(read).sample, scored_entry(read).critique) == (sample, critique)
    lines = [line(row, "strict"), line(row, "strict", entry=entry), line(row, "strict", entry=read)]
    assert lines == [lines[0]] * 3
    assert json.loads(lines[0]) == json.loads(json.dumps(record(row, "strict")))
