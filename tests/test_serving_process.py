"""``heedful serve`` over its life: askings that are shared, clients that go, stopping, restarts."""

import asyncio
import json
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from fault_server import serving, verdicts
from heedful_server import ASKED, CODED, Server, server
from test_serving import TOKEN, slow

pytestmark = pytest.mark.served

CHECKLIST = json.dumps({"prompt": "Greet.", "checklist": ASKED["checklist"]})


def test_equal_requests_in_flight_are_judged_once() -> None:
    with serving(script=slow(0.4)) as model, server(model_url=model.url) as made:
        with ThreadPoolExecutor(24) as pool:
            result = list(pool.map(lambda _: made.rewards(ASKED), range(24)))
        assert {(status, *body["rewards"]) for status, body in result} == {(200, 1)}
        assert len(model.bodies) == 1


def test_a_client_that_goes_takes_nothing_from_the_others() -> None:
    with serving(script=slow(0.6)) as model, server(model_url=model.url) as made:

        async def both() -> Any:
            url, body = f"{made.url}/v1/rewards", {"samples": [ASKED]}
            async with aiohttp.ClientSession() as session:

                async def impatient() -> None:
                    soon = aiohttp.ClientTimeout(total=0.3)
                    with pytest.raises(TimeoutError):
                        await session.post(url, json=body, timeout=soon)

                async def patient() -> Any:
                    await asyncio.sleep(0.1)
                    async with session.post(url, json=body) as answer:
                        return await answer.json()

                return (await asyncio.gather(impatient(), patient()))[1]

        assert asyncio.run(both())["rewards"] == [1]
        assert len(model.bodies) == 1


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_it_answers_all_that_it_accepted(how: signal.Signals) -> None:
    with serving(script=slow(0.8)) as model, server(model_url=model.url) as made:
        rows = [{**ASKED, "response": f"Hi {at}"} for at in range(30)]
        with ThreadPoolExecutor(30) as pool:
            answers = [pool.submit(made.rewards, row) for row in rows]
            while len(model.bodies) < 30:
                time.sleep(0.02)
            code, log = made.stop(how)
            assert {(item.result()[0], *item.result()[1]["rewards"]) for item in answers} == {
                (200, 1)
            }
        assert (code, "Traceback" in log) == (0, False)
        assert "30 samples" in log
        host, port = made.url.removeprefix("http://").split(":")
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((host, int(port)))


def test_after_the_grace_period_clients_are_told_and_the_exit_code_tells_too() -> None:
    with serving(script=slow(5)) as model, server("--grace=0.3", model_url=model.url) as made:
        with ThreadPoolExecutor() as pool:
            answer = pool.submit(made.rewards, CODED, ASKED)
            while not model.bodies:
                time.sleep(0.02)
            code, log = made.stop()
        status, body = answer.result()
        assert (status, body["rewards"]) == (503, [1, None])
        assert "stopping" in body["results"][1]["error"]["what"]
        assert (code, "1 sample not judged" in log, "Traceback" in log) == (1, True, False)


def test_told_to_stop_twice_it_waits_no_longer() -> None:
    with serving(script=slow(20)) as model, server(model_url=model.url) as made:
        with ThreadPoolExecutor() as pool:
            answer = pool.submit(made.rewards, ASKED)
            while not model.bodies:
                time.sleep(0.02)
            made.process.send_signal(signal.SIGINT)
            time.sleep(0.5)
            code, log = made.stop(signal.SIGINT)
        assert (answer.result()[0], code, "Traceback" in log) == (503, 1, False)


def test_answers_outlive_a_restart(tmp_path: Path) -> None:
    with serving(script=verdicts) as model:
        for _ in range(2):
            with server(f"--cache={tmp_path / 'kept'}", model_url=model.url) as made:
                assert made.rewards(ASKED)[1]["rewards"] == [1]
                assert made.stop()[0] == 0
        assert len(model.bodies) == 1


# --- OpenRLHF 0.11 ------------------------------------------------------------------------------


def fetched(made: Server, queries: list[str], prompts: list[str], labels: list[str]) -> Any:
    """Ask as ``SingleTurnAgentExecutor._fetch_rewards_via_http`` does: aiohttp, no headers."""

    async def post() -> Any:
        url = made.url.replace("http://", f"http://heedful:{TOKEN}@") + "/openrlhf"
        sent = {"query": queries, "prompts": prompts, "labels": labels}
        timeout = aiohttp.ClientTimeout(total=180)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(url, json=sent) as answer,
        ):
            answer.raise_for_status()
            return await answer.json()

    return asyncio.run(post())


def test_openrlhf_gets_numbers_and_can_be_given_the_token_in_the_url() -> None:
    prompt = "<|user|>Greet.<|end|><|assistant|>"
    with (
        serving(script=verdicts) as model,
        server("--undecided=0.25", f"--token={TOKEN}", model_url=model.url) as made,
    ):
        result = fetched(
            made, [f"{prompt}Hi you<|end|>", f"{prompt}Hi"], [prompt, prompt], [CHECKLIST, "{"]
        )
    assert result["rewards"] == result["scores"] == [1, 0.25]
    logs = result["extra_logs"]
    assert [logs[name] for name in ("undecided", "gated", "coverage", "calls")] == [
        *([0, 1], [0, 0], [1, 0], [1, 0]),
    ]
    shown = model.bodies[0]["messages"][-1]["content"]
    assert "Hi you" in shown
    assert "Hi you<|end|>" not in shown
