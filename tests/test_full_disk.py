"""Full disks and closed streams: a message and an exit code, never a traceback."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fault_server import completion, serving

pytestmark = [
    pytest.mark.interrupted,
    pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here"),
]

ROWS = 200
EVALUATE = ("evaluate", "rows.jsonl", "--judge", "compiled", "--run", "run")


@pytest.fixture(autouse=True)
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    row = {"response": "word " * 200, "checklist": ["No commas.", "In 3 words"]}
    text = "".join(json.dumps({"prompt": f"p{n}", **row}) + "\n" for n in range(ROWS))
    Path("rows.jsonl").write_text(text, encoding="utf-8")


def heedful(*words: str, before: Callable[[], object] = lambda: None) -> tuple[int, str, str]:
    """Run a command after something is done in its process; return code, output and errors."""
    done = subprocess.run(
        [sys.executable, "-m", "heedful", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=before,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "Exception ignored" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def close(*numbers: int) -> Callable[[], object]:
    def closing() -> None:
        for number in numbers:
            os.close(number)

    return closing


def fill(*numbers: int) -> Callable[[], object]:
    return lambda: [os.dup2(os.open("/dev/full", os.O_WRONLY), number) for number in numbers]


@pytest.mark.parametrize("streams", [(0,), (0, 1, 2)])
def test_closed_streams_change_no_result(streams: tuple[int, ...]) -> None:
    assert heedful(*EVALUATE, before=close(*streams))[0] == 0
    assert len(Path("run/results.jsonl").read_text(encoding="utf-8").splitlines()) == ROWS
    assert heedful("evaluate", "nothing.jsonl", before=close(*streams))[0] == 2
    assert heedful("--help", before=close(*streams))[0] == 0


def test_what_cannot_be_printed_is_said_and_the_files_are_there() -> None:
    code, _, said = heedful(*EVALUATE, before=fill(1))
    assert (code, "standard output: " in said) == (2, True)
    assert len(Path("run/results.jsonl").read_text(encoding="utf-8").splitlines()) == ROWS
    code, _, said = heedful("export", "run", "-o", "a.csv", before=fill(1))
    assert (code, "No space left" in said) == (2, True)
    assert heedful("--help", before=fill(1))[0] == 2
    assert heedful("evaluate", "nothing.jsonl", before=fill(2))[0] == 2
    assert heedful(*EVALUATE, before=fill(1, 2))[0] == 2


def test_a_log_that_cannot_be_written_is_said_once_and_ends_nothing() -> None:
    code, _, said = heedful(*EVALUATE, "-q", "--log-file", "/dev/full", "--log-level", "DEBUG")
    assert code == 0
    assert said.count("the log cannot be written any more") == 1
    assert heedful(*EVALUATE, "-q", "--log-level", "DEBUG", before=fill(2))[0] == 0


@pytest.mark.parametrize(("kib", "executor"), [(1, "local"), (400, "local"), (400, "processes")])
def test_a_disk_that_is_full_at_any_place_costs_only_time(kib: int, executor: str) -> None:
    size = kib * 1024

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    seen = "Seen. " * 100
    text = "".join(f"<c{number}>\n{seen}\nVERDICT: MET\n</c{number}>\n" for number in (1, 2))
    with serving(completion(text)) as server:
        words: tuple[str, ...] = (
            *EVALUATE[:2],
            "--run",
            "run",
            "-o",
            "out.jsonl",
            "-q",
            "--judge",
            "checklist",
        )
        words += ("--model", "m", "--base-url", server.url, "--prompt", "plain")
        code, _, said = heedful(*words, "--executor", executor, before=bounded)
        assert code == 2
        assert said.startswith("heedful: ")
        assert said.count("\n") == 1
        assert not list(Path().rglob("*.part"))
        assert heedful(*words)[0] == 0
    assert len(Path("out.jsonl").read_text(encoding="utf-8").splitlines()) == ROWS
