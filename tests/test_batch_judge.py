"""Batches of rows: judged as in one run, however they come and wherever they are judged."""

import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful import BatchJudge, UsageError, evaluate, judge_batch
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import ScriptedModel

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "prompt": st.just("Greet."),
            "checklist": st.lists(
                st.sampled_from(["No commas.", "At most 2 words.", "It is kind."]), min_size=1
            ),
            "response": st.sampled_from(["Hi!", "Hi, you!", "", "Hello to all of you", None]),
        }
    ),
    min_size=1,
    max_size=4,
)


@given(rows=ROWS)
@settings(max_examples=25, deadline=None)
@pytest.mark.slow
def test_a_batch_comes_out_as_a_run_does(rows: list[dict[str, Any]]) -> None:
    judge = pickle.loads(pickle.dumps(BatchJudge(judge="compiled")))  # noqa: S301 - our own
    judged = judge(rows)
    expected = list(evaluate(rows, judge="compiled").records())
    for row, was, record in zip(judged, rows, expected, strict=True):
        assert {key: row[key] for key in was} == was
        assert row["judgments"] == record["judgments"]
        assert (row["csr"], row["isr"]) == (record["scores"]["csr"], record["scores"]["isr"])
        assert row["problem"] == record.get("problem")
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    arrays = {name: _arrays(column) for name, column in columns.items()}
    for batch in (columns, arrays):
        table = judge(batch)
        assert [json.loads(text) for text in table["judgments"]] == [r["judgments"] for r in judged]
        assert table["csr"] == pytest.approx(
            [np.nan if row["csr"] is None else row["csr"] for row in judged], nan_ok=True
        )
        assert table["prompt"] is batch["prompt"]


def _arrays(column: list[Any]) -> np.ndarray:
    """Make a column as Ray Data has it: of objects, lists as arrays."""
    made = np.empty(len(column), dtype=object)
    for place, value in enumerate(column):
        made[place] = np.array(value) if isinstance(value, list) else value
    return made


def test_a_row_that_cannot_be_read_says_why_and_the_others_are_judged() -> None:
    rows = [
        {"prompt": "Greet."},
        {"prompt": "Greet.", "checklist": ["No commas."], "response": "Hi!"},
    ]
    rows.append({"checklist": 3, "response": "Hi!"})
    judged = judge_batch(rows, judge="compiled")
    assert [row["csr"] for row in judged] == [None, 1.0, None]
    assert "checklist is a number (3)" in judged[2]["problem"]
    assert judge_batch([]) == []


def test_a_model_is_asked_once_a_batch_and_may_be_pickled_with_the_judge() -> None:
    reply = "<c1>\nKind.\nVERDICT: MET\n</c1>"
    model = ScriptedModel(reply)
    judge = BatchJudge(judge=Checklist(model, prompts.make("plain")))
    row = {"prompt": "Greet.", "checklist": ["It is kind."], "response": "Hi!"}
    assert [judged["isr"] for judged in judge([row, row])] == [1.0, 1.0]
    assert len(model.calls) == 1


@pytest.mark.parametrize("name", ["run", "executor", "limit", "max_cosst"])
def test_what_holds_for_a_run_only_is_refused(name: str) -> None:
    options: dict[str, Any] = {name: 1}
    with pytest.raises(UsageError, match=name):
        BatchJudge(**options)
