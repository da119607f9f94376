"""Sampling critiques: what a row gets, what it keeps, and what is said of those that fail."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from heedful import Constraint, Message, Sample, UsageError
from heedful.core.errors import ModelError
from heedful.critic.data import Expert, sample_critiques
from heedful.models import Completion, Sampling, ScriptedModel
from jsonl import read_rows

CHECKLIST = (Constraint(text="Use no commas"), Constraint(text="Write two lines"))


def sample(key: str = "1", **fields: Any) -> Sample:
    conversation = (Message(role="user", content=f"Question {key}. Use no commas."),)
    known = {"id": key, "conversation": conversation, "checklist": CHECKLIST, "response": "A\nB"}
    return Sample.model_validate(known | fields)


def critique(draw: int, verdicts: Sequence[str] = ("MET", "UNMET")) -> str:
    return "\n\n".join(
        f"<c{k}>\nDraw {draw} looked at {k}.\nVERDICT: {verdict}\n</c{k}>"
        for k, verdict in enumerate(verdicts, start=1)
    )


def drawn(_: Sequence[Message], draw: int) -> str:
    return critique(draw)


def test_each_response_gets_its_critiques_word_for_word() -> None:
    model = ScriptedModel(drawn)
    generation = sample_critiques([sample("1"), sample("2")], expert=model, samples=3)
    for row in generation:
        assert row.sample is not None
        assert row.sample.recording is not None
        assert row.sample.recording.prompt == "plain"
        assert list(row.sample.recording.others) == [critique(draw) for draw in range(3)]
        assert row.sample.recording.text is None
    assert generation.summary["counts"] == {"critiques": 6, "undecided_critiques": 0}
    assert model.calls[0].sampling.temperature == 1.0
    assert sorted(call.sample for call in model.calls) == [0, 0, 1, 1, 2, 2]


def test_a_critique_that_leaves_something_open_is_asked_for_again_as_a_whole() -> None:
    def reply(_: Sequence[Message], draw: int) -> str | Completion:
        if draw == 0:
            return critique(draw, ["MET"])
        if draw == 1:
            return Completion(text="<c1>\nIt", finish_reason="length")
        return critique(draw)

    model = ScriptedModel(reply)
    generation = sample_critiques([sample()], expert=model, samples=2)
    (row,) = generation
    assert row.sample is not None
    assert row.sample.recording is not None
    assert list(row.sample.recording.others) == [critique(1000), critique(1001)]
    assert generation.summary["counts"]["undecided_critiques"] == 0
    assert generation.summary["cost"]["reasks"] == 2
    stubborn = ScriptedModel(critique(0, ["MET"]))
    summary = sample_critiques([sample()], expert=stubborn, samples=2).summary
    assert summary["counts"] == {"critiques": 2, "undecided_critiques": 2}


def test_a_row_with_fewer_critiques_than_asked_says_so_and_gets_the_rest(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    options: dict[str, Any] = {"run": tmp_path / "run", "output": out, "samples": 3}
    broken = ScriptedModel(drawn, fail={1: ModelError("busy", where="expert")}.get)
    first = sample_critiques([sample()], expert=broken, **options)
    assert first.summary["rows"]["failed"] == 1
    (row,) = read_rows(out)
    assert re.search("2 of 3 .*expert: busy", row["problem"])
    assert len(row["recording"]["others"]) == 2
    assert row["recording"]["requested"] == 3
    model = ScriptedModel(drawn)
    sample_critiques([sample()], expert=model, retry_failed=True, **options)
    assert [call.sample for call in model.calls] == [1]
    (row,) = read_rows(out)
    assert row["recording"]["others"] == [critique(draw) for draw in range(3)]
    assert "problem" not in row


def test_what_was_sampled_before_stays_and_a_final_critique_does_too() -> None:
    held = {"prompt": "plain", "text": critique(7), "others": [critique(8)]}
    model = ScriptedModel(drawn)
    kept = sample_critiques([sample(recording=held)], expert=model)
    assert kept.summary["rows"]["unchanged"] == 1
    assert not model.calls
    (row,) = sample_critiques([sample(recording=held)], expert=model, samples=2, overwrite=True)
    assert row.sample is not None
    assert row.sample.recording is not None
    assert row.sample.recording.text == critique(7)
    assert list(row.sample.recording.others) == [critique(0), critique(1)]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"response": None}, "no response"),
        ({"response": " \n"}, "the response is empty"),
        ({"conversation": [{"role": "user", "content": "\u200b\n"}]}, "no instruction"),
        ({"recording": {"prompt": "if_critic", "text": "x"}}, "prompt if_critic"),
    ],
)
def test_a_row_that_cannot_be_criticised_is_named_without_a_call(
    fields: dict[str, Any], problem: str
) -> None:
    model = ScriptedModel(drawn)
    bad, good = sample_critiques([sample("1", **fields), sample("2")], expert=model, samples=2)
    assert bad.problem is not None
    assert problem in bad.problem
    assert good.problem is None
    assert len(model.calls) == 2


def test_wrong_use_is_refused() -> None:
    model = ScriptedModel("x")
    with pytest.raises(UsageError, match="temperature"):
        sample_critiques([sample()], expert=Expert(model, sampling=Sampling()))
    with pytest.raises(UsageError, match="samples is 0"):
        sample_critiques([sample()], expert=model, samples=0)
    with pytest.raises(UsageError, match="cfbench"):
        sample_critiques([sample()], expert=Expert(model, "cfbench"))
    with pytest.raises(UsageError, match="telepathy"):
        sample_critiques([sample()], expert=Expert(model, "telepathy"))
