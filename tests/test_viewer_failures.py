"""Where a run fails: its hardest constraints, passages, repeats, differences, ranks, judges."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import Constraint, Message, Sample, compare, evaluate, judge_accuracy
from heedful.analysis.compare.tables import leaderboard
from heedful.core.nouns import Judgment, Status
from jsonl import write_rows

pytest.importorskip("starlette", reason="the extra 'view' is not installed")
pytest.importorskip("httpx2", reason="Starlette's client needs httpx2")

from heedful.pages.passages import differences, excerpt, passages
from viewing import client, keys_of

RESPONSE = "# Title\n\nOne, two. Three! Does it? Yes.\n\n- a\n- b\n\nTHIS IS loud. She said no way."


def plain(text: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


@pytest.mark.parametrize(
    ("explanation", "expected"),
    [
        ("1 comma, asked for at most 0", [","]),
        ("2 commas, asked for at most 0", []),  # a plain search finds another number
        (
            "6 to 9 sentences, asked for at most 7",
            ["THIS IS loud.", "She said no way."],
        ),  # those beyond the bound
        ("2 bullet points, asked for at least 3", ["- a", "- b"]),
        ("1 heading, asked for exactly 2", ["# Title"]),
        ("2 words in capitals, asked for at most 0", ["THIS", "IS"]),
        ("used: 'loud'", ["loud"]),
        ("It says “no way”.", ["no way"]),
        ("412 words, asked for less than 400", []),
    ],
)
def test_verdicts_know_their_place(explanation: str, expected: list[str]) -> None:
    found = passages(RESPONSE, {1: Judgment(status=Status.UNMET, explanation=explanation)})
    assert [RESPONSE[span.start : span.end] for span in found] == expected
    shown = str(excerpt(RESPONSE, found))
    assert all(f'data-of="1">{text}</mark>' in shown for text in expected)


@given(st.text("ab ,.中", max_size=40), st.text("ab ,.中", max_size=40))
def test_differences_change_no_text(first: str, second: str) -> None:
    shown = differences(first, second)
    if shown is not None:
        sides = [unescape(re.sub("</?(?:del|ins)>", "", str(side))) for side in shown]
        assert sides == [first, second]
        assert ("<del>" in shown[0] or "<ins>" in shown[1]) == (first != second)


def repeats(verdicts: dict[str, str]) -> list[Sample]:
    """Samples of some prompts: each letter is a response, c with a comma, and n without."""
    return [
        Sample(
            id=f"{prompt}#{number}",
            conversation=(Message(role="user", content=f"Write of {prompt}."),),
            checklist=(Constraint(text="Use no commas."),),
            response="Well, yes." if letter == "c" else "Yes.",
            tags={"model": "m"},
        )
        for prompt, letters in verdicts.items()
        for number, letter in enumerate(letters, 1)
    ]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("failures") / "runs"
    evaluate(repeats({"tea": "ccnnnn", "rain": "nnn", "salt": "c"}), run=root / "mine")
    return root


def test_the_hardest_constraint_leads_to_what_failed_it(root: Path) -> None:
    browser = client(root)
    place = keys_of(browser)["mine"]
    page = browser.get(place).text
    # Three of ten responses have a comma.
    (row,) = re.findall(r"<tr data-row><th.*?</tr>", page, re.DOTALL)
    assert "Use no commas." in plain(row)
    assert "30.0" in plain(row)
    more, *examples = [unescape(link) for link in re.findall(r'href="([^"]+)"', row)]
    assert len(re.findall(r'class="id"', browser.get(more).text)) == 3
    assert len(examples) == 3
    for example in examples:
        assert "Well" in browser.get(example).text
    failures = re.findall(r'<a class="failure".*?</a>', page, re.DOTALL)
    assert 'Well<mark class="of" data-of="1">,</mark> yes.' in failures[0]


def test_repeats_of_a_prompt_stand_together(root: Path) -> None:
    browser = client(root)
    page = browser.get(f"{keys_of(browser)['mine']}/samples?group=repeats").text
    rows = [plain(row) for row in re.findall(r"<tr data-row>.*?</tr>", page, re.DOTALL)]
    # Two of four that pass of six: 4 · 3 / (6 · 5) = 0.4. The salt was asked for once.
    assert [re.findall(r"\d of \d|\d+\.\d(?= )", row)[:2] for row in rows] == [
        ["4 of 6", "40.0"],
        ["3 of 3", "100.0"],
    ]


def test_a_shared_checklist_heads_a_matrix_and_the_link_keeps_the_view(root: Path) -> None:
    browser = client(root)
    place = f"{keys_of(browser)['mine']}/samples"
    page = browser.get(f"{place}?show=verdicts&show=cost&status=unmet").text
    assert page.count('class="cell"') == 1 + 3
    assert "clamp" not in page  # neither prompt nor response was asked for
    link = unescape(re.findall(r'href="([^"]+sort=-tokens[^"]*)"', page)[0])
    assert "show=verdicts" in link
    assert "status=unmet" in link
    assert 'aria-sort="descending"' in browser.get(link).text


def test_ranks_are_those_that_data_allows(tmp_path: Path) -> None:
    def made(name: str, bad: int) -> Path:
        rows = repeats({f"p{n}": "c" if n < bad else "n" for n in range(40)})
        evaluate(rows, run=tmp_path / name)
        return tmp_path / name

    found = compare(made("worst", 40), made("good", 0), made("alike", 1), anyway=True)
    (table,) = leaderboard(found)
    assert {row[0]: row[1] for row in table.rows} == {
        "good": "1 to 2",
        "alike": "1 to 2",
        "worst": "3",
    }
    assert not list(leaderboard({**found, "runs": found["runs"][:2]}))


def test_a_judge_against_labels_is_a_page(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": f"x{n}", "prompt": "x", "checklist": ["Use no commas."], "response": "a, b"}
        for n in range(4)
    ]
    labelled = [{**row, "labels": [n == 0]} for n, row in enumerate(rows)]
    write_rows(tmp_path / "labelled.jsonl", labelled)
    found = judge_accuracy(tmp_path / "labelled.jsonl", judge=["rules,compiled"])
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "accuracy.json").write_text(json.dumps(found))
    browser = client(tmp_path / "runs")
    page = plain(browser.get(keys_of(browser)["accuracy.json"]).text)
    assert "Verdicts unlike the labels" in page
    assert "x0, 1 Use no commas. met unmet 1 comma" in page
