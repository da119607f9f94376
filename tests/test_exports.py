"""Judgments for other tools, and summaries for a pull request."""

import csv
from pathlib import Path

import pytest

from commands import run as command
from heedful import Check, Constraint, Message, RunError, Sample, UsageError, evaluate, export
from heedful.cli import main

TEXT = 'Say "no", twice,\n| <b>plainly</b>.'


@pytest.fixture
def run(tmp_path: Path) -> Path:
    constraints = (
        Constraint(text=TEXT, type="content", priority="primary"),
        Constraint(text="No commas.", check=Check(id="punctuation:no_comma")),
    )
    tagged: list[dict[str, str | int | float | bool]]
    tagged = [{"task": "refusal"}, {"task": "refusal", "level": 3}]
    samples = [
        Sample(
            id=key,
            conversation=(Message(role="user", content="Say no."),),
            checklist=constraints,
            response=response,
            tags=tags,
            labels=(None, True),
        )
        for key, response, tags in zip("12", ("No, no.", "No no."), tagged, strict=True)
    ]
    evaluate(samples, run=tmp_path / "mine")
    return tmp_path / "mine"


def test_judgments_as_a_junit_report(run: Path, tmp_path: Path) -> None:
    from xml.etree import ElementTree as ET

    assert command("export", run, "-o", tmp_path / "o.xml") == 0
    (suite,) = ET.parse(tmp_path / "o.xml").getroot()  # noqa: S314 - written above
    assert suite.get("name") == "mine"
    assert suite[0].get("name") == f"1. {TEXT}"
    outcomes = [[(element.tag, element.get("message")) for element in case] for case in suite]
    assert [each and each[0][0] for each in outcomes] == ["error", "failure", "error", []]
    assert outcomes[1][0][1] == "1 comma, none allowed"


def test_judgments_as_csv(run: Path, tmp_path: Path) -> None:
    assert export(run, run, output=tmp_path / "o.csv") == (8, 0)
    with (tmp_path / "o.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["constraint"], row["status"]) for row in rows[:4]] == [
        ("1", "1", "unsupported"),
        ("1", "2", "unmet"),
        ("2", "1", "unsupported"),
        ("2", "2", "met"),
    ]
    assert rows[0]["text"] == TEXT
    assert rows[1]["explanation"] == "1 comma, none allowed"
    assert [rows[0][name] for name in ("run", "type", "priority", "label")] == [
        "mine",
        "content",
        "primary",
        "",
    ]
    assert [(row["tags.task"], row["tags.level"]) for row in rows[1:3]] == [
        ("refusal", ""),
        ("refusal", "3"),
    ]
    assert rows[1]["label"] == "True"


def test_what_cannot_be_exported(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.csv, \.jsonl, \.xml"):
        export(run, output=tmp_path / "o.xlsx")
    with pytest.raises(UsageError, match="no such folder"):
        export(run, output=tmp_path / "nowhere" / "o.csv")
    with pytest.raises(UsageError, match="run"):
        export(output=tmp_path / "o.csv")
    with pytest.raises(RunError, match="nowhere"):
        export(tmp_path / "nowhere", output=tmp_path / "o.csv")
    assert not list(tmp_path.glob("o.*"))


def test_the_command_line_writes_a_summary(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as done:
        main(["export", str(run), "-o", str(tmp_path / "o.md")])
    assert done.value.code == 0
    assert capsys.readouterr().out == f"1 summary → {tmp_path / 'o.md'}\n"
    page = (tmp_path / "o.md").read_text(encoding="utf-8")
    assert page.startswith("# mine\n\n2 responses: constraints met 25.0 to 75.0 %")
    assert "1 met, 1 unmet, 2 unsupported" in page
    assert "| constraints met, pooled | 25.00 to 75.00 |" in page
    assert "no judge output" in page


def test_rows_that_could_not_be_read_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"id": "1", "prompt": "Hi", "checklist": ["x"], "response": "y"}\n{"id": 2}\n')
    evaluate(file, run=tmp_path / "run")
    with pytest.raises(SystemExit) as done:
        main(["export", str(tmp_path / "run"), "-o", str(tmp_path / "o.csv")])
    assert done.value.code == 1
    said = capsys.readouterr()
    assert said.out.startswith("1 judgment →")
    assert said.err.startswith("1 row ")
