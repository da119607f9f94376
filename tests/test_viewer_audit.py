"""Audits in the viewer: drawn, answered, and read back by the command line."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

import pytest

from heedful.critic.data.audit import Audit, draw
from jsonl import write_rows

pytest.importorskip("starlette", reason="the extra 'view' is not installed")
pytest.importorskip("httpx2", reason="Starlette's client needs httpx2")

from viewing import HOST, client, keys_of, make_run

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient

ORIGIN = {"origin": f"http://{HOST}"}
QUESTIONS = ("judgment_correct", "explanation_correct")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_run(tmp_path / "runs" / "small", 12)
    return tmp_path / "runs"


@pytest.fixture
def browser(root: Path) -> TestClient:
    return client(root)


@pytest.fixture
def audit(browser: TestClient) -> str:
    """The address of an audit of all samples."""
    address = f"{keys_of(browser)['small']}/audit"
    answer = browser.post(address, headers=ORIGIN, data={"samples": "12", "seed": "1"})
    assert answer.status_code == 200
    return str(answer.url.path)


def post(browser: TestClient, audit: str, row: int, question: str, answer: str) -> str:
    data = {"row": str(row), "question": question, "answer": answer}
    said = browser.post(audit, headers=ORIGIN, data=data)
    assert said.status_code == 200, said.text
    return str(said.url)


def cells(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_each_answer_is_in_the_file_at_once(browser: TestClient, audit: str, root: Path) -> None:
    path = root / "small" / "audit.csv"
    before = cells(path)
    assert len(before) == 12  # what code did not decide is not asked about
    assert post(browser, audit, 1, QUESTIONS[0], "yes").endswith("row=1")
    assert cells(path)[0] == before[0] | {QUESTIONS[0]: "yes"}
    assert cells(path)[1:] == before[1:]
    assert post(browser, audit, 1, QUESTIONS[1], "no").endswith("row=2")
    for row in range(2, 13):
        post(browser, audit, row, QUESTIONS[0], "unsure" if row == 2 else "yes")
        post(browser, audit, row, QUESTIONS[1], "yes")
    post(browser, audit, 3, "note", "=SUM(1) 是 ✓")
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    assert cells(path)[2]["note"] == "'=SUM(1) 是 ✓"
    questions, _ = Audit(path).measures()
    assert questions[QUESTIONS[0]]["accuracy"] == 1.0
    assert questions[QUESTIONS[0]]["of"] == 11
    assert questions[QUESTIONS[0]]["unsure"] == 1
    assert questions[QUESTIONS[1]]["right"] == 11


def test_an_audit_goes_on_where_it_stopped_and_shows_the_agreement(
    browser: TestClient, audit: str, root: Path
) -> None:
    post(browser, audit, 1, QUESTIONS[0], "yes")
    post(browser, audit, 1, QUESTIONS[1], "yes")
    post(browser, audit, 2, QUESTIONS[0], "no")
    page = client(root).get(audit).text
    assert "row 2 of 12" in page
    assert "3 of 24 questions answered" in page
    table = re.sub(r"<[^>]+>|\s+", " ", page.partition("So far")[2])
    assert "50.0" in table
    assert "1 / 2" in table
    post(browser, audit, 2, QUESTIONS[0], "")
    assert "2 of 24 questions answered" in browser.get(audit).text


def test_what_was_changed_elsewhere_meanwhile_stays(
    browser: TestClient, audit: str, root: Path
) -> None:
    path = root / "small" / "audit.csv"
    rows = cells(path)
    rows[5]["note"] = "from a spreadsheet"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    post(browser, audit, 1, QUESTIONS[0], "yes")
    assert cells(path)[5]["note"] == "from a spreadsheet"
    assert len(cells(path)) == len(rows)


@pytest.mark.parametrize(
    "given",
    [
        ("99", "judgment_correct", "yes"),
        ("x", "judgment_correct", "yes"),
        ("1", "judgment_correct", "perhaps"),
        ("1", "response", "yes"),
        ("1", "note", "n" * 20_000),
        ("1", "note", "n" * 200_000),
    ],
)
def test_other_answers_are_refused_and_change_nothing(
    browser: TestClient, audit: str, root: Path, given: tuple[str, str, str]
) -> None:
    path = root / "small" / "audit.csv"
    before = path.read_bytes()
    data = dict(zip(("row", "question", "answer"), given, strict=True))
    assert browser.post(audit, headers=ORIGIN, data=data).status_code == 400
    assert path.read_bytes() == before


def test_audits_of_json_lines_and_of_checklists_are_filled_in_too(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    checklist = ["Use “no” commas.", "=1+1"]
    rows = [{"id": f"s{n}", "prompt": "Write.", "checklist": checklist} for n in range(3)]
    write_rows(source, rows)
    path = tmp_path / "runs" / "lists.jsonl"
    path.parent.mkdir()
    draw(source, path, subject="checklists", samples=2)
    browser = client(path.parent)
    audit = keys_of(browser)["lists.jsonl"]
    assert "Is the checklist complete?" in browser.get(audit).text
    assert "Is the checklist complete?" not in browser.get(f"{audit}?row=2").text
    for row in range(1, 5):
        post(browser, audit, row, "constraint_correct", "yes")
        if row % 2:
            post(browser, audit, row, "checklist_complete", "yes")
    questions, _ = Audit(path).measures()
    assert [each["right"] for each in questions.values()] == [4, 2]


def test_a_damaged_audit_says_so(root: Path) -> None:
    (root / "torn.csv").write_text("id,number,of,judgment_correct,explanation_correct\n1,1\n")
    browser = client(root)
    answer = browser.get(keys_of(browser)["torn.csv"])
    assert answer.status_code == 400
    assert "torn.csv" in answer.text
