"""Runs that are damaged, or that nobody may write into, as inputs of other commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from heedful import Constraint, Sample, evaluate
from heedful.cli import main

if TYPE_CHECKING:
    from pathlib import Path

PAGE = 8192
"""Bytes of a page of a store; the first ones hold the tables' names and the configuration."""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    constraints = (Constraint(text="No commas."),)
    samples = [
        Sample(id=str(number), checklist=constraints, response="word " * 999) for number in range(9)
    ]
    evaluate(samples, judge="compiled", run=tmp_path / "mine")
    return tmp_path / "mine"


def commands(run: Path) -> list[list[str]]:
    output = str(run.parent / "made")
    return [
        ["report", str(run), "-o", f"{output}.html"],
        ["compare", str(run), str(run), "-q"],
        ["export", str(run), "-o", f"{output}.csv"],
        ["export", str(run), "-o", f"{output}.eval"],
        ["reward", "stats", str(run)],
        ["rejudge", str(run), "--judge", "rules,compiled", "--run", f"{output}-run", "-q"],
    ]


def code(words: list[str]) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def damage(run: Path) -> Path:
    store = run / "run.sqlite"
    whole = store.read_bytes()
    store.write_bytes(whole[: 4 * PAGE] + b"\xab" * (len(whole) - 4 * PAGE))
    return store


def test_a_store_that_is_damaged_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = damage(run)
    for words in commands(run):
        assert code(words) == 2, words
        said = capsys.readouterr().err
        assert f"{store}: the run's store cannot be read" in said
        assert "malformed" in said


def test_a_damaged_run_cannot_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "1", "checklist": ["No commas."], "response": "x"}\n', encoding="utf-8")
    again = ["evaluate", str(rows), "--judge", "compiled", "--run", str(tmp_path / "run"), "-q"]
    assert code(again) == 0
    damage(tmp_path / "run")
    assert code(again) == 2
    assert "name another --run" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["{", "[]", "{}", '"rows"'])
def test_a_summary_that_is_damaged_can_be_made_again(
    run: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "summary.json").write_text(content, encoding="utf-8")
    for output in ("made.md", "made.eval", "made.html"):
        command = "report" if output.endswith("html") else "export"
        assert code([command, str(run), "-o", str(run.parent / output)]) == 2
        said = capsys.readouterr().err
        assert f"{run / 'summary.json'}: the summary cannot be read" in said
        assert "run the command that made it again" in said


def test_looking_at_a_run_writes_nothing_into_it(run: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (run, *run.iterdir())}
    for words in commands(run):
        assert code(words) == 0, words
        assert {path: path.stat().st_mtime_ns for path in (run, *run.iterdir())} == before
