"""``heedful serve --workers``: one port, one cache, and processes that come and go."""

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fault_server import Answer, serving, verdicts
from heedful_server import ASKED, Server, server
from test_serving import slow

pytestmark = [
    pytest.mark.served,
    pytest.mark.skipif(
        not Path("/proc/self/task").exists(), reason="children are looked up in /proc"
    ),
]


def workers(made: Server) -> set[int]:
    pid = made.process.pid
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def numbers(made: Server, name: str) -> dict[str, float]:
    lines = [line.rsplit(" ", 1) for line in str(made.get("/metrics")[1]).splitlines()]
    return {line[0]: float(line[1]) for line in lines if line[0].startswith(name)}


def until(holds: Callable[[], bool]) -> None:
    late = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < late
        time.sleep(0.05)


def answering(made: Server) -> set[int]:
    with ThreadPoolExecutor(8) as pool:
        said = [body["worker"] for _, body in pool.map(lambda _: made.get("/health"), range(32))]
    return {worker for worker in said if said.count(worker) >= 4}  # by chance once in 10^5


def test_workers_share_port_and_cache_and_one_that_dies_is_replaced() -> None:
    rows = [{**ASKED, "response": f"Hi {at}"} for at in range(40)]
    with serving(script=verdicts) as model, server("--workers=2", model_url=model.url) as made:
        first = workers(made)
        assert len(first) == 2
        assert answering(made) == {1, 2}
        with ThreadPoolExecutor(8) as pool:
            for _ in range(4):  # whoever answers, an answer is bought once
                result = list(pool.map(made.rewards, rows))
                assert {(status, *body["rewards"]) for status, body in result} == {(200, 1)}
        assert len(model.bodies) == 40
        until(lambda: sum(numbers(made, "heedful_rewards_total").values()) == 160)
        assert [*numbers(made, "heedful_model_calls_total").values()] == [40]
        killed = min(first)
        os.kill(killed, signal.SIGKILL)
        until(lambda: len(workers(made)) == 2 and killed not in workers(made))
        until(lambda: answering(made) == {1, 2})
        with ThreadPoolExecutor(8) as pool:
            result = list(pool.map(made.rewards, rows))
        assert {(status, *body["rewards"]) for status, body in result} == {(200, 1)}
        assert len(model.bodies) == 40
        code, log = made.stop()
        assert (code, "Traceback" in log) == (0, False), log
        assert f"(process {killed}) has died" in log


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_all_workers_answer_what_they_accepted(how: signal.Signals) -> None:
    with serving(script=slow(0.8)) as model, server("--workers=2", model_url=model.url) as made:
        rows = [{**ASKED, "response": f"Hi {at}"} for at in range(20)]
        with ThreadPoolExecutor(20) as pool:
            answers = [pool.submit(made.rewards, row) for row in rows]
            until(lambda: len(model.bodies) == 20)
            left = workers(made)
            code, log = made.stop(how)
            assert {(item.result()[0], *item.result()[1]["rewards"]) for item in answers} == {
                (200, 1)
            }
        assert (code, "Traceback" in log) == (0, False)
        assert len(left) == 2
        for process in left:
            with pytest.raises(ProcessLookupError):
                os.kill(process, 0)


def test_workers_end_with_the_process_that_forked_them() -> None:
    with server("--workers=2") as made:
        until(lambda: answering(made) == {1, 2})
        left = workers(made)
        made.process.kill()
        made.process.communicate()
        until(lambda: not any(Path(f"/proc/{process}").exists() for process in left))


def test_workers_together_keep_to_the_limit_on_calls() -> None:
    began: list[float] = []

    def script(number: int, body: dict[str, Any]) -> Answer:
        began.append(time.monotonic())
        return slow(0.3)(number, body)

    flags = ("--workers=2", "--max-concurrency=4")
    with serving(script=script) as model, server(*flags, model_url=model.url) as made:
        until(lambda: answering(made) == {1, 2})
        rows = [{**ASKED, "response": f"Hi {at}"} for at in range(24)]
        with ThreadPoolExecutor(24) as pool:
            assert {body["rewards"][0] for _, body in pool.map(made.rewards, rows)} == {1}
    assert len(began) == 24
    # The fifth call begins after one of the four before it has ended.
    assert all(fifth - first > 0.29 for first, fifth in zip(began, began[4:], strict=False))


def test_no_workers_are_refused() -> None:
    with pytest.raises(AssertionError, match="workers is 0"), server("--workers=0"):
        pass
