"""Where outputs go: never over their own input, through links, and into pipes and devices."""

import importlib
import inspect
import json
import os
import stat
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import commands
from heedful import evaluate
from heedful.cli.commands import COMMANDS, Command, Group
from heedful.core.errors import UsageError
from heedful.core.outputs import atomically, replacing
from jsonl import write_rows

# Whole commands, with servers, files and processes.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("empty_folder")]

posix = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and devices of POSIX")

ROWS = [
    {
        "id": str(number),
        "prompt": f"Say {number}.",
        "checklist": ["No commas."],
        "response": f"{number}",
        "labels": [True],
        "preferred_to": ["0"] if number else [],
    }
    for number in range(3)
]

MODEL = "--model m --base-url http://127.0.0.1:9/v1 --api-key none"

FROM_FILES: Mapping[str, str] = {
    "evaluate": "evaluate {input} -q -o {output}.jsonl",
    "evaluate --responses": "evaluate {input} --responses {other} -q -o {output}.jsonl",
    "respond": f"respond {{input}} {MODEL} -q -o {{output}}.jsonl",
    "choose": f"choose {{input}} {MODEL} -q -o {{output}}.jsonl",
    "checklist": f"checklist {{input}} {MODEL} -q -o {{output}}.jsonl",
    "judge-accuracy": "judge-accuracy {input} -q -o {output}.json",
    "critic sample": f"critic sample {{input}} {MODEL} -q -o {{output}}.jsonl",
    "critic filter": f"critic filter {{input}} {MODEL} --verifier v -q -o {{output}}.jsonl",
    "critic checklists": "critic checklists {input} -q -o {output}.jsonl",
    "critic pairs": "critic pairs {input} -q -o {output}.jsonl",
    "reward pairs": "reward pairs {input} -q -o {output}.jsonl",
    "reward best": "reward best {input} -q -o {output}.jsonl",
    "bench criticbench build": f"bench criticbench build {{input}} {MODEL} -q -o {{output}}.jsonl",
    "bench realcritic grade": "bench realcritic grade {input} -q -o {output}.jsonl",
}
"""Commands whose output is a file and whose input is one."""

FROM_RUNS: Mapping[str, str] = {
    "rejudge": "rejudge {run} --judge rules,compiled -q -o {output}.jsonl",
    "compare": "compare {run} {run} --anyway -q -o {output}.json",
    "report": "report {run} -o {output}.html",
    "export": "export {run} -o {output}.csv",
    "export a summary": "export {run} -o {output}.md",
    "judge-accuracy --runs": "judge-accuracy {input} --runs {run} -q -o {output}.json",
    "cascade": "cascade {run} {run} -q -o {output}.json",
    "calibrate": "calibrate {run} --draw 2 -o {output}.jsonl",
    "reward pairs": "reward pairs {run} -q -o {output}.jsonl",
    "reward best": "reward best {run} -q -o {output}.jsonl",
    "evaluate into it": "evaluate {input} --judge compiled --run {run} -q -o {output}.jsonl",
}
"""Commands whose output is a file and whose input is a run."""

FOLDERS = {
    "align",
    "induce",
    "critic build",
    "critic export",
    "critic split",
    "critic train sft",
    "critic train dpo",
    "bench criticbench run",
    "bench criticbench report",
    "bench realcritic build",
    "bench realcritic report",
}
"""Commands whose output is a folder of their own, or whose input is one."""


def with_output(named: Mapping[str, Command | Group], words: str = "") -> Iterator[str]:
    """Name the commands that have an output."""
    for name, each in named.items():
        if isinstance(each, Command):
            module, _, function = each.target.partition(":")
            called = getattr(importlib.import_module(f"heedful.cli.{module}"), function)
            if "output" in inspect.signature(called).parameters:
                yield f"{words}{name}"
        else:
            yield from with_output(each.commands, f"{words}{name} ")


def link(place: Path, target: Path, how: str) -> None:
    place.unlink(missing_ok=True)
    place.symlink_to(target.resolve()) if how == "symbolic" else os.link(target, place)


def refused(words: str, capsys: pytest.CaptureFixture[str]) -> bool:
    code = commands.run(*words.split())
    return code == 2 and "the output is the input" in capsys.readouterr().err


def test_every_command_with_an_output_is_tested_here() -> None:
    tested = {name.partition(" --")[0] for name in FROM_FILES} | {*FROM_RUNS} | FOLDERS
    assert {*with_output(COMMANDS)} <= tested


@posix
@pytest.mark.parametrize("how", ["hard", "symbolic"])
@pytest.mark.parametrize("words", FROM_FILES.values(), ids=FROM_FILES)
def test_an_output_never_takes_the_place_of_its_input(
    words: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    read = write_rows(Path("in.jsonl"), ROWS)
    other = write_rows(Path("other.jsonl"), ROWS)
    target = other if "{other}" in words else read
    output = Path("out" + Path(words.rsplit(maxsplit=1)[-1]).suffix)
    link(output, target, how)
    before = target.read_bytes()
    given = words.format(input=read, other=other, output="out")
    assert refused(given, capsys)
    assert target.read_bytes() == before
    assert output.exists()


@posix
@pytest.mark.parametrize("words", FROM_RUNS.values(), ids=FROM_RUNS)
def test_an_output_never_takes_the_place_of_a_run_s_files(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    read = write_rows(Path("in.jsonl"), ROWS)
    assert commands.run("evaluate", read, "--judge", "compiled", "--run", "run", "-q") == 0
    output = Path("out" + Path(words.rsplit(maxsplit=1)[-1]).suffix)
    for name in ("run.sqlite", "summary.json"):
        link(output, Path("run", name), "hard")
        before = Path("run", name).read_bytes()
        assert refused(words.format(input=read, run="run", output="out"), capsys)
        assert Path("run", name).read_bytes() == before


def test_a_run_s_own_files_never_take_the_place_of_its_input() -> None:
    Path("mine").mkdir()
    read = write_rows(Path("mine", "results.jsonl"), ROWS)
    before = read.read_bytes()
    assert commands.run("evaluate", read, "--judge", "compiled", "--run", "mine", "-q") == 2
    assert read.read_bytes() == before


@posix
def test_a_symbolic_link_is_written_through_and_stays() -> None:
    read = write_rows(Path("in.jsonl"), ROWS)
    Path("elsewhere").mkdir()
    target = Path("elsewhere", "results.jsonl")
    for known in (False, True):  # a link may lead to what is not there yet
        link(Path("out.jsonl"), target, "symbolic")
        assert commands.run("evaluate", read, "--judge", "compiled", "-q", "-o", "out.jsonl") == 0
        assert Path("out.jsonl").is_symlink()
        assert len(target.read_text(encoding="utf-8").splitlines()) == len(ROWS)
        if not known:
            target.write_text("old\n", encoding="utf-8")
            target.chmod(0o600)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [path.name for path in target.parent.iterdir()] == [target.name]


@posix
def test_a_pipe_is_written_into_and_stays() -> None:
    read = write_rows(Path("in.jsonl"), ROWS)
    os.mkfifo("pipe")
    got: list[str] = []

    def drain() -> None:
        got.extend(Path("pipe").read_text(encoding="utf-8").splitlines())

    reader = threading.Thread(target=drain, daemon=True)
    reader.start()
    code = commands.run("evaluate", read, "--judge", "compiled", "-q", "-o", "pipe")
    reader.join(timeout=60)
    assert code == 0
    assert stat.S_ISFIFO(Path("pipe").stat().st_mode)
    assert [json.loads(line)["id"] for line in got] == ["0", "1", "2"]


@posix
def test_a_device_is_written_into_and_stays() -> None:
    null = Path("null")
    null.symlink_to(os.devnull)
    with atomically(null) as file:
        file.write("gone")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    with replacing(Path(os.devnull)) as part:
        assert part == Path(os.devnull)


def test_what_goes_wrong_leaves_the_old_output_and_no_part() -> None:
    Path("out.txt").write_text("old", encoding="utf-8")

    def fail() -> None:
        with atomically(Path("out.txt")) as file:
            file.write("new")
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - as raised above
        fail()
    assert Path("out.txt").read_text(encoding="utf-8") == "old"
    assert [path.name for path in Path().iterdir()] == ["out.txt"]


@posix
@pytest.mark.parametrize("name", ["run.sqlite", "run.sqlite-wal", "run.lock", "summary.json"])
@pytest.mark.parametrize("linked", [False, True])
def test_no_output_takes_the_place_of_another_run(
    tmp_path: Path, name: str, *, linked: bool
) -> None:
    evaluate(write_rows(tmp_path / "rows.jsonl", ROWS), run=tmp_path / "finished")
    place = tmp_path / "finished" / name
    if linked:
        place = tmp_path / "named otherwise"
        place.symlink_to(tmp_path / "finished" / name)
    before = _contents(tmp_path / "finished")
    with pytest.raises(UsageError):
        evaluate(write_rows(tmp_path / "rows.jsonl", ROWS), run=tmp_path / "other", output=place)
    assert _contents(tmp_path / "finished") == before


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@posix
def test_an_open_file_is_written_on_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "shared"
    file.write_text("precious\n")
    with file.open("a") as shared:
        evaluate(
            write_rows(tmp_path / "rows.jsonl", ROWS), output=Path(f"/dev/fd/{shared.fileno()}")
        )
    lines = file.read_text().splitlines()
    assert lines[0] == "precious"
    assert len(lines) == 1 + len(ROWS)
    assert all(json.loads(line) for line in lines[1:])
