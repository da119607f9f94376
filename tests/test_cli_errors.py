"""Wrong use of the command line: one line that names the offending word, and exit code 2."""

import contextlib
import io
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from heedful.cli import application
from heedful.cli.commands import COMMANDS, Command, Group

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "quickstart.jsonl"


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
