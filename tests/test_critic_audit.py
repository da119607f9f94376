"""Audits: drawn at random, filled by a person, read back as accuracies."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from critiques import critique, item, write
from heedful.core.errors import InputError, UsageError
from heedful.critic.data.audit import Audit, draw
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
        Audit(source)
    nothing = write(tmp_path / "none.jsonl", [item(None, critique("+++"))])
    with pytest.raises(InputError, match="no final critique"):
        draw(nothing, tmp_path / "none.csv")
