"""Texts of files and servers that terminals, spreadsheets and Markdown would obey."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from fault_server import refusal, serving
from heedful.core.text import printable, spreadsheet_cell

pytestmark = pytest.mark.usefixtures("empty_folder")

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\x00\x08\u202e\r\n"
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>|[a](javascript:b)`\x1b[31m"

OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "=cmd|' /C calc'!A0")


def write(hostile: str) -> None:
    """Write rows with a hostile text in each field, and rows that cannot be read for it."""
    row: dict[str, Any] = {
        "id": f"id {hostile}",
        "prompt": hostile,
        "response": f"{hostile} response",
        "checklist": [
            {"text": "No commas.", "type": f"type {hostile}", "priority": "primary"},
            {"text": f"At most 3 words {hostile}", "subtype": hostile},
        ],
        "tags": {f"tag {hostile}": f"value {hostile}"},
    }
    odd = [
        {**row, "id": f"2 {hostile}", "checklist": f"none {hostile}"},
        {**row, "id": f"3 {hostile}", "checklist": [{"text": "x", "check": {"id": hostile}}]},
        {**row, "id": f"4 {hostile}", "priority": hostile, hostile: hostile},
        {**row, "id": f"id {hostile}"},
    ]
    text = "".join(json.dumps(each) + "\n" for each in (row, *odd))
    Path("rows.jsonl").write_text(text, encoding="utf-8")


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    """Return what was printed; it obeys no command of a text."""
    printed = capsys.readouterr()
    said = printed.out + printed.err
    assert not OBEYED.search(said), repr(OBEYED.search(said))
    return said


@pytest.mark.slow
@pytest.mark.parametrize("hostile", [ESCAPES, MARKUP])
def test_no_command_prints_what_a_terminal_obeys(
    hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(hostile)
    judge = ("--judge", "rules,compiled")
    assert run("evaluate", "rows.jsonl", *judge, "--run", "a", "--log-level", "DEBUG") in {0, 1}
    assert "id " in shown(capsys)
    assert run("evaluate", f"rows{hostile}.jsonl".replace("\0", ""), *judge) == 2
    shown(capsys)
    assert run("rejudge", "a", *judge, "--run", "b") in {0, 1}
    for words in (("a", "b"), ("a", "b", "--by", f"tag {hostile}")):
        run("compare", *words)
        shown(capsys)
    run("checklist", "rows.jsonl", "--compile", "--dry-run")
    run("checklist", "rows.jsonl", "-o", "made.jsonl", "--compile")
    run("reward", "stats", "a")
    run("export", "a", "-o", "a.md")
    run(hostile.replace("\0", ""))
    shown(capsys)


def test_what_a_server_says_is_one_line_of_the_log_without_commands() -> None:
    Path("rows.jsonl").write_text(
        json.dumps({"prompt": "x", "checklist": ["Nice."], "response": "y"}), encoding="utf-8"
    )
    words = ("--judge", "checklist", "--model", "m", "--run", "run", "-q", "--log-level", "INFO")
    forged = f"no {ESCAPES}2026-01-01 00:00:00,000 INFO forged"
    with serving(refusal(400, forged)) as server:
        run("evaluate", "rows.jsonl", *words, "--base-url", server.url, "--log-file", "log.txt")
    log = Path("log.txt").read_text(encoding="utf-8")
    assert not OBEYED.search(log)
    (line,) = (line for line in log.splitlines() if line.endswith("forged"))
    assert " ERROR a call failed: " in line


@pytest.mark.parametrize("hostile", [ESCAPES, MARKUP])
def test_markdown_holds_no_html_of_a_text(hostile: str) -> None:
    write(hostile)
    assert run("evaluate", "rows.jsonl", "--judge", "compiled", "--run", "a", "-q") in {0, 1}
    assert run("export", "a", "-o", "a.md") == 0
    assert run("compare", "a", "a", "-q", "-o", "compared.md") in {0, 1}
    for page in ("a.md", "compared.md"):
        text = Path(page).read_text(encoding="utf-8")
        assert not re.search(r"(?<!\\)<", text), page


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_cell_of_an_export_is_a_formula(formula: str) -> None:
    write(formula)
    assert run("evaluate", "rows.jsonl", "--judge", "compiled", "--run", "a", "-q") in {0, 1}
    run("export", "a", "-o", "a.csv")
    with Path("a.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert f"'{formula}" in {row["subtype"] for row in rows}
    assert not any(cell.startswith(FORMULAS) for row in rows for cell in row.values())


@given(st.text() | st.integers() | st.none())
def test_a_cell_is_a_formula_for_no_text_and_keeps_it(value: str | int | None) -> None:
    cell = spreadsheet_cell(value)
    assert isinstance(value, int) or not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    if isinstance(value, str):
        assert cell.removeprefix("'") == value.replace("\0", "␀") or value.startswith("'")


@given(st.text())
def test_what_is_printable_keeps_its_length_and_lines(text: str) -> None:
    shown_text = printable(text)
    assert len(shown_text) == len(text)
    assert not OBEYED.search(shown_text)
    assert printable(shown_text) == shown_text
