"""One run has one writer and one input: neither is taken on trust."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import commands
from heedful import Constraint, Critique, Judgment, Sample, Status, evaluate
from heedful.core.errors import InputError, RunError, StopRunError
from heedful.engine.inputs import fingerprint
from heedful.engine.lock import LOCK, only_writer
from heedful.engine.reader import Reader
from heedful.engine.store import Store

# Whole commands, with servers, files and processes.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("empty_folder")]

ROWS = 150

posix = pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a POSIX signal")


def lines(count: int = ROWS, word: str = "word") -> list[str]:
    """Rows of a few kilobytes, so that a file isn't read at once."""
    return [
        json.dumps(
            {
                "id": str(number),
                "prompt": f"Question {number}. " + f"{word} " * 500,
                "checklist": ["It is kind."],
                "response": word,
            }
        )
        + "\n"
        for number in range(count)
    ]


def write(rows: Sequence[str], path: Path = Path("in.jsonl")) -> Path:
    path.write_text("".join(rows), encoding="utf-8")
    return path


class Disturbing:
    """A judge under which something happens to the input, once."""

    name = "disturbing"
    config: dict[str, str] = {"judge": "disturbing"}  # noqa: RUF012 - a constant here

    def __init__(self, disturb: Callable[[], object] = lambda: None, after: int = 40) -> None:
        self.judged: list[str] = []
        self._disturb = disturb
        self._after = after

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        self.judged.append(sample.id)
        if len(self.judged) == self._after:
            self._disturb()
        await asyncio.sleep(0)
        met = Judgment(status=Status.MET, explanation=sample.response or "")
        return Critique(judgments=(met,) * len(requested or sample.checklist))


def results(run: str) -> list[Any]:
    text = Path(run, "results.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def judged(judge: Disturbing, run: str) -> Any:
    return evaluate("in.jsonl", judge=judge, run=run, concurrency=4)


def replaced(rows: list[str]) -> Callable[[], object]:
    """Another file takes the place, as an editor leaves it."""
    return lambda: write(rows, Path("new.jsonl")).replace("in.jsonl")


def truncated(size: int) -> Callable[[], object]:
    return lambda: os.truncate("in.jsonl", size)


def appended() -> None:
    with Path("in.jsonl").open("a", encoding="utf-8") as file:
        file.write(lines(ROWS + 1)[-1])


def written_again() -> None:
    """The same content, but whoever read in between saw half a file."""
    write(lines()[:100])
    write(lines())


CHANGES: dict[str, Callable[[], object]] = {
    "shrinks": truncated(100 * len(lines()[0])),
    "grows": appended,
    "is replaced": replaced(lines(word="other")),
    "loses its first row": lambda: write(lines()[1:]),
    "is written again": written_again,
    "is removed": lambda: Path("in.jsonl").unlink(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_an_input_that_changes_under_a_run_does_not_finish_it(change: Callable[[], object]) -> None:
    if sys.platform == "win32" and change is CHANGES["is removed"]:
        pytest.skip("Windows removes no file that is open")
    write(lines())
    whole = judged(Disturbing(), "whole")
    assert whole.summary["rows"]["read"] == ROWS
    first = Disturbing(change)
    with pytest.raises(InputError, match=r"in\.jsonl"):
        judged(first, "run")
    assert not Path("run", "summary.json").exists()
    with Reader(Path("run")) as store:  # what was judged is kept
        assert len([*store.done()]) >= 40
    # The file as it was goes on, and what comes of it is no mixture.
    write(lines())
    again = Disturbing()
    judged(again, "run")
    assert results("run") == results("whole")
    assert {*first.judged, *again.judged} >= {str(number) for number in range(ROWS)}
    # What is known to be of the input is neither compared nor judged again.
    third = Disturbing()
    judged(third, "run")
    assert not third.judged


def test_a_session_that_was_stopped_checks_too() -> None:
    write(lines())

    def stop() -> None:
        write(lines(word="other"))
        raise StopRunError("no money")

    with pytest.raises(StopRunError):
        judged(Disturbing(stop), "run")
    write(lines())
    judged(Disturbing(), "run")
    judged(Disturbing(), "whole")
    assert results("run") == results("whole")


def test_an_input_that_is_left_alone_is_read_once_more_at_most(tmp_path: Path) -> None:
    path = write(lines())
    old = time.time() - 100
    os.utime(path, (old, old))
    taken = fingerprint(path)
    assert taken.unchanged()
    assert fingerprint(path) == taken
    path.rename(tmp_path / "moved.jsonl")
    assert not taken.unchanged()
    assert fingerprint(tmp_path / "moved.jsonl") == taken


# One writer.


def test_a_second_session_in_one_process_is_refused_and_says_by_whom() -> None:
    write(lines(3))
    with only_writer("run"):
        with pytest.raises(RunError, match=str(os.getpid())):
            judged(Disturbing(), "run")
        judged(Disturbing(), "another")
    judged(Disturbing(), "run")
    assert not Path("run", LOCK).exists()


@pytest.mark.parametrize("name", [LOCK, "run.sqlite"])
def test_a_session_whose_files_are_removed_ends(name: str) -> None:
    write(lines(50))
    with pytest.raises(RunError, match="removed"):
        judged(Disturbing(Path("run", name).unlink, after=3), "run")


def test_a_session_that_fails_lets_go() -> None:
    write(lines(50))

    def stop() -> None:
        raise StopRunError("no money")

    for _ in range(2):
        with pytest.raises(StopRunError) as kept:  # with its traceback, which holds the session
            judged(Disturbing(stop, after=1), "run")
    judged(Disturbing(), "run")
    assert kept.value.what == "no money"


HOLD = """
import sys
from heedful.engine.lock import only_writer
from heedful.core.errors import RunError
for line in sys.stdin:
    try:
        with only_writer("run"):
            print("held", flush=True)
            sys.stdin.readline()
        print("free", flush=True)
    except RunError as error:
        print(error, flush=True)
"""


class Other:
    """Another process, told line by line to hold the run and to let go of it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def tell(self) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def other() -> Iterator[Other]:
    made = Other()
    yield made
    made.end()


def test_another_process_is_kept_out_and_named(other: Other) -> None:
    write(lines(3))
    assert other.tell() == "held"
    for _ in range(2):  # whoever is refused takes nothing away
        with pytest.raises(RunError, match=str(other.process.pid)):
            judged(Disturbing(), "run")
    assert other.tell() == "free"
    judged(Disturbing(), "run")
    with only_writer("run"):
        assert str(os.getpid()) in other.tell()
    assert other.tell() == "held"


@posix
def test_a_process_that_is_killed_holds_nothing(other: Other) -> None:
    write(lines(3))
    assert other.tell() == "held"
    os.kill(other.process.pid, signal.SIGKILL)
    other.process.wait()
    assert Path("run", LOCK).exists()
    judged(Disturbing(), "run")
    assert not Path("run", LOCK).exists()


def test_those_who_read_need_not_wait(other: Other, capsys: pytest.CaptureFixture[str]) -> None:
    write(lines(3))
    again = ["evaluate", "in.jsonl", "--judge", "rules", "--run", "run"]
    assert commands.run(*again, "-q") in {0, 1}
    assert other.tell() == "held"
    with Reader(Path("run")) as store:
        assert len([*store.entries()]) == 3
    assert commands.run(*again, "--dry-run") == 0
    assert commands.run("report", "run", "-o", "run.html") == 0
    assert commands.run(*again, "-q") == 2
    assert str(other.process.pid) in capsys.readouterr().err


def test_a_file_in_the_way_of_the_lock_is_an_error() -> None:
    Path("run").write_text("no folder", encoding="utf-8")
    with pytest.raises(RunError), only_writer("run"):
        pass
    with only_writer(None), Store(None):  # a temporary run is nobody else's
        pass
    assert evaluate([Sample(id="1", checklist=(Constraint(text="No commas."),))]).directory is None
