"""Runs over parts of a data set, added up: the run over all of it, byte for byte."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commands import run
from heedful import Judge, RunError, SavedRun, UsageError, evaluate, merge
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models.scripted import ScriptedModel


def judge() -> Judge:
    """Make a judge that finds odd numbers unmet, and gives no verdict on those that end in 7."""

    def reply(messages: Any, _: int) -> str:
        number = int(messages[-1].content.split("about number ")[1].split(".")[0])
        verdict = "" if number % 10 == 7 else "UNMET" if number % 2 else "MET"
        return f"<c1>\nSeen.\nVERDICT: {verdict}\n</c1>"

    return Checklist(ScriptedModel(reply), prompts.make("plain"))


def row(number: int, ident: str) -> dict[str, Any]:
    return {
        "id": ident,
        "prompt": f"Tell me about number {number}.",
        "checklist": ["It is true."],
        "response": "It is a number.",
        "tags": {"half": "even" if number % 2 else "odd"},
    }


def write(folder: Path, parts: Sequence[Sequence[Any]]) -> list[Path]:
    files = [folder / f"part-{number}.jsonl" for number in range(len(parts))]
    for file, rows in zip(files, parts, strict=True):
        lines = [each if isinstance(each, str) else json.dumps(each) for each in rows]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return files


def judged(files: Sequence[Path], folder: Path) -> list[Path]:
    for file in files:
        evaluate(file, judge=judge(), run=folder / file.stem)
    return [folder / file.stem for file in files]


def results(directory: Path) -> tuple[bytes, Any]:
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    return (directory / "results.jsonl").read_bytes(), summary


ROWS: list[list[Any]] = [
    [row(number + 100 * part, str(number)) for number in range(12)] for part in range(3)
]
ROWS[1] += ["{broken", row(7, "3"), {"id": "none", "prompt": "Hi.", "checklist": ["Short."]}]


def test_parts_that_are_merged_are_the_run_over_all_files(tmp_path: Path) -> None:
    files = write(tmp_path, ROWS)
    whole = evaluate(files, judge=judge(), run=tmp_path / "whole")
    runs = judged(files, tmp_path / "runs")
    summary = merge(*runs, run=tmp_path / "merged")
    verdicts = {"met": 18, "unmet": 15, "unparsed": 3, "failed": 1, "unsupported": 0}
    assert whole.summary["verdicts"] == verdicts
    assert results(tmp_path / "merged") == results(tmp_path / "whole")
    assert summary == whole.summary == merge(*runs) | {"problems": whole.summary["problems"]}
    # Judging all files goes on from there, and finds nothing to do.
    again = evaluate(files, judge=judge(), run=tmp_path / "merged")
    assert again.summary == summary
    assert again.progress.resumed == 37
    assert results(tmp_path / "merged") == results(tmp_path / "whole")


@given(cuts=st.lists(st.integers(1, 23), max_size=3, unique=True), times=st.integers(1, 2))
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.slow
def test_it_doesnt_matter_where_the_rows_are_cut(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], times: int
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    rows = [row(number // times, str(number)) for number in range(24)]
    ends = [0, *sorted({*cuts, 12}), 24]
    files = write(folder, [rows[a:b] for a, b in pairwise(ends)])
    evaluate(files, judge=judge(), run=folder / "whole")
    merge(*judged(files, folder / "runs"), run=folder / "merged")
    (lines, summary), (others, other) = map(results, (folder / "whole", folder / "merged"))
    assert lines == others
    for each in (summary, other):  # of two equal prompts in two parts both were asked for
        del each["cost"]
        each.pop("saved", None)
    assert summary == other


def test_runs_of_several_files_and_of_rows_in_memory_are_merged_too(tmp_path: Path) -> None:
    files = write(tmp_path, ROWS)
    evaluate(files[:2], judge=judge(), run=tmp_path / "two")
    evaluate(files[2], judge=judge(), run=tmp_path / "one")
    evaluate(files, judge=judge(), run=tmp_path / "whole")
    merge(tmp_path / "two", tmp_path / "one", run=tmp_path / "merged")
    assert results(tmp_path / "merged") == results(tmp_path / "whole")
    for name in ("a", "b"):
        evaluate([row(4, "1"), row(5, "2")], judge=judge(), run=tmp_path / name)
    merge(tmp_path / "a", tmp_path / "b", run=tmp_path / "ab")
    with SavedRun.open(tmp_path / "ab") as merged:
        assert [entry.id for entry in merged.entries()] == ["a:1", "a:2", "b:1", "b:2"]
    merge(tmp_path / "ab", tmp_path / "one", run=tmp_path / "abc")


def test_what_cannot_be_merged_is_refused(tmp_path: Path) -> None:
    files = write(tmp_path, ROWS)
    one, two, _ = judged(files, tmp_path / "runs")
    evaluate(files[2], judge="rules", run=tmp_path / "code")
    evaluate(files[2], judge=judge(), limit=2, run=tmp_path / "limited")
    refused: list[tuple[type[Exception], str, list[Path]]] = [
        (UsageError, "at least two", [one]),
        (UsageError, "given twice", [one, two, one]),
        (RunError, "other configurations", [one, tmp_path / "code"]),
        (UsageError, "--limit", [one, tmp_path / "limited"]),
        (RunError, "no such run", [one, tmp_path / "none"]),
    ]
    for error, words, runs in refused:
        with pytest.raises(error, match=words):
            merge(*runs, run=tmp_path / "merged")
        assert not (tmp_path / "merged").exists()
    evaluate(files[0], judge=judge(), run=tmp_path / "same")
    with pytest.raises(UsageError, match="given twice"):
        merge(one, tmp_path / "same")
    with pytest.raises(RunError, match="something already"):
        merge(one, two, run=tmp_path / "code")
    (two / "summary.json").unlink()
    with pytest.raises(RunError, match="not finished"):
        merge(one, two)


def test_a_merge_that_was_killed_is_begun_again(tmp_path: Path) -> None:
    runs = judged(write(tmp_path, ROWS), tmp_path / "runs")
    left = tmp_path / "merged.part"
    left.mkdir()
    (left / "run.sqlite").write_bytes(b"half a file")
    summary = merge(*runs, run=tmp_path / "merged")
    assert not left.exists()
    assert SavedRun.open(tmp_path / "merged").summary == summary


def test_the_command_adds_up_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = judged(write(tmp_path, ROWS), tmp_path / "runs")
    assert run("merge", *runs, "--json") == 1  # some rows failed
    summary = json.loads(capsys.readouterr().out)
    assert run("merge", *runs, "--run", tmp_path / "merged") == 1
    assert "merged/results.jsonl" in capsys.readouterr().out
    assert summary["metrics"] == results(tmp_path / "merged")[1]["metrics"]
