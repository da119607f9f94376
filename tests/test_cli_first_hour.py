"""The first hour: help that fits a screen, heedful.toml, init, runs, completion."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from commands import run
from fault_server import completion, serving
from heedful import Critique, RunError, Sample, StopRunError, evaluate
from heedful.cli.help import RARE
from heedful.jobs.saved_run import SavedRun
from heedful.pages.overview import run_lines
from jsonl import write_rows

ROW = {"prompt": "Greet.", "checklist": ["No commas.", "It is kind."], "response": "Hi!"}
SCREEN = 60
"""Lines of a terminal on a laptop."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write_rows(tmp_path / "mine.jsonl", [ROW])
    return tmp_path


def judge_of(run_folder: Path) -> str:
    return str(json.loads((run_folder / "summary.json").read_text("utf-8"))["judge"])


# ------------------------------------------------------------------------------------------- help


@pytest.mark.parametrize("command", ["evaluate", "rejudge", "respond", "checklist"])
def test_everyday_flags_fit_a_screen_and_all_are_a_flag_away(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command, "--help") == 0
    short = capsys.readouterr().out
    assert run(command, "--help-all") == 0
    whole = capsys.readouterr().out
    assert len(short.splitlines()) <= SCREEN
    assert f"heedful {command} --help-all" in short
    assert "--api-key-env" in whole
    assert "--help-all" not in whole
    assert "--rpm" in whole
    assert "--rpm" not in short


@pytest.mark.slow
def test_what_is_hidden_is_a_flag_of_some_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = ""
    for command in ("evaluate", "respond", "checklist"):
        run(command, "--help-all")
        shown += capsys.readouterr().out
    assert not [flag for flag in RARE if flag not in shown]


# ------------------------------------------------------------------------------------- heedful.toml


@pytest.mark.slow
def test_flags_come_from_the_file_and_the_command_line_wins(folder: Path) -> None:
    (folder / "heedful.toml").write_text('[evaluate]\njudge = "rules,compiled"\n', "utf-8")
    assert run("evaluate", "mine.jsonl", "--run", "a") == 0
    assert judge_of(folder / "a") == "rules,compiled"
    assert run("evaluate", "mine.jsonl", "--run", "b", "--judge", "compiled") == 0
    assert judge_of(folder / "b") == "compiled"
    assert run("evaluate", "mine.jsonl", "--run", "c", "-j", "compiled") == 0
    assert judge_of(folder / "c") == "compiled"


@pytest.mark.slow
def test_keys_at_the_top_are_for_the_commands_that_have_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = 'model = "m"\nbase-url = "http://127.0.0.1:9/v1"\nmin_coverage = 0.5\n'
    (folder / "heedful.toml").write_text(text, "utf-8")
    assert run("trust") == 0
    assert run("evaluate", "mine.jsonl", "--dry-run") == 0
    assert "m/plain" in capsys.readouterr().out
    assert run("runs", ".") == 0
    # Judges that ask no model leave the file's model alone.
    assert run("evaluate", "mine.jsonl", "--judge", "rules,compiled", "--run", "a") == 0


@pytest.mark.slow
def test_a_file_that_sends_keys_somewhere_is_trusted_first(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-user-1")
    file = folder / "heedful.toml"
    with serving(completion("<c1>\nVERDICT: MET\n</c1>")) as server:
        lines = [f'base-url = "{server.url}"', 'api-key-env = "AWS_SECRET_ACCESS_KEY"', ""]
        file.write_text("\n".join(lines), "utf-8")
        words = ("evaluate", "mine.jsonl", "--model", "m", "--run", "a")
        assert run(*words) == 2
        assert "heedful trust" in capsys.readouterr().err
        assert run("evaluate", "mine.jsonl", "--judge", "compiled", "--run", "b") == 2
        assert not server.bodies
        assert run("trust") == 0
        assert "AWS_SECRET_ACCESS_KEY" in capsys.readouterr().out
        file.write_text("\n".join([*lines, "[evaluate]\nvotes = 1\n"]), "utf-8")
        run(*words)
        assert server.headers[0]["Authorization"] == "Bearer secret-of-the-user-1"
        asked = len(server.bodies)
        for changed in (
            file.read_text("utf-8").replace("AWS_", "GCP_"),
            f'header = "a=b"\n{lines[1]}',
        ):
            file.write_text(changed, "utf-8")
            assert run(*words[:-1], "c") == 2
        elsewhere = folder / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "heedful.toml").write_text("\n".join(lines), "utf-8")
        monkeypatch.chdir(elsewhere)
        assert run("evaluate", "../mine.jsonl", *words[2:]) == 2
        assert len(server.bodies) == asked


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[evaluate]\nvotez = 3\n", "did you mean 'votes'"),
        ('[evaluate]\nvotes = "x"\n', "[votes] from heedful.toml"),
        ('api-key = "sk-1"\n', "secret"),
        ("votes = [\n", "cannot be read"),
        ("evaluate = 3\n", "not a table"),
        ("[evaluate]\njudge = {a = 1}\n", "has a table as 'judge'"),
        ('modle = "m"', "did you mean 'model'"),
        ("[evalaute]\nlimit = 1", "did you mean 'evaluate'"),
        ("[bench.criticbnch]\nlimit = 1", "did you mean 'criticbench'"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_in_one_line(
    text: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "heedful.toml").write_text(text, "utf-8")
    assert run("evaluate", "mine.jsonl") == 2
    (*_, line) = capsys.readouterr().err.splitlines()
    assert said in line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("mine.jsonl", "--run", ""), "--run is empty"),
        (("",), "an argument is empty"),
        (("mine.jsonl", "./mine.jsonl"), "twice"),
        (("mine.jsonl", "-o", "out.xlsx"), ".jsonl"),
        (("mine.jsonl", "--model", "large,small", "--dry-run"), "comma"),
    ],
)
def test_what_would_surprise_later_is_refused_in_one_line(
    words: tuple[str, ...], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("evaluate", *words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (folder / "out.xlsx").exists()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('"response": "Hi"', {"checklist"}),
        ('"checklist": ["No commas."]', {"respond"}),
    ],
)
def test_what_rows_lack_is_named_with_the_command_that_makes_it(
    row: str, said: set[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bare.jsonl").write_text(f'{{"prompt": "Greet.", {row}}}\n', "utf-8")
    assert run("evaluate", "bare.jsonl") == 1
    shown = "".join(capsys.readouterr())
    makers = {"checklist", "respond"}
    assert {name for name in makers if f"heedful {name} FILE --model NAME -o OUT" in shown} == said


def test_one_constraint_may_be_plain_text(folder: Path) -> None:
    rows = [ROW | {"checklist": "No commas."}, ROW | {"checklist": ["No commas."]}]
    write_rows(folder / "one.jsonl", rows)
    assert run("evaluate", "one.jsonl", "--run", "r", "--quiet") == 0
    results = (folder / "r/results.jsonl").read_text("utf-8").splitlines()
    first, second = (json.loads(line)["judgments"] for line in results)
    assert first == second


class Refusing:
    """A judge whose first call is refused, as with a wrong key."""

    name = "refusing"
    config: ClassVar[dict[str, Any]] = {"judge": "refusing"}

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        raise StopRunError(f"the key is refused: {sample.id} {requested}")


@pytest.mark.usefixtures("folder")
def test_a_refused_command_does_not_block_the_corrected_one() -> None:
    with pytest.raises(StopRunError):
        evaluate("mine.jsonl", judge=Refusing(), run="r")
    assert len(evaluate("mine.jsonl", judge="compiled", run="r")) == 1
    with pytest.raises(RunError, match="another configuration"):
        evaluate("mine.jsonl", judge=Refusing(), run="r")


def test_flags_of_other_commands_stay_at_the_top(folder: Path) -> None:
    (folder / "heedful.toml").write_text("draw = 3\npassed = 1\n", "utf-8")
    assert run("evaluate", "mine.jsonl", "--dry-run") == 0


# ------------------------------------------------------------------------------------ init and runs


def test_the_example_is_judged_as_it_is_and_nothing_is_replaced(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("init", "new") == 0
    inside = folder / "new"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(inside)
        assert run("evaluate", "samples.jsonl", "--run", "first") == 0
    assert "left for a model" in capsys.readouterr().out
    before = (inside / "samples.jsonl").read_bytes()
    assert run("init", "new") == 2
    (inside / "heedful.toml").unlink()
    assert run("init", "new") == 0
    assert (inside / "samples.jsonl").read_bytes() == before


def commented_out(text: str) -> str:
    """Return a commented example with its keys in force."""
    lines = [line.removeprefix("# ") if " = " in line else line for line in text.splitlines()]
    return "\n".join(lines)


def test_every_key_of_the_commented_example_is_a_flag(folder: Path) -> None:
    run("init", ".")
    path = folder / "heedful.toml"
    path.write_text(commented_out(path.read_text("utf-8")), "utf-8")
    (folder / "prices.json").write_text('{"gpt-4.1-mini": {"prompt": 1, "completion": 2}}', "utf-8")
    assert run("trust") == 0
    assert run("evaluate", "samples.jsonl", "--dry-run") == 0


def test_runs_are_listed_and_sorted_by_any_rate(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, response in (("good", "Hi!"), ("bad", "Hi, you!")):
        evaluate([ROW | {"response": response}], run=folder / "all" / name)
    assert run("runs", "all", "--sort", "constraints met", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert [line["run"] for line in listed] == ["all/good", "all/bad"]
    assert [line["least"]["constraints met"] for line in listed] == [0.5, 0]
    assert run("runs", "all", "--judge", "GOOD") == 0
    shown = capsys.readouterr().out
    assert "good" in shown
    assert "bad" not in shown
    assert run("runs", "all", "--sort", "constraint met") == 2
    assert "'constraints met'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_that_decided_nothing_or_was_stopped_says_why(folder: Path) -> None:
    kind = ROW | {"checklist": ["It is kind."]}
    evaluate([kind], run=folder / "nothing")
    with pytest.raises(Exception, match="connection"):
        evaluate(
            [kind],
            judge="checklist",
            model="m",
            base_url="http://127.0.0.1:9/v1",
            run=folder / "dead",
        )
    lines = {line.directory.name: line for line in run_lines(folder)}
    assert lines["nothing"].problem
    assert lines["dead"].state == "interrupted"
    assert "the connection failed" in lines["dead"].problem
    with SavedRun(folder / "dead") as saved:
        assert saved.sessions[-1]["stopped"]


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_completes_commands_and_flags(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("completion", shell) == 0
    script = capsys.readouterr().out
    assert "evaluate" in script
    assert "min-coverage" in script
    if shell == "bash" and (bash := shutil.which("bash")):
        subprocess.run([bash, "-n"], input=script.encode(), check=True)
