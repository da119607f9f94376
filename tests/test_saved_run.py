"""Runs as inputs: every command and function that takes one, on every state of a run."""

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from commands import run as code
from heedful import (
    Constraint,
    Message,
    RunError,
    Sample,
    SavedRun,
    evaluate,
    respond,
)
from heedful.models import ScriptedModel
from jsonl import write_rows

PAGE = 16384
"""Bytes of a page of a store; the first ones hold the tables' names and the configuration."""


def sample(number: int, **fields: object) -> Sample:
    asked = (Message(role="user", content=f"Say {number} things."),)
    checklist = (Constraint(text="No commas."),)
    return Sample(id=str(number), conversation=asked, checklist=checklist, **fields)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run of each command whose runs some command reads."""
    folder = tmp_path_factory.mktemp("runs")
    evaluate(labelled(folder / "evaluate"), judge="compiled", run=folder / "evaluate")
    asked = [sample(number) for number in range(9)]
    respond(asked, models=ScriptedModel("A word."), run=folder / "respond")
    make_criticbench(folder)
    make_realcritic(folder)
    return folder


def make_criticbench(folder: Path) -> None:
    from heedful.bench.criticbench.run import Examination
    from heedful.bench.criticbench.tables import examine

    (folder / "build").mkdir()
    rows = [
        {"id": str(n), "question": "1 + 1?", "response": "2" if n % 2 else "3", "correct": n % 2}
        for n in range(4)
    ]
    text = "".join(json.dumps({**row, "correct": bool(row["correct"])}) + "\n" for row in rows)
    (folder / "build" / "triplets.jsonl").write_text(text, encoding="utf-8")
    critic = ScriptedModel("Judgment: correct")
    examination = Examination(folder / "build", [critic], repeats=1)
    examine(examination, run=folder / "criticbench")


def make_realcritic(folder: Path) -> None:
    pytest.importorskip("math_verify", reason="the extra 'reasoning' is not installed")
    from heedful.bench.realcritic.run import RealCriticPlan, run_realcritic

    row = {"idx": 1, "question": "1 + 1?", "gt": "2", "pred": "3", "reasoning": "\\boxed{3}"}
    row |= {"model": "weak", "previous_score": [False]}
    write_rows(folder / "sums.jsonl", [row])
    critic = ScriptedModel("## Correction\n\\boxed{2}")
    plan = RealCriticPlan([folder / "sums.jsonl"], [critic], modes=["direct"])
    run_realcritic(plan, run=folder / "realcritic")


# The commands that take a run: the kind of run, and the command's words.


def labelled(run: Path) -> str:
    path = run.parent / "labelled.jsonl"
    if not path.exists():
        row = {"checklist": ["No commas."], "response": "word " * 999, "labels": [True]}
        lines = [json.dumps({"id": str(number), **row}) for number in range(9)]
        path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def made(run: Path, name: str) -> str:
    """A path to write to, outside the run."""
    return str(run.parent / f"made-{name}")


JUDGE = ("--judge", "compiled", "-q")

TAKE_A_RUN: dict[str, tuple[str, Callable[[Path], list[list[str]]]]] = {
    "evaluate": (  # only to resume it, and a dry run leaves it as it is
        "evaluate",
        lambda run: [[labelled(run), *JUDGE, "--run", str(run), "--dry-run"]],
    ),
    "rejudge": (
        "evaluate",
        lambda run: [
            [str(run), "--judge", "rules,compiled", "--run", made(run, "rejudged"), "-q"],
            [str(run), *JUDGE, "--dry-run"],
        ],
    ),
    "judge-accuracy": (
        "evaluate",
        lambda run: [
            [labelled(run), "--runs", str(run), "-q"],
        ],
    ),
    "compare": (
        "evaluate",
        lambda run: [
            [str(run), str(run), "-q"],
            [f"{run}@model", str(run), "-q"],
            [str(run), str(run), "-q", "-o", made(run, "compared.json")],
        ],
    ),
    "report": ("evaluate", lambda run: [[str(run), "-o", made(run, "report.html")]]),
    "export": (
        "evaluate",
        lambda run: [[str(run), "-o", made(run, f"export.{suffix}")] for suffix in ("csv", "md")],
    ),
    "calibrate": (
        "evaluate",
        lambda run: [
            [str(run), "--plan", "0.05"],
            [str(run), "--draw", "3", "-o", made(run, "to_label.jsonl")],
        ],
    ),
    "reward pairs": (
        "evaluate",
        lambda run: [
            [str(run), "-o", made(run, "pairs.jsonl")],
            [str(run), "-o", made(run, "pairs"), "--to", "trl"],
        ],
    ),
    "reward best": ("evaluate", lambda run: [[str(run), "-o", made(run, "best.jsonl")]]),
    "bench criticbench report": (
        "criticbench",
        lambda run: [[str(run), "-o", made(run, "criticbench")]],
    ),
    "bench realcritic report": (
        "realcritic",
        lambda run: [[str(run), "-o", made(run, "realcritic")]],
    ),
}


# The states that a run may be in.


def damage(run: Path) -> None:
    store = run / "run.sqlite"
    whole = store.read_bytes()
    store.write_bytes(whole[: 4 * PAGE] + b"\xab" * (len(whole) - 4 * PAGE))


def truncate(run: Path) -> None:
    store = run / "run.sqlite"
    store.write_bytes(store.read_bytes()[: 3 * PAGE + 100])


def execute(sql: str) -> Callable[[Path], None]:
    def harm(run: Path) -> None:
        db = sqlite3.connect(run / "run.sqlite")
        db.execute("PRAGMA journal_mode=DELETE")
        db.executescript(sql)
        db.close()

    return harm


def kill(run: Path) -> None:
    """Leave what a killed writer leaves: a log with something in it, and no summary."""
    (run / "summary.json").unlink()
    script = (
        "import os, sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "db.execute('PRAGMA journal_mode=WAL')\n"
        "db.execute('DELETE FROM outputs WHERE position = 0')\n"
        "os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", script, run / "run.sqlite"], check=False)
    assert (run / "run.sqlite-wal").stat().st_size


def summary(text: str) -> Callable[[Path], object]:
    return lambda run: (run / "summary.json").write_text(text, encoding="utf-8")


def of_another_run(run: Path) -> None:
    text = (run / "summary.json").read_text(encoding="utf-8")
    changed = {**json.loads(text), "heedful": "0.0", "judge": "somebody"}
    (run / "summary.json").write_text(json.dumps(changed), encoding="utf-8")


HARMLESS = {
    "finished": lambda _: None,
    "no summary": lambda run: (run / "summary.json").unlink(),
    "killed": kill,
}

STORE = {
    "empty store": lambda run: (run / "run.sqlite").write_bytes(b""),
    "no store": lambda run: (run / "run.sqlite").unlink(),
    "truncated store": truncate,
    "damaged pages": damage,
    "older version": execute("DROP TABLE calls; DROP TABLE usage; PRAGMA user_version=0"),
    "no configuration": execute("DELETE FROM meta WHERE key = 'config'"),
    "broken configuration": execute("UPDATE meta SET value = '{' WHERE key = 'config'"),
    "broken rows": execute("UPDATE inputs SET value = 'no JSON'; UPDATE outputs SET value = '[]'"),
}

SUMMARIES = {
    "broken summary": summary('{"rows": '),
    "summary of another run": of_another_run,
}

STATES: dict[str, Callable[[Path], object]] = {**HARMLESS, **STORE, **SUMMARIES}

QUICK = ("finished", "damaged pages", "broken summary")
"""A state of each kind: all are tried once, since all runs are opened in one place."""


def slow(*values: str) -> Any:
    return pytest.param(*values, marks=pytest.mark.slow)


COMPLETE = ("rejudge", "compare", "report", "export", *(
    f"reward {name}" for name in ("pairs", "best")
))  # fmt: skip
"""The commands that take finished runs only."""


def copy(runs: Path, kind: str, folder: Path) -> Path:
    run = folder / kind
    shutil.copytree(runs / kind, run, ignore=shutil.ignore_patterns("*-wal", "*-shm", "*.lock"))
    return run


def state(run: Path) -> dict[Path, tuple[int, bytes]]:
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in (run, *sorted(run.rglob("*")))
    }


@pytest.mark.parametrize("harm", [*QUICK, *map(slow, ("killed", "broken rows"))])
@pytest.mark.parametrize("command", TAKE_A_RUN)
def test_a_command_gives_a_result_or_an_error_and_leaves_the_run_as_it_is(
    command: str, harm: str, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, commands = TAKE_A_RUN[command]
    run = copy(runs, kind, tmp_path)
    STATES[harm](run)
    before = state(run)
    for words in commands(run):
        result = code(*command.split(), *words)  # a traceback would end the test
        said = capsys.readouterr().err
        assert state(run) == before, words
        assert result in {0, 1, 2}
        if harm == "finished":
            assert "@" in words[0] or result in {0, 1}, said
        if result == 2:
            assert str(run) in said or "labelled" in said, said
            assert said.rstrip().endswith(")") or "labelled" in said, said  # a hint
        if harm in STORE and command != "evaluate" and not words[-1].endswith(".md"):
            assert result == 2, words
        if harm in HARMLESS.keys() - {"finished"} and command in COMPLETE:
            assert result == 2, words


@pytest.mark.parametrize("command", [name for name in TAKE_A_RUN if name != "evaluate"])
def test_a_run_of_another_command_is_refused_with_the_command_that_reads_it(
    command: str, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, commands = TAKE_A_RUN[command]
    others = {"respond": "view", "evaluate": "report", "criticbench": "bench criticbench report"}
    for other in others.keys() - {kind}:
        run = copy(runs, other, tmp_path)
        before = state(run)
        for words in commands(run):
            assert code(*command.split(), *words) == 2
            said = capsys.readouterr().err
            assert f"{run}: " in said
            assert f"heedful {others[other]} reads it" in said
            assert state(run) == before


@pytest.mark.parametrize("harm", [*QUICK, *map(slow, sorted(STATES.keys() - {*QUICK}))])
def test_a_saved_run_is_read_or_refused_and_left_as_it_is(
    harm: str, runs: Path, tmp_path: Path
) -> None:
    run = copy(runs, "evaluate", tmp_path)
    STATES[harm](run)
    before = state(run)
    if harm == "finished" or harm in SUMMARIES:
        assert len(list(SavedRun.open(run))) == 9
    else:
        with pytest.raises(RunError) as refusal:
            list(SavedRun.open(run))
        assert str(run) in refusal.value.where
        assert refusal.value.hint
    assert state(run) == before


@pytest.mark.parametrize(
    ("kind", "harm"),
    [
        *(slow("evaluate", harm) for harm in STATES),
        *product(["respond", "criticbench", "realcritic"], QUICK),
    ],
)
def test_the_viewer_shows_a_run_or_says_what_is_wrong(
    kind: str, harm: str, runs: Path, tmp_path: Path
) -> None:
    pytest.importorskip("starlette", reason="the extra 'view' is not installed")
    pytest.importorskip("httpx2", reason="Starlette's client needs httpx2")
    from viewing import keys_of, open_client

    run = copy(runs, kind, tmp_path / "runs")
    STATES[harm](run)
    before = state(run)
    browser, viewer = open_client(tmp_path / "runs", tmp_path / "indexes")
    assert browser.get("/").status_code == 200
    address = keys_of(browser).get(kind)
    if harm != "no store":
        assert address
        for page in (address, f"{address}/samples", f"{address}/samples/1"):
            answer = browser.get(page)
            assert "defect of heedful" not in answer.text, page
        if harm == "broken rows":
            assert "cannot be read" in answer.text
        elif harm in STORE and harm != "no configuration":  # its rows are there to be looked at
            assert answer.status_code in {400, 404, 500}
        if harm in SUMMARIES and kind != "criticbench":
            assert "the summary" in browser.get(address).text.replace("The", "the")
    viewer.close()
    assert state(run) == before


def test_a_run_tells_what_it_is(runs: Path) -> None:
    with SavedRun(runs / "evaluate") as run:
        assert (run.command, run.finished, run.judged) == ("evaluate", True, True)
        assert run.summary["judge"] == run.about["judge"] == run.judge["judge"] == "compiled"
        assert [row.id for row in run] == [str(number) for number in range(9)]
        assert run.entry(8).id == "8"
        assert run.cost() is None
        assert run.sessions[0]["seconds"] is not None
        with pytest.raises(RunError, match="no row 10"):
            run.entry(9)
    with SavedRun(runs / "respond") as run:
        assert run.command == "respond"
        assert [record.calls for record in run.usage_records()] == [9]
        cost = run.cost()
        assert cost is not None
        assert cost["calls"] == 9
    assert SavedRun(runs / "criticbench").command == "bench criticbench run"


def test_a_killed_run_is_read_with_what_only_its_log_holds(runs: Path, tmp_path: Path) -> None:
    run = copy(runs, "evaluate", tmp_path)
    kill(run)
    with SavedRun(run) as saved:
        outputs = [entry.output is None for entry in saved.entries()]
    assert outputs == [True, *[False] * 8]


@pytest.mark.slow
def test_listing_runs_leaves_each_as_it_is(
    runs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    for harm, changed in STATES.items():
        changed(copy(runs, "evaluate", tmp_path / harm))
    before = state(tmp_path)
    assert code("runs", str(tmp_path)) == 0
    listed = capsys.readouterr().out
    assert not [harm for harm in STATES if harm not in listed and harm != "no store"]
    assert state(tmp_path) == before
