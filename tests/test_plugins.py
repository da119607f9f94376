"""Plugins: the example package, installed, tried piece by piece; and packages that do harm."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from heedful.core.plugins import GROUPS

pytestmark = pytest.mark.slow  # many cases, or processes of their own

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "plugin"
POEMS = EXAMPLE / "poems.jsonl"


def install(site: Path, name: str, points: dict[str, dict[str, str]], **modules: str) -> None:
    """Put a package and its entry points into a folder, as pip would."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = []
    for group, added in points.items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in added.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for module, code in modules.items():
        (site / f"{module}.py").write_text(code, encoding="utf-8")


def python(site: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run Python with a folder of packages beside the installed ones."""
    path = os.pathsep.join([str(site), *sys.path])
    return subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=site,
        env=os.environ | {"PYTHONPATH": path, "COLUMNS": "200"},
    )


COMMANDS = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from heedful.cli import main

done = []
for words in json.loads(sys.argv[1]):
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        try: main(words)
        except SystemExit as stopped: code = stopped.code
    done.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(done))
"""


def heedful(site: Path, *commands: Sequence[object]) -> list[tuple[int, str, str]]:
    """Run commands in one process; return the exit code, output and errors of each."""
    words = [[str(word) for word in command] for command in commands]
    ran = python(site, "-c", COMMANDS, json.dumps(words))
    return [tuple(done) for done in json.loads(ran.stdout)]


def verdicts(run: Path) -> list[list[tuple[str, str]]]:
    rows = map(json.loads, (run / "results.jsonl").read_text(encoding="utf-8").splitlines())
    return [[(each["status"], each["judge"]) for each in row["judgments"]] for row in rows]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example installed."""
    folder = tmp_path_factory.mktemp("site")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install(folder, "heedful_example", project["entry-points"])
    (folder / "heedful_example").symlink_to(EXAMPLE / "heedful_example")
    return folder


# --- the example --------------------------------------------------------------------------------


def test_the_example_adds_one_of_each() -> None:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"].keys() == GROUPS.keys()


def test_its_pieces_work_and_a_run_is_judged_again_with_them_and_without(
    site: Path, tmp_path: Path
) -> None:
    words, echo, rated, again = (tmp_path / name for name in ("words", "echo", "rated", "again"))
    judged = ("evaluate", POEMS, "--judge", "rules,words", "--run")
    model = ("--model", "echo:1 yes, 2 no", "--prompt", "one_line", "--executor", "thread")
    plain, asked, gated, both, with_it = heedful(
        site,
        (*judged, words),
        ("evaluate", POEMS, "--judge", "checklist", *model, "--run", echo),
        (*judged, rated, "--fail-under", "questions.half=1", "--format", "questions"),
        ("compare", rated, rated, "-o", tmp_path / "c.json"),
        ("rejudge", words, "--judge", "recorded", "--run", again),
    )
    assert (plain[0], plain[2], asked[0], asked[2]) == (0, "", 0, "")
    assert verdicts(words) == [
        [("met", "rules"), ("met", "words")],
        [("unmet", "rules"), ("unmet", "words")],
    ]
    assert verdicts(echo) == [[("met", "echo/one_line"), ("unmet", "echo/one_line")]] * 2
    # Its family has rates of its own.
    summary = json.loads((rated / "summary.json").read_text(encoding="utf-8"))
    rate = summary["metrics"]["questions"]["half"]
    assert (rate["numerator"], rate["denominator"]) == (1, 2)
    assert "Questions half of the questions, or more" in gated[1]
    assert gated[0] == 3
    assert "below 100" in gated[2]
    assert both[0] == 0, both[2]
    (pair,) = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["pairs"]
    assert pair["metrics"]["questions"]["half"]["difference"]["value"] == 0
    gone = tmp_path / "gone"
    (without,) = heedful(tmp_path, ("rejudge", words, "--judge", "recorded", "--run", gone))
    for done, run in ((with_it, again), (without, gone)):
        assert "Traceback" not in done[2]
        assert (run / "results.jsonl").is_file()


PYTHON = """
import heedful
from heedful.core.nouns import Recording
from heedful.data.formats import read
from heedful.judges import prompts
from heedful.models import named

samples = [row.sample for row in read({poems!r}, format="questions")]
asked = samples[0].checklist
prompt = prompts.make("one_line")
judgments = prompt.parse("1 yes, 2 no", asked)
assert [str(each.status) for each in judgments] == ["met", "unmet"]
assert prompt.write(judgments, asked) == "1 yes, 2 no"
shown = "".join(message.content for message in prompt.render(samples[0], asked))
assert samples[0].response in shown and asked[1].text in shown
for bad in ("", "1 yes", "1 yes, 1 no", "2 no, 1 yes", "1 yes, 2 maybe", "1 yes, 2 no, 3 yes"):
    assert not any(each.status.decided for each in prompt.parse(bad, asked)), bad
recording = Recording(prompt="one_line", text="1 no, 2 yes")
assert [str(each.status) for each in prompts.read(recording, asked)] == ["unmet", "met"]
assert "one_line" in prompts.names()
assert named.make("echo:hello").config["text"] == "hello"
found = heedful.evaluate(samples, judge="rules,words", run={run!r})
print(found.summary["verdicts"]["met"])
"""


def test_all_of_it_from_python(site: Path, tmp_path: Path) -> None:
    code = PYTHON.format(poems=str(POEMS), run=str(tmp_path / "run"))
    done = python(site, "-W", "error", "-c", code)
    assert (done.returncode, done.stdout.strip()) == (0, "2"), done.stderr


def test_help_and_errors_name_what_plugins_add(site: Path) -> None:
    wrong = {
        "questions": ("--format", "question"),
        "words": ("--judge", "wordz"),
        "one_line": ("--judge", "checklist", "--model", "echo:x", "--prompt", "one_lin"),
    }
    asked = [("evaluate", POEMS, *words) for words in wrong.values()]
    told, *refused = heedful(site, ("evaluate", "--help"), *asked)
    assert all(name in told[1] for name in (*wrong, "echo", "example"))
    for name, (code, _, error) in zip(wrong, refused, strict=True):
        assert code == 2
        assert name in error


# --- packages that do harm ----------------------------------------------------------------------

BROKEN: dict[str, Any] = {
    "raises": "raise RuntimeError('out of order')",
    "wrong": "FORMAT = make = 7",
    "makes_little": "def make(**options): return object()\nFORMAT = object()",
}
ASKED = {
    "heedful.formats": ("--format", "mine"),
    "heedful.judges": ("--judge", "rules,mine"),
    "heedful.prompts": ("--judge", "checklist", "--model", "m", "--prompt", "mine"),
    "heedful.models": ("--judge", "checklist", "--model", "mine:x"),
}


def test_a_broken_plugin_is_named_where_it_is_asked_for_and_breaks_nothing_else(
    tmp_path: Path,
) -> None:
    site = tmp_path / "site"
    for name, module in BROKEN.items():  # each package adds a broken thing to each group
        points = {group: {name: f"{name}:make"} for group in GROUPS}
        points["heedful.formats"] = {name: f"{name}:FORMAT"}
        install(site, f"package_{name}", points, **{name: module})
    tries = [(name, group) for name in BROKEN for group in ASKED]
    asking = [
        ("evaluate", POEMS, *(word.replace("mine", name) for word in ASKED[group]))
        for name, group in tries
    ]
    data = ROOT / "examples" / "quickstart.jsonl"
    judges = ("--format", "native", "--judge", "compiled,recorded")
    works = ("evaluate", data, *judges, "--run", tmp_path / "run")
    *asked, judged, helped = heedful(site, *asking, works, ("--help",))
    for (name, group), (code, _, error) in zip(tries, asked, strict=True):
        (line,) = error.splitlines()
        assert code == 2
        assert all(word in line for word in (f"'{name}'", group, f"{name}:", "update or remove"))
    assert (judged[0], judged[2], helped[0]) == (0, "", 0)


# --- names --------------------------------------------------------------------------------------

TAKEN = {
    "heedful.formats": "native",
    "heedful.judges": "compiled",
    "heedful.prompts": "plain",
    "heedful.models": "local",
}
CLASH = """
from heedful.verify import Finding, verifier
@verifier("punctuation:no_comma", describe="x")
def mine(response): return Finding(met=True, found="by a plugin")
"""


@pytest.fixture(scope="module")
def namesake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package whose plugins have the names of built-ins."""
    folder = tmp_path_factory.mktemp("namesake")
    points = {group: {name: "namesake:make"} for group, name in TAKEN.items()}
    points["heedful.verifiers"] = {"mine": "clash"}
    install(folder, "namesake", points, namesake="raise SystemExit('replaced')", clash=CLASH)
    return folder


def test_a_plugin_never_replaces_a_built_in(namesake: Path, tmp_path: Path) -> None:
    data = ROOT / "examples" / "quickstart.jsonl"
    words = ("--format", "native", "--judge", "compiled,recorded")
    evaluated = ("evaluate", data, *words, "--run", tmp_path / "run")
    ((code, _, error),) = heedful(namesake, evaluated)
    assert code == 0
    assert error.count("heedful: warning:") == 2
    assert "'native'" in error
    assert "'compiled'" in error


def test_a_recording_of_a_broken_or_unknown_prompt_is_not_decided(tmp_path: Path) -> None:
    code = """
class Prompt:
    name, version, response_format = "mine", "1", None
    def render(self, *_, **__): return []
    def parse(self, text, constraints):
        if text == "few": return []
        raise RuntimeError("out of order")
    write = render
def make(**_): return Prompt()
"""
    points = {"mine": "mine:make", "other": "mine:make", "gone": "nowhere_to_be_found:make"}
    install(tmp_path, "mine", {"heedful.prompts": points}, mine=code)
    read = """
from heedful.core.nouns import Constraint, Recording
from heedful.judges import prompts
for name in ("mine", "other", "gone", "nobody", "../x", "os", ""):
    for text in ("few", "x"):
        found = prompts.read(Recording(prompt=name, text=text), [Constraint(text="c")] * 2)
        print([str(each.status) for each in found] == ["unparsed"] * 2, bool(found[0].explanation))
"""
    done = python(tmp_path, "-c", read)
    assert set(done.stdout.splitlines()) == {"True True"}, done.stderr
