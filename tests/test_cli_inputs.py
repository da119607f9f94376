"""The input of a command: several files, patterns, pipes, compressed files, a part of the rows."""

import gzip
import io
import json
import os
import random
import sys
import threading
import types
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from heedful import InputError, evaluate
from heedful.data.formats.files import records
from heedful.engine import progress
from heedful.engine.runner import Progress
from properties import of_a_hundred

ROWS = [
    {"prompt": "Greet.", "checklist": ["No commas.", "It is polite."], "response": f"Hi {n}!"}
    for n in range(4)
]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def ids(directory: Path) -> list[str]:
    lines = (directory / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["id"] for line in lines]


@pytest.mark.parametrize("ends", ["jsonl", "json", "csv"])
def test_a_compressed_file_holds_the_same_records(ends: str, tmp_path: Path) -> None:
    texts = {
        "jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
        "json": json.dumps(ROWS),
        "csv": 'prompt,response,checklist\nGreet.,"Hi, you","No commas."\n',
    }
    plain, packed = tmp_path / f"a.{ends}", tmp_path / f"a.{ends}.gz"
    plain.write_text(texts[ends], encoding="utf-8")
    packed.write_bytes(gzip.compress(texts[ends].encode()))
    assert list(records(packed)) == list(records(plain))


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A folder, and rows that do not compress well."""
    draw = random.Random(0)
    rows = [{"prompt": draw.randbytes(200).hex(), "response": "x"} for _ in range(300)]
    return tmp_path_factory.mktemp("packed"), rows


@of_a_hundred(40)
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_damaged_compressed_file_ends_in_a_problem(
    share: float, packed: tuple[Path, list[dict[str, Any]]]
) -> None:
    folder, rows = packed
    whole = gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode(), mtime=0)
    path = folder / "rows.jsonl.gz"
    path.write_bytes(whole[: int(share * len(whole))])
    try:
        read = list(records(path))
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either of two outcomes
        return
    *good, last = read
    assert last.problem is not None
    assert [record.data for record in good] == rows[: len(good)]


def test_several_files_are_one_data_set(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", ROWS[:2])
    write(tmp_path / "b.jsonl.gz", [{**ROWS[2], "id": "x"}])
    expected = ["a:row-1", "a:row-2", "b:x"]
    assert run("evaluate", tmp_path / "*.jsonl*", "--run", tmp_path / "run") == 0
    assert ids(tmp_path / "run") == expected
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"]
    assert run("evaluate", *files, "--run", tmp_path / "again") == 0
    assert ids(tmp_path / "again") == expected
    evaluation = evaluate(files)
    assert [row.id for row in evaluation] == expected
    assert [row.sample.tags["file"] for row in evaluation if row.sample] == ["a", "a", "b"]


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "rows.jsonl", ROWS[:1])
    evaluation = evaluate([tmp_path / folder / "rows.jsonl" for folder in ("one", "two")])
    assert evaluation.summary["samples"] == 2
    assert len({row.id for row in evaluation}) == 2


def test_a_folder_stands_for_its_data_files(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "within").mkdir(parents=True)
    (folder / "notes.txt").write_text("not data", encoding="utf-8")
    write(folder / "b.jsonl", ROWS[:1])
    write(folder / "a.jsonl.gz", ROWS[1:])
    assert run("evaluate", folder, "--run", tmp_path / "run") == 0
    assert ids(tmp_path / "run") == ["a:row-1", "a:row-2", "a:row-3", "b:row-1"]
    assert [row.id for row in evaluate(folder)] == ids(tmp_path / "run")
    with pytest.raises(InputError, match="the folder holds no data files"):
        evaluate(folder / "within")
    with pytest.raises(InputError, match="this is a run"):
        evaluate(tmp_path / "run")


def test_one_file_of_responses_answers_the_rows_of_several(tmp_path: Path) -> None:
    rows = [{"id": str(n), "prompt": f"Say {n}.", "checklist": ["No commas."]} for n in range(6)]
    files = [write(tmp_path / "a.jsonl", rows[:3]), write(tmp_path / "b.jsonl", rows[3:])]
    answers = [{"id": row["id"], "response": f"I say {row['id']}"} for row in rows]
    responses = write(tmp_path / "r.jsonl", [*answers, {"id": "x", "response": "Nothing"}])
    found = list(evaluate(files, responses=responses))
    assert [row.sample.response for row in found if row.sample] == [f"I say {n}" for n in range(6)]
    assert [row.problem for row in found if row.problem] == [
        f"{responses}:7 joins no prompt of any file"
    ]
    # An id that rows of both files have is told apart by the name of the file, or is refused.
    files = [write(tmp_path / f"{name}.jsonl", rows[:1]) for name in "ab"]
    named = [{"id": f"{name}:0", "response": name} for name in "ab"]
    found = list(evaluate(files, responses=write(tmp_path / "s.jsonl", named)))
    assert [row.sample and row.sample.response for row in found] == ["a", "b"]
    first, second = evaluate(files, responses=write(tmp_path / "t.jsonl", answers[:1]))
    assert first.problem is None
    assert "answers 0 of a already" in str(second.problem)


def test_commands_that_add_to_rows_take_several_files(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{name}.jsonl", ROWS[:2]) for name in "ab"]
    output = tmp_path / "compiled.jsonl"
    run("checklist", *files, "--compile", "-o", output)
    lines = output.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == [
        f"{f}:row-{n}" for f in "ab" for n in (1, 2)
    ]
    assert run("respond", *files, "-m", "m", "--dry-run", "--quiet") == 0


def test_rows_are_read_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piped = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped)))
    assert run("evaluate", "-", "--run", tmp_path / "run") == 0
    assert len(ids(tmp_path / "run")) == len(ROWS)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_rows_are_read_from_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=write, args=(pipe, ROWS))
    writer.start()
    assert run("evaluate", pipe, "--run", tmp_path / "run") == 0
    writer.join()
    assert len(ids(tmp_path / "run")) == len(ROWS)


@pytest.mark.parametrize(("flag", "taken"), [("--limit", 2), ("--sample", 3), ("--limit", 9)])
def test_a_part_of_the_rows_is_a_run_of_its_own(
    flag: str, taken: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.jsonl", ROWS)
    assert run("evaluate", "a.jsonl") == 0
    assert run("evaluate", "a.jsonl", flag, taken) == 0
    runs = sorted((tmp_path / "heedful-runs").iterdir())
    assert sorted(len(ids(each)) for each in runs) == sorted([4, min(taken, 4)])


def test_turns_of_one_record_stay_together(tmp_path: Path) -> None:
    turn = {"role": "user", "content": "Greet."}
    line: dict[str, Any] = {"key": "5:1:en", "language": "English"}
    for number in (1, 2, 3):
        line |= {
            f"turn_{number}_prompt": json.dumps(turn),
            f"turn_{number}_instruction_id_list": json.dumps(["punctuation:no_comma"]),
            f"turn_{number}_kwargs": json.dumps([json.dumps({})]),
            f"turn_{number}_response": "Hello.",
        }
    other = {**line, "key": "6:1:en"}
    write(tmp_path / "multi.jsonl", [line, other])
    whole = evaluate(tmp_path / "multi.jsonl").summary["samples"]
    assert evaluate(tmp_path / "multi.jsonl", limit=1).summary["samples"] == whole / 2
    assert evaluate(tmp_path / "multi.jsonl", sample=1).summary["samples"] == whole / 2


def test_the_last_line_is_the_command_that_asks_a_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(tmp_path / "mine.jsonl", ROWS)
    assert run("evaluate", data, "--judge", "rules,compiled", "--run", tmp_path / "run") == 0
    shown = capsys.readouterr().out
    assert "4 constraints left" in shown
    assert f"heedful evaluate {data} --model NAME" in shown
    assert run("evaluate", data, "-q", "--run", tmp_path / "quiet") == 0
    assert not capsys.readouterr().out


@of_a_hundred(20)
@given(rows=st.integers(1, 9), ends=st.booleans(), taken=st.none() | st.integers(1, 12))
def test_progress_knows_how_many_rows_there_will_be(
    rows: int, *, ends: bool, taken: int | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = "\n".join(json.dumps({**ROWS[0], "id": str(n)}) for n in range(rows)) + "\n" * ends
    path = tmp_path_factory.getbasetemp() / "counted.jsonl"
    path.write_text(text, encoding="utf-8")
    for data in (path, [{**ROWS[0], "id": str(n)} for n in range(rows)]):
        seen: list[Progress] = []
        evaluate(data, limit=taken, on_progress=seen.append)
        assert seen[-1].total == seen[-1].done == min(rows, taken or rows)


def test_a_notebook_sees_one_line_that_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    stream = io.StringIO()
    monkeypatch.setattr(progress, "TERMINAL_SECONDS", 0.0)
    display = progress.Display(stream, say=lambda shown, _: str(shown))
    for shown in ("12345", "12"):
        display(shown)
    first, second = stream.getvalue().split("\r")[1:]
    assert second.rstrip() == "12"
    assert len(second) >= len(first.rstrip())
    assert "\n" not in stream.getvalue()
    assert "\x1b" not in stream.getvalue()
