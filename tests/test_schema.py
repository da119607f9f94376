"""The nouns: what a keyword may be called in Python, and what of a file is kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from heedful import Check, Constraint, Critique, Judgment, Message, Sample, UsageError, evaluate
from heedful.core.nouns import Expense, Recording
from heedful.core.problems import Problem, Solution
from heedful.data.formats import native
from heedful.judges.model import Checklist
from heedful.judges.prompts.plain import Plain
from heedful.models import ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import BaseModel

NEEDED: dict[type[BaseModel], dict[str, Any]] = {
    Message: {"role": "user", "content": "x"},
    Check: {"id": "punctuation:no_comma"},
    Constraint: {"text": "x"},
    Recording: {"prompt": "plain"},
    Sample: {"id": "1"},
    Judgment: {"status": "met"},
    Expense: {"judge": "rules"},
    Critique: {},
    Problem: {"id": "1", "question": "x", "kind": "open"},
    Solution: {},
}
POLITE = Constraint(text="It is polite.")


@pytest.mark.parametrize("noun", NEEDED)
def test_a_keyword_with_a_letter_too_few_or_too_many_is_refused(noun: type[BaseModel]) -> None:
    known = {*noun.model_fields}
    tried = 0
    for field in known:
        for at in range(1, len(field) if len(field) > 3 else 0):
            for typo in (field[:at] + field[at + 1 :], field[:at] + field[at] + field[at:]):
                if typo not in known:
                    tried += 1
                    with pytest.raises(UsageError, match=f"'{typo}'.*did you mean"):
                        noun(**{**NEEDED[noun], typo: "x"})
    assert tried


@pytest.mark.parametrize(
    ("noun", "name", "meant"),
    [
        (Sample, "reponse", "response"),
        (Sample, "Response", "response"),
        (Sample, "promt", "prompt"),
        (Sample, "constraint", "constraints"),
        (Sample, "question", "prompt"),
        (Sample, "answer", "response"),
        (Sample, "rubric", "checklist"),
        (Sample, "lables", "labels"),
        (Check, "kwargs", "args"),
        (Judgment, "reason", "explanation"),
        (Critique, "judgements", "judgments"),
    ],
)
def test_the_error_names_the_field_that_was_meant(
    noun: type[BaseModel], name: str, meant: str
) -> None:
    with pytest.raises(UsageError, match=f"did you mean '{meant}'"):
        noun(**NEEDED[noun], **{name: "x"})


def test_arguments_beside_args_and_a_system_prompt_beside_the_turns_are_refused() -> None:
    arguments: Any = {"unit": "words", "at_most": 3}
    with pytest.raises(UsageError, match=r"args=\{'unit': 'words', 'at_most': 3\}"):
        Check(id="heedful:count", **arguments)
    for name in ("system", "system_prompt"):
        with pytest.raises(UsageError, match="role='system'"):
            Sample(**{"id": "1", "prompt": "Hi", name: "Be nice."})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("noun", "name"),
    [
        (Sample, "instruction_id"),
        (Sample, "completion"),
        (Sample, "response_id"),
        (Sample, "response_2"),
        (Sample, "idx"),
        (Sample, "preference"),
        (Sample, "task"),
        (Constraint, "points"),
        (Judgment, "contradiction"),
        (Judgment, "notes"),
        (Message, "name"),
    ],
)
def test_a_field_of_ones_own_is_kept(noun: type[BaseModel], name: str) -> None:
    assert noun(**NEEDED[noun], **{name: 1}).model_extra == {name: 1}


def test_fields_of_a_file_are_kept_whatever_their_names() -> None:
    record = {
        "id": "1",
        "conversation": [{"role": "user", "content": "Hi", "contents": 1}],
        "checklist": [{"text": "x", "chek": 2, "check": {"id": "a", "kwargs": 3}}],
        "response": "y",
        "reponse": "z",
        "question": "q",
    }
    read = native.sample(record, 1)
    assert native.write(read) == record
    assert native.write(Sample.model_validate_json(json.dumps(record))) == record


@pytest.mark.parametrize(
    "given",
    [
        {"prompt": "Greet."},
        {"instruction": "Greet."},
        {"prompt": [Message(role="user", content="Greet.")]},
        {"messages": [{"role": "user", "content": "Greet."}]},
        {"conversation": (Message(role="user", content="Greet."),), "prompt": None},
    ],
)
def test_a_prompt_is_a_conversation_of_one_turn(given: dict[str, Any]) -> None:
    sample = Sample(id="1", constraints=[POLITE], response="Hi.", **given)
    assert sample.conversation == (Message(role="user", content="Greet."),)
    assert sample.checklist == (POLITE,)
    assert not sample.model_extra


def test_a_prompt_beside_a_conversation_is_refused() -> None:
    turns = (Message(role="user", content="Greet."),)
    with pytest.raises(UsageError, match=r"'prompt'.* conversation"):
        Sample(id="1", prompt="Greet.", conversation=turns)


@pytest.mark.parametrize("prompt", [None, "", " \n", "\u200b"])
def test_rows_without_an_instruction_are_not_judged_by_a_model(
    tmp_path: Path, prompt: str | None
) -> None:
    row = {"prompt": prompt, "checklist": ["It is polite."], "response": "Hi."}
    comma = {"text": "No commas.", "check": "punctuation:no_comma"}
    file = tmp_path / "rows.jsonl"
    rows = [{**row, "id": "1"}, {**row, "id": "2", "checklist": [comma]}]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    model = ScriptedModel("<c1>\nIt is.\nVERDICT: MET\n</c1>")
    judged = list(evaluate(file, judge=Checklist(model, Plain())))
    assert not model.calls
    for item in judged:
        assert item.critique is not None
        assert [said.status for said in item.critique.judgments] == ["failed"]
        assert "no instruction" in item.critique.judgments[0].explanation
    by_code = evaluate(file, judge="rules").summary["verdicts"]
    assert (by_code["met"], by_code["unsupported"]) == (1, 1)


def test_a_prompt_text_of_ones_own_without_the_conversation_needs_no_instruction() -> None:
    own = "Judge.\n{{response}}\n{{checklist}}\n{{format}}"
    model = ScriptedModel("<c1>\nIt is.\nVERDICT: MET\n</c1>")
    sample = Sample(id="1", checklist=(POLITE,), response="Hi.")
    result = evaluate([sample], judge=Checklist(model, Plain(text=own)))
    assert result.summary["verdicts"]["met"] == 1
