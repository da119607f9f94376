"""Audits: drawn at random, filled by a person, read back as accuracies."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from critiques import critique, item, write
from heedful.core.errors import InputError, UsageError
from heedful.critic.data.audit import draw, read_back
from heedful.metrics.proportions import wilson
from jsonl import read_rows

Row = dict[str, str]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """30 critiques, of which 10 find something unmet."""
    samples = [
        item(critique("+-+" if number < 10 else "+++"), id=f"s{number}", prompt=f"Do {number}.")
        for number in range(30)
    ]
    return write(tmp_path / "in.jsonl", samples)


def cells(path: Path) -> list[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, answer: Callable[[Row], Row]) -> None:
    """Answer as a person with a spreadsheet does, who saves without a byte order mark."""
    rows = [row | answer(row) for row in cells(path)]
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)


def right(_: Row) -> Row:
    return {"judgment_correct": "yes", "explanation_correct": "Y"}


def test_a_draw_follows_the_seed(source: Path, tmp_path: Path) -> None:
    drawn = draw(source, tmp_path / "a.csv", samples=6)
    assert (drawn["samples"], drawn["population"]) == (6, 30)
    assert drawn["rows"] == 18
    draw(source, tmp_path / "b.csv", samples=6)
    draw(source, tmp_path / "c.csv", samples=6, seed=7)
    a, b, c = (cells(tmp_path / f"{name}.csv") for name in "abc")
    assert a == b
    assert {row["id"] for row in a} != {row["id"] for row in c}
    first = a[0]
    assert (first["number"], first["of"], first["constraint"]) == ("1", "3", "Name three fruits.")
    assert first["verdict"] in ("met", "unmet")
    assert first["judgment_correct"] == first["explanation_correct"] == ""
    assert (tmp_path / "a.csv").read_bytes().startswith(b"\xef\xbb\xbf")


def test_a_filled_audit_gives_accuracies_with_intervals(source: Path, tmp_path: Path) -> None:
    audit = tmp_path / "audit.csv"
    draw(source, audit, samples=6)
    fill(
        audit,
        lambda row: {
            "judgment_correct": "否" if row["verdict"] == "unmet" else "是",
            "explanation_correct": "TRUE",
        },
    )
    result = read_back(audit)
    judgments = result["questions"]["judgment_correct"]
    assert (judgments["right"], judgments["of"]) == (16, 18)
    assert judgments["interval"] == pytest.approx(wilson(16, 18))
    assert result["questions"]["explanation_correct"]["accuracy"] == 1.0
    assert (result["whole"]["right"], result["whole"]["of"]) == (4, 6)
    assert result["by_verdict"]["unmet"]["right"] == 0
    assert result["by_verdict"]["met"]["accuracy"] == 1.0


def test_a_half_filled_audit_is_refused_and_says_what_is_missing(
    source: Path, tmp_path: Path
) -> None:
    audit = tmp_path / "audit.csv"
    draw(source, audit, samples=2)
    answers = iter([{"judgment_correct": "maybe"}, {"judgment_correct": "yes"}, *[{}] * 4])
    fill(audit, lambda row: right(row) | next(answers) | {"note": "a note"})
    rows = cells(audit)
    rows[1]["explanation_correct"] = ""
    fill(audit, lambda row: rows[int(row["number"]) - 1] if row["id"] == rows[0]["id"] else {})
    with pytest.raises(InputError) as refused:
        read_back(audit)
    errors = str(refused.value)
    assert "2 of 6 rows" in errors
    assert "judgment_correct is 'maybe'" in errors
    assert "explanation_correct is empty" in errors
    assert "unsure" in errors


def test_lost_and_repeated_rows_are_refused(source: Path, tmp_path: Path) -> None:
    audit = tmp_path / "audit.jsonl"
    draw(source, audit, samples=2)
    rows = [row | right({}) for row in read_rows(audit)]
    write(audit, rows[1:])
    with pytest.raises(InputError, match="2, 3 of 3"):
        read_back(audit)
    write(audit, [*rows, rows[0]])
    with pytest.raises(InputError, match="1, 1, 2, 3 of 3"):
        read_back(audit)
    write(audit, rows[3:])  # a whole sample may be left out
    assert read_back(audit)["samples"] == 1


def test_checklists_are_audited_by_constraint_and_as_a_whole(source: Path, tmp_path: Path) -> None:
    audit = tmp_path / "audit.jsonl"
    draw(source, audit, subject="checklists", samples=4)
    rows = read_rows(audit)
    assert len(rows) == 12
    for row in rows:
        row["constraint_correct"] = True
        if row["number"] == 1:
            row["checklist_complete"] = row["id"] == rows[0]["id"]
    write(audit, rows)
    result = read_back(audit)
    assert result["questions"]["constraint_correct"]["right"] == 12
    assert result["questions"]["checklist_complete"]["of"] == 4
    assert result["whole"]["right"] == 1


def test_a_response_is_no_formula(tmp_path: Path) -> None:
    sample = item(critique("+++")).model_copy(update={"response": '=HYPERLINK("http://x")'})
    draw(write(tmp_path / "in.jsonl", [sample]), tmp_path / "audit.csv")
    assert cells(tmp_path / "audit.csv")[0]["response"] == '\'=HYPERLINK("http://x")'


def test_what_cannot_be_audited_is_counted(source: Path, tmp_path: Path) -> None:
    rows = [
        *read_rows(source),
        item(None, critique("+++"), id="x").model_dump(mode="json"),
        {"id": "y"},
    ]
    write(source, rows)
    drawn = draw(source, tmp_path / "all.csv", samples=99)
    assert (drawn["rows"], drawn["population"]) == (90, 30)
    assert drawn["reasons"] == {"no final critique": 1, "cannot be read": 1}


def test_wrong_use_is_refused(source: Path, tmp_path: Path) -> None:
    audit = tmp_path / "audit.csv"
    draw(source, audit)
    with pytest.raises(UsageError, match=re.escape(str(audit))):
        draw(source, audit)
    with pytest.raises(UsageError, match="xlsx"):
        draw(source, tmp_path / "audit.xlsx")
    with pytest.raises(InputError, match=re.escape(str(source))):
        read_back(source)
    nothing = write(tmp_path / "none.jsonl", [item(None, critique("+++"))])
    with pytest.raises(InputError, match="no final critique"):
        draw(nothing, tmp_path / "none.csv")
