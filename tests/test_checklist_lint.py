"""Linting of checklists and rubrics, and their golden examples."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from heedful import meta
from heedful.core.nouns import Constraint, Sample
from heedful.jobs.checklists.linting import lint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def found(*checklist: str | dict[str, Any], prompt: str = "Do it.") -> set[tuple[int, str]]:
    items = [{"text": each} if isinstance(each, str) else each for each in checklist]
    constraints = tuple(map(Constraint.model_validate, items))
    sample = Sample(id="1", prompt=prompt, checklist=constraints)
    return {(each.constraint, each.kind) for each in lint(sample)}


@pytest.mark.parametrize(
    ("checklist", "expected"),
    [
        (["It is polite.", "It is polite!"], {(2, "duplicate")}),
        (["It names three rivers of Asia.", "Names three rivers of Asia"], {(2, "duplicate")}),
        (["It names 3 rivers.", "It names 4 rivers."], set()),
        (["It mentions dogs.", "It does not mention dogs."], {(2, "contradiction")}),
        (["它提到了狗", "它没提到了狗"], {(2, "contradiction")}),
        (
            ["It mentions the dogs.", {"text": "It does not mention the dogs.", "weight": -1}],
            {(2, "duplicate"), (0, "points")},
        ),
        (
            ["At least 200 words.", "At most 100 words."],
            {(1, "code"), (2, "code"), (2, "contradiction")},
        ),
        (["At least 100 words.", "At most 200 words."], {(1, "code"), (2, "code")}),
        *(
            (pair, {(1, "code"), (2, "code"), (2, kind)})
            for kind, *pair in (
                ("duplicate", "It mentions Paris.", "The answer mentions Paris."),
                ("duplicate", "It starts with 'Dear'.", 'It begins with "Dear".'),
                ("contradiction", "Written in English.", "Written in French."),
                ("contradiction", "All letters are lowercase.", "All letters are uppercase."),
                ("contradiction", "Ends with 'Bye'.", "Ends with 'Hello'."),
                ("contradiction", "The answer mentions Paris.", "It doesn't mention Paris."),
                ("contradiction", "Exactly 3 paragraphs.", "Contains at least 4 paragraphs."),
            )
        ),
        (["Ends with 'dear Bye'.", "Ends with 'Bye'."], {(1, "code"), (2, "code")}),
        (["不要使用逗号", "使用逗号"], {(1, "code"), (2, "contradiction")}),
        (
            ["States the total.", {"text": "Fails to state the total.", "weight": -5}],
            {(2, "duplicate"), (0, "points")},
        ),
        (
            ["States the total.", {"text": "States the total.", "weight": -5}],
            {(2, "contradiction"), (0, "points")},
        ),
        ([{"text": "It rhymes.", "source_span": "not there"}], {(1, "coverage")}),
        ([{"text": "It rhymes.", "source_span": " Do\nit. "}], set()),
        (["It greets and mentions a date."], {(1, "double-barrelled")}),
        (["Is it a poem? Is it sad?"], {(1, "double-barrelled")}),
        (["它押韵并且提到雨"], {(1, "double-barrelled")}),
        (["Salt and pepper are named."], set()),
        (
            [{"text": "No commas.", "check": {"id": "punctuation:no_coma"}}],
            {(1, "check")},
        ),
        (
            [{"text": "Few words.", "check": {"id": "length_constraints:number_words"}}],
            {(1, "check")},
        ),
        ([{"text": "It is polite.", "wieght": 3}], {(1, "field")}),
        ([{"text": "It is polite.", "author": "me"}], set()),
        (["The length is appropriate."], {(1, "vague")}),
        (["语气合适"], {(1, "vague")}),
        ([" "], {(1, "empty")}),
        ([], {(0, "empty")}),
        ([{"text": "a poem", "weight": 0}], {(0, "weights"), (0, "points")}),
        ([{"text": "a poem", "weight": 2}, "it is sad"], {(0, "points")}),
    ],
)
def test_what_is_wrong_is_found(checklist: Sequence[Any], expected: set[tuple[int, str]]) -> None:
    assert found(*checklist) == expected


def test_what_the_instruction_asks_and_no_constraint_takes_up() -> None:
    prompt = 'Write 150 words. End with "Best regards".'
    assert found("It is a letter.", prompt=prompt) == {(0, "coverage")}
    assert found({"text": "It ends rightly.", "source_span": prompt}, prompt=prompt) == set()
    assert found("It is a letter.", prompt=prompt + " x" * 2000) == set()


def test_golden_examples_that_code_decides_otherwise() -> None:
    golden = [{"response": "a; b", "met": True}, {"response": "a b", "met": True}]
    assert (1, "golden") in found({"text": "No semicolons.", "golden": golden})
    assert (1, "golden") not in found({"text": "No semicolons.", "golden": golden[1:]})
    assert (1, "golden") in found({"text": "It is sad.", "golden": "yes"})
    assert found({"text": "It is sad.", "golden": golden}) == set()  # a model must say


@given(st.lists(st.text(max_size=60), max_size=5), st.text(max_size=100))
def test_any_text_can_be_linted(texts: list[str], prompt: str) -> None:
    numbers = {number for number, _ in found(*texts, prompt=prompt)}
    assert numbers <= {*range(len(texts) + 1)}


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6))
def test_as_many_duplicates_as_there_are(letters: list[str]) -> None:
    duplicates = [
        each for each in found(*(f"It names {x}{x}." for x in letters)) if each[1] == "duplicate"
    ]
    assert len(duplicates) == len(letters) - len({*letters})


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golden = [{"response": "Sunny.", "met": False}, {"response": "Alas.", "met": True}]
    row = {"id": "1", "prompt": "Q", "checklist": [{"text": "It is sad.", "golden": golden}]}
    file, labelled, listed = (tmp_path / name for name in ("in.jsonl", "golden.jsonl", "out.jsonl"))
    file.write_text(json.dumps(row) + "\n")
    assert run("checklist", "lint", file, "--golden", labelled, "-o", listed) == 0
    assert "0 errors, 0 hints" in capsys.readouterr().out
    summary = meta(labelled, judge="rules")
    assert (summary["labels"]["met"], summary["labels"]["unmet"]) == (1, 1)
    row["checklist"] = ["It is sad.", "It is sad."]
    file.write_text(json.dumps(row) + "\n")
    assert run("checklist", "lint", file, "-o", listed) == 1
    assert "1 2: duplicate" in capsys.readouterr().out
    assert json.loads(listed.read_text())["kind"] == "duplicate"
    assert run("checklist", "lint", file, "-o", file) == 2
    assert run("checklist", "lint", tmp_path / "absent.jsonl") == 2
