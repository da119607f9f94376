"""Linting of checklists and rubrics, and their golden examples."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from heedful import judge_accuracy
from heedful.core.nouns import Constraint, Sample
from heedful.jobs.checklists.linting import lint
from jsonl import write_rows


def found(*checklist: str | dict[str, Any], prompt: str = "Do it.") -> set[tuple[int, str]]:
    items = [{"text": each} if isinstance(each, str) else each for each in checklist]
    constraints = tuple(map(Constraint.model_validate, items))
    sample = Sample(id="1", prompt=prompt, checklist=constraints)
    return {(each.constraint, each.kind) for each in lint(sample)}


@pytest.mark.parametrize(
    ("checklist", "expected"),
    [
        (["It is polite.", "It is polite!"], {(2, "duplicate")}),
        (["It names 3 rivers.", "It names 4 rivers."], set()),
        (["It mentions dogs.", "It does not mention dogs."], set()),
        (
            ["At least 200 words.", "At most 100 words."],
            {(1, "code"), (2, "code"), (2, "contradiction")},
        ),
        (["At least 100 words.", "At most 200 words."], {(1, "code"), (2, "code")}),
        (
            ["It starts with 'Dear'.", 'It begins with "Dear".'],
            {(1, "code"), (2, "code"), (2, "duplicate")},
        ),
        ([{"text": "It rhymes.", "source_span": "not there"}], {(1, "coverage")}),
        ([{"text": "It rhymes.", "source_span": " Do\nit. "}], set()),
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
        ([" "], {(1, "empty")}),
        ([], {(0, "empty")}),
        ([{"text": "a poem", "weight": 0}], {(0, "weights"), (0, "points")}),
        ([{"text": "a poem", "weight": 2}, "it is sad"], {(0, "points")}),
    ],
)
def test_what_is_wrong_is_found(checklist: Sequence[Any], expected: set[tuple[int, str]]) -> None:
    assert found(*checklist) == expected


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
    write_rows(file, [row])
    assert run("checklist", "lint", file, "--golden", labelled, "-o", listed) == 0
    assert "0 errors, 0 hints" in capsys.readouterr().out
    summary = judge_accuracy(labelled, judge="rules")
    assert (summary["labels"]["met"], summary["labels"]["unmet"]) == (1, 1)
    row["checklist"] = ["It is sad.", "It is sad."]
    write_rows(file, [row])
    assert run("checklist", "lint", file, "-o", listed) == 1
    assert "1 2: duplicate" in capsys.readouterr().out
    assert json.loads(listed.read_text())["kind"] == "duplicate"
    assert run("checklist", "lint", file, "-o", file) == 2
    assert run("checklist", "lint", tmp_path / "absent.jsonl") == 2
