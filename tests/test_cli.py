"""The command line: what it prints and writes, how it exits; bad input above all."""

import contextlib
import csv
import io
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from heedful.cli import application, main
from heedful.cli.commands import COMMANDS, Command, Group
from jsonl import read_rows, write_rows

pytestmark = pytest.mark.usefixtures("empty_folder")

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "quickstart.jsonl"

GOOD = json.dumps(
    {
        "id": "good",
        "prompt": "No commas, please.",
        "checklist": [{"text": "No commas.", "check": "punctuation:no_comma"}],
        "response": "None here.",
    }
)


@pytest.mark.slow
def test_the_example_is_judged_and_the_same_command_resumes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("evaluate", EXAMPLE) == 0
    shown = capsys.readouterr().out
    assert "21 met, 6 unmet, 1 unparsed" in shown
    assert "96.4 %" in shown
    (directory,) = Path("heedful-runs").iterdir()
    assert {path.name for path in directory.iterdir()} >= {
        "run.sqlite",
        "results.jsonl",
        "summary.json",
    }
    assert run("evaluate", EXAMPLE) == 0
    assert "8 rows were" in capsys.readouterr().out
    assert run("evaluate", EXAMPLE, "--judge", "rules", "--quiet") == 0
    assert capsys.readouterr().out == ""
    assert len(list(Path("heedful-runs").iterdir())) == 2


def test_a_changed_input_makes_another_run_unless_the_run_is_named() -> None:
    Path("rows.jsonl").write_text(GOOD + "\n", encoding="utf-8")
    assert run("evaluate", "rows.jsonl", "-q") == 0
    assert run("evaluate", "rows.jsonl", "--run", "named", "-q") == 0
    Path("rows.jsonl").write_text(GOOD.replace("None here", "None, here") + "\n", encoding="utf-8")
    assert run("evaluate", "rows.jsonl", "-q") == 0
    assert len(list(Path("heedful-runs").iterdir())) == 2
    assert run("evaluate", "rows.jsonl", "--run", "named", "-q") == 2


def test_min_coverage_decides_the_exit_code() -> None:
    assert run("evaluate", EXAMPLE, "--min-coverage", "0.96", "-q") == 0
    assert run("evaluate", EXAMPLE, "--min-coverage", "0.97", "-q") == 1
    assert run("evaluate", EXAMPLE, "--judge", "recorded", "--run", "r", "-q") == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        (b"", "empty"),
        (b"\x00\x01\x02\x03", "not a text file"),
        (b"prompt,response\n", "no rows"),
        (b'{"colour": "green"}\n', "not in a known format"),
        (b"not json at all\n", "not in a known format|no rows"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_line(
    content: bytes | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        Path("bad.jsonl").write_bytes(content)
    assert run("evaluate", "bad.jsonl") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("heedful: bad.jsonl")
    assert len(said.err.splitlines()) == 1
    assert any(part in said.err for part in message.split("|"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "bad", "prompt": "p", "response": ', "broken JSON"),
        ('{"id": "bad", "response": "r"}', "conversation is missing"),
        ('{"id": "bad", "prompt": "p", "response": [42]}', "response is a list"),
        ('{"id": "bad", "prompt": "p", "checklist": 1}', "not a list"),
        ('{"id": "good", "prompt": "p"}', "duplicate id 'good'"),
        ("42", "not an object"),
        ('{"id": "bad", "prompt": "\\ud800"}', "surrogate"),
    ],
)
def test_a_bad_row_is_named_with_its_line_and_costs_no_other(
    line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = GOOD.replace('"good"', '"other"')
    Path("rows.jsonl").write_text(f"{GOOD}\n{line}\n{other}\n", encoding="utf-8")
    assert run("evaluate", "rows.jsonl", "-o", "out.jsonl") == 1
    said = capsys.readouterr()
    assert "line 2: " in said.err
    assert message in said.err
    assert "1 row could not" in said.out
    result = read_rows("out.jsonl")
    assert [row["scores"].get("isr") for row in result] == [1.0, None, 1.0]
    assert message in result[1]["problem"]
    summary = json.loads(next(Path("heedful-runs").rglob("summary.json")).read_text())
    assert summary["samples"] == 3
    assert summary["rows"] == {"read": 2, "failed": 1}
    assert summary["coverage"] == pytest.approx(2 / 3)


@pytest.mark.slow
def test_csv_with_a_ragged_row_and_a_cell_of_ten_megabytes() -> None:
    with Path("rows.csv").open("w", encoding="utf-8-sig", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "prompt", "response", "checklist"])
        check = json.dumps([{"text": "No commas.", "check": "punctuation:no_comma"}])
        table.writerow(["big", "p", "word " * 2_000_000, check])
        file.write("ragged,p\r\n")
        table.writerow(["small", "p", "a, b", check])
    assert run("evaluate", "rows.csv", "-o", "out.jsonl") == 1
    result = {row["id"]: row for row in read_rows("out.jsonl")}
    assert result["big"]["scores"]["isr"] == 1.0
    assert result["small"]["scores"]["isr"] == 0.0
    (problem,) = (row["problem"] for row in result.values() if "problem" in row)
    assert re.findall(r"\d+", problem)[-2:] == ["2", "4"]


@pytest.mark.parametrize(
    "flags",
    [
        "--judge rules --prompt plain",
        "--judge rules --model m",
        "--judge checklist --model m --reasks -1",
        "--judge checklist --model m --votes 0",
        "--judge checklist --model m --min-confidence 2",
        "--judge checklist --model m --temperature -1",
        "--judge checklist --model m --max-completion-tokens 0",
        "--min-coverage 90",
        "--min-coverage -1",
    ],
)
def test_flags_without_effect_or_out_of_range_are_wrong_use(
    flags: str, capsys: pytest.CaptureFixture[str]
) -> None:
    *_, flag, _value = flags.split()
    assert run("evaluate", EXAMPLE, *flags.split()) == 2
    assert flag in capsys.readouterr().err
    assert not Path("heedful-runs").exists()


def evaluate(*words: str | Path) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", *map(str, words)])
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


@pytest.mark.slow
def test_a_narrow_terminal_loses_no_number(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = {}
    for columns in (40, 60, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert evaluate(EXAMPLE, "--run", f"run-{columns}") == 0
        lines = capsys.readouterr().out.splitlines()
        assert all(len(line.rstrip()) <= columns for line in lines if "→" not in line)
        shown[columns] = Counter(re.findall(r"\d+\.\d+", "\n".join(lines).rpartition("Unmet")[0]))
    assert shown[40] == shown[60] == shown[200]
    assert len(shown[40]) > 5


def test_texts_that_look_like_markup_are_texts(capsys: pytest.CaptureFixture[str]) -> None:
    row = {
        "id": "1",
        "prompt": "p",
        "checklist": [{"text": "No commas.", "type": "[/red] :smile:"}],
        "response": "none",
    }
    write_rows("rows.jsonl", [row])
    assert evaluate("rows.jsonl", "--judge", "compiled", "--run", "run[/x]") == 0
    shown = capsys.readouterr().out
    assert "[/red] :smile:" in shown
    assert "→ run[/x]/results.jsonl" in shown


@pytest.mark.slow
def test_what_cannot_write_our_signs_gets_them_in_ascii() -> None:
    command = [sys.executable, "-m", "heedful", "evaluate", str(EXAMPLE), "--run", "run"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0
    shown = done.stdout.decode("ascii")
    assert re.search(r"\d\d\.\d to \d\d\.\d", shown)
    assert "-> run/results.jsonl" in shown


def commands(entries: Mapping[str, Command | Group]) -> Iterator[tuple[str, ...]]:
    for name, entry in entries.items():
        if isinstance(entry, Command):
            yield (name,)
        else:
            yield from ((name, *rest) for rest in commands(entry.commands))


ALL = sorted(commands(COMMANDS))


def flags(command: tuple[str, ...]) -> list[str]:
    """Return the long flags of a command."""
    app = application()
    for word in command:
        app = app[word]
    arguments = app.assemble_argument_collection()
    return sorted(name for each in arguments for name in each.names if name.startswith("--"))


def complaint(*words: object) -> str:
    """Run a command that makes no sense; return the one line that it prints."""
    with contextlib.redirect_stderr(io.StringIO()) as err:
        assert run(*words) == 2
    (line,) = err.getvalue().splitlines()
    assert line.startswith("heedful: ")
    return line


NEED_NOTHING = {("serve",), ("view",), ("runs",), ("init",), ("completion",)}
"""Commands that do their work without an argument."""


@given(st.data())
@pytest.mark.slow
def test_a_mistyped_flag_of_any_command_is_named_and_a_flag_suggested(data: st.DataObject) -> None:
    command = data.draw(st.sampled_from(ALL))
    names = flags(command)
    flag = data.draw(st.sampled_from([name for name in names if len(name) > len("--to")]))
    cut = data.draw(st.integers(3, len(flag) - 1))
    typo = flag[:cut] + flag[cut + 1 :]
    if typo in names:
        return
    line = complaint(*command, typo, "x")
    assert typo in line
    assert any(f"{name}?" in line for name in names)


@pytest.mark.parametrize("command", [words for words in ALL if words not in NEED_NOTHING])
def test_a_command_without_its_arguments_names_what_is_missing_or_how_to_see_it(
    command: tuple[str, ...],
) -> None:
    line = complaint(*command)
    assert f"{' '.join(command)} --help" in line or "name" in line


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["evaluat"], '"evaluate"?'),
        (["bench", "criticbench", "buidl"], '"build"?'),
        (["evaluate", EXAMPLE, "more"], "more: no such file"),
        (["evaluate", EXAMPLE, "--judge"], "--judge"),
        (["evaluate", EXAMPLE, "--votes", "x"], "--votes"),
        (["evaluate", EXAMPLE, "--scoring", "strcit"], '"strict"?'),
        (["evaluate", EXAMPLE, "--scoring", "other"], "faithful"),
        (["evaluate", EXAMPLE, "--dry-run=3"], "--dry-run"),
        (["evaluate", EXAMPLE, "--seed", "1", "--seed", "2"], "--seed"),
        (["reward", "pairs", "x"], "--output"),
        (["respond"], "INPUT"),
        (["evaluate", EXAMPLE, "--judge=checklist", "-mm", "--max-concurrency=0"], "--max-conc"),
        (["evaluate", EXAMPLE, "--judge=checklist", "-mm", "--rpm=-1"], "--rpm"),
        (["evaluate", EXAMPLE, "--judge=checklist", "-mm", "--timeout=nan"], "--timeout"),
    ],
)
def test_the_offending_word_is_named(words: list[object], named: str) -> None:
    assert named in complaint(*words)


def test_a_log_is_never_appended_to_a_file_of_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "rows.jsonl"
    data.write_bytes(EXAMPLE.read_bytes())
    assert "rows.jsonl" in complaint("evaluate", data, "--log-file", data)
    assert data.read_bytes() == EXAMPLE.read_bytes()
    for _ in range(2):  # a log, and an empty file, may be appended to
        assert run("evaluate", data, "-q", "--log-file", tmp_path / "log.txt") == 0
    (tmp_path / "empty.txt").touch()
    assert run("evaluate", data, "-q", "--log-file", tmp_path / "empty.txt") == 0


@pytest.mark.parametrize("module", ["heedful.cli", "cyclopts", "heedful.core.plugins"])
def test_an_interrupt_while_the_command_line_is_imported_leaves_no_traceback(module: str) -> None:
    code = f"""
import sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
sys.argv = ["heedful", "evaluate", {str(EXAMPLE)!r}]
from heedful.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_without_a_key_for_openai_the_first_call_says_so_and_nothing_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["evaluate", EXAMPLE, "--judge", "checklist", "--model", "echo"]
    line = complaint(*words)
    assert "OPENAI_API_KEY" in line
    assert "base" in line
    assert run(*words, "--dry-run") == 0


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_a_commands_line_in_the_overview_begins_its_own_help(command: tuple[str, ...]) -> None:
    app, entry = application(), COMMANDS
    for word in command[:-1]:
        group = entry[word]
        assert isinstance(group, Group)
        app, entry = app[word], group.commands
    function = app[command[-1]].default_command
    assert (function.__doc__ or "").splitlines()[0] == entry[command[-1]].help
