"""Several processes: the results of a local run, and nothing called twice."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fault_server
from fault_server import Answer, completion, refusal
from heedful import Message, StopRunError, evaluate, respond
from heedful.core.errors import ModelError, UsageError
from heedful.engine.call_cache import cache_calls, complete
from heedful.engine.workers import RemoteStore
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import OpenAIModel, Price, Sampling, ScriptedModel
from numbered_rows import children, judge, lives, rows, serving, usage, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful import Evaluation

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")

PRICES = {"m": Price(prompt=1000.0, completion=1000.0)}


@pytest.mark.slow
def test_processes_come_to_what_a_local_run_comes_to(tmp_path: Path) -> None:
    sides: dict[str, Any] = {}
    counts: Counter[str] = Counter()
    with serving(counts) as url:
        for executor in ("local", "processes"):
            counts.clear()
            summary = judge(url, 60, tmp_path / executor, executor=executor).summary
            results = (tmp_path / executor / "results.jsonl").read_bytes()
            sides[executor] = summary, dict(counts), results, verdicts(tmp_path / executor)
    assert sides["local"] == sides["processes"]
    assert Counter(sides["local"][1]) == Counter([*map(str, {*range(30)} - {7}), "8"])
    assert summary["cost"]["calls"] == 30
    assert usage(tmp_path / "local") == usage(tmp_path / "processes")


def wait_until(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.01)


@pytest.mark.slow
def test_calls_that_a_dead_process_was_answered_are_counted_as_lost(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    with serving(counts, delay_s=0.05) as url:
        whole = judge(url, 200, tmp_path / "whole").summary
        calls = counts.total()
        counts.clear()

        def kill() -> None:
            wait_until(lambda: counts.total() >= 30 and counts["8"] == 2)
            process = children(os.getpid())[0]
            os.kill(process, signal.SIGSTOP)
            # Whatever it was waiting for is answered before the other process's next calls.
            stopped = counts.total()
            wait_until(lambda: counts.total() >= stopped + 40)
            os.kill(process, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        summary = judge(url, 200, tmp_path / "killed", executor="processes").summary
        killer.join()
    assert summary["verdicts"] == whole["verdicts"]
    assert verdicts(tmp_path / "whole") == verdicts(tmp_path / "killed")
    cost = summary["cost"]
    lost = cost.pop("lost", 0)  # none where it had not begun yet
    assert lost <= 16  # half the calls at a time, as there are two processes
    assert counts.total() - calls <= lost
    # What it was answered, and reported, for unfinished rows is used again.
    assert 0 <= cost.pop("reused") - whole["cost"].pop("reused") <= 32
    assert cost.pop("judges")[0].pop("lost", 0) == lost
    del whole["cost"]["judges"]
    assert cost == whole["cost"]


@pytest.mark.interrupted
def test_a_run_in_processes_that_is_killed_is_resumed_and_leaves_no_process(
    tmp_path: Path,
) -> None:
    counts: Counter[str] = Counter()
    with serving(counts, delay_s=0.05) as url:
        command = [sys.executable, __file__, url, "300", str(tmp_path / "killed")]
        process = subprocess.Popen(command)
        ends = time.monotonic() + 20
        while counts.total() < 40 and time.monotonic() < ends:
            time.sleep(0.01)
        workers = children(process.pid)
        process.kill()
        process.wait()
        subprocess.run(command, check=True, timeout=60)
        counts.clear()
        judge(url, 300, tmp_path / "whole")
    assert len(workers) >= 2
    assert not any(map(lives, workers))
    assert verdicts(tmp_path / "whole") == verdicts(tmp_path / "killed")


@pytest.mark.slow
def test_replies_without_an_answer_are_billed_and_kept_within_the_budget(tmp_path: Path) -> None:
    empty = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 1}}
    met = "<c1>\nSeen.\nVERDICT: MET\n</c1>"

    def answer(number: int, _: dict[str, Any]) -> Answer:
        return Answer(body=empty) if number % 3 == 0 else completion(met)

    sides = {}
    for executor in ("local", "processes"):
        run = tmp_path / executor
        with fault_server.serving(script=answer) as server:
            options: dict[str, Any] = {"executor": executor, "prices": PRICES}
            with pytest.raises(StopRunError, match="--max-cost"):
                one_at_a_time(server.url, run, max_cost=0.3, **options)
            stopped = usage(run)
            summary = one_at_a_time(server.url, run, max_cost=100.0, **options).summary
        sides[executor] = stopped, usage(run), summary
    assert sides["local"] == sides["processes"]
    assert sides["processes"][2]["cost"]["calls"] > 10  # replies without an answer among them


def one_at_a_time(url: str, run: Path, **options: Any) -> Evaluation:
    model = OpenAIModel("m", base_url=url, api_key="none", backoff_s=0.01)
    checklist = Checklist(model, prompts.make("plain"))
    return evaluate(rows(20), judge=checklist, run=run, concurrency=1, **options)


def test_what_several_processes_cannot_do_is_refused() -> None:
    model = OpenAIModel("m", base_url="http://127.0.0.1:9/v1", api_key="none")
    with pytest.raises(UsageError, match="--executor processes"):
        respond(rows(2), models=model, executor="processes")


@pytest.mark.slow
def test_an_error_that_stops_a_run_stops_it_from_another_process(tmp_path: Path) -> None:
    with (
        fault_server.serving(refusal(401, "who are you?")) as server,
        pytest.raises(StopRunError, match="who are you"),
    ):
        judge(server.url, 40, tmp_path, executor="processes")


class Claimed(RemoteStore):
    """Gives every call to who asks; notes why there was no answer."""

    def __init__(self) -> None:
        self.reasons: list[str | None] = []

    async def claim(self, key: bytes, caller: str, requested: str) -> None:
        del key, caller, requested

    def unclaim(self, key: bytes, reason: str | None) -> None:
        del key
        self.reasons.append(reason)

    def set_meta(self, key: str, value: Any) -> None:
        del key, value


@pytest.mark.parametrize("error", [StopRunError("wrong key"), ModelError("too long")])
def test_others_make_a_call_again_unless_it_was_refused_for_itself(
    error: StopRunError | ModelError,
) -> None:
    class Failing(ScriptedModel):
        async def generate(self, *_: Any, **__: Any) -> Any:
            raise error

    store = Claimed()

    async def call() -> None:
        turns = [Message(role="user", content="Hi.")]
        async with cache_calls(store):
            await complete(Failing("x"), turns, Sampling())

    with pytest.raises(type(error)):
        asyncio.run(call())
    assert store.reasons == [None if isinstance(error, StopRunError) else "too long"]


if __name__ == "__main__":
    where, size, directory = sys.argv[1:]
    judge(where, int(size), Path(directory), executor="processes")
