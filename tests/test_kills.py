"""Runs killed at ten moments: the same results, and no call bought twice but those in flight."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from numbered_rows import children, judge, lives, serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")

MOMENTS, ROWS, IN_FLIGHT, WORKERS = 10, 1000, 32, 2


def forked(process: int) -> list[int]:
    """Find the forked workers, children of the one child that forks them."""
    return [worker for child in children(process) for worker in children(child)]


def tasks(_: int = 0, name: bytes = b"ray::heedful") -> list[int]:
    """Find Ray's tasks by the name that it gives their processes."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            title = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if title.startswith(name):
            found.append(int(folder.name))
    return found


def until(true: Callable[[], object], seconds: float = 300.0) -> None:
    ends = time.monotonic() + seconds
    while not true() and time.monotonic() < ends:
        time.sleep(0.002)
    assert true()


@pytest.mark.parametrize(
    ("executor", "victim"),
    [
        pytest.param(executor, victim, marks=lane)
        for executor, lane in (
            ("local", pytest.mark.interrupted),
            ("processes", pytest.mark.interrupted),
            ("ray", pytest.mark.ray),
        )
        for victim in ("a worker", "the run", "Ctrl-C")
        if (executor, victim) != ("local", "a worker")
    ],
)
def test_a_run_killed_at_ten_moments_ends_as_one_that_was_not(
    tmp_path: Path, request: pytest.FixtureRequest, executor: str, victim: str
) -> None:
    # A cluster that starts puts into the environment how one signs in to it.
    cluster = {"RAY_ADDRESS": request.getfixturevalue("ray_cluster")} if executor == "ray" else {}
    environment = os.environ | cluster
    counts: Counter[str] = Counter()
    workers = tasks if executor == "ray" else forked
    run = tmp_path / "killed"
    with serving(counts, delay_s=0.05) as url:
        judge(url, ROWS, tmp_path / "whole")
        calls = counts.total()
        counts.clear()
        command = [sys.executable, __file__, url, str(run), executor]
        process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        for moment in range(MOMENTS):
            until(lambda: len(counts) >= calls * (moment + 1) // (MOMENTS + 2))  # noqa: B023
            if victim == "a worker":
                until(lambda: workers(process.pid))  # noqa: B023 - the run stays the same
                os.kill(min(workers(process.pid)), signal.SIGKILL)  # the oldest: each in its turn
                continue
            begun = workers(process.pid)
            process.send_signal(signal.SIGINT if victim == "Ctrl-C" else signal.SIGKILL)
            assert process.wait(300) != 0
            until(lambda: not any(map(lives, begun)))  # noqa: B023 - called at once
            process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        assert process.wait(300) == 0
    results = [(tmp_path / name / "results.jsonl").read_bytes() for name in ("whole", "killed")]
    assert results[0] == results[1]
    assert not (run / "parts").exists()
    # A worker has its share of the calls in flight; prompts at the seams of parts come twice.
    in_flight = IN_FLIGHT // WORKERS if victim == "a worker" else IN_FLIGHT
    assert counts.total() <= calls + MOMENTS * in_flight + 4 * WORKERS


if __name__ == "__main__":
    where, directory, chosen = sys.argv[1:]
    divided = {} if chosen == "local" else {"workers": WORKERS}
    judge(where, ROWS, Path(directory), executor=chosen, **divided)
