"""``heedful serve`` as clients see it: a real process, asked over HTTP."""

import base64
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from fault_server import Script, completion, refusal, serving, verdicts
from heedful.core.net import is_loopback
from heedful.rewards.server import openapi as shapes
from heedful.rewards.server.admission import Admission, RefusedError
from heedful_server import ASKED, CODED, Server, server

pytestmark = pytest.mark.slow  # each test starts a server

TOKEN = "a-token-of-the-tests"  # noqa: S105


def slow(seconds: float) -> Script:
    """Script a judge that finds all met after a while."""
    return lambda number, body: replace(verdicts(number, body), delay_s=seconds)


@pytest.fixture(scope="module")
def coded() -> Iterator[Server]:
    """A server whose judge is code, with small limits."""
    with server("--max-batch=3", "--max-body=0.01", "--undecided=0.25") as made:
        yield made


# --- what is answered ---------------------------------------------------------------------------


def test_one_and_several_are_critiqued_and_rewarded() -> None:
    with serving(script=verdicts) as model, server(model_url=model.url) as made:
        status, one, _ = made.post("/v1/critique", {**ASKED, "id": "mine"})
        _, many, _ = made.post("/v1/critiques", {"samples": [ASKED, CODED]})
        _, rewards = made.rewards(ASKED, {**CODED, "response": "Hi, you"})
    assert (status, one["id"], one["coverage"]) == (200, "mine", 1)
    said = [(each["status"], each["judge"]) for each in one["judgments"]]
    assert said == [("met", "rules"), ("met", "critic/plain")]
    assert [len(each["judgments"]) for each in many["results"]] == [2, 1]
    assert rewards["rewards"] == [1, 0]
    assert rewards["results"][0]["verdicts"] == ["met", "met"]
    assert len(model.bodies) == 1  # the same was asked three times
    shapes.CritiqueReply.model_validate(one)
    shapes.Critiques.model_validate(many)
    shapes.Rewards.model_validate(rewards)


def test_what_is_undecided_is_null_with_its_reason_or_else_the_fallback(coded: Server) -> None:
    with serving(completion("No verdict here.")) as model, server(model_url=model.url) as made:
        _, body = made.rewards(ASKED)
        (result,) = body["results"]
        assert (result["reward"], result["decided"], result["bounds"]) == (None, False, [0.5, 1])
        assert result["verdicts"] == ["met", "unparsed"]
        assert result["undecided"]
    _, body = coded.rewards(ASKED)
    assert (body["rewards"], body["results"][0]["decided"]) == ([0.25], False)


def test_a_critique_spares_nothing_and_a_reward_what_it_need_not_know() -> None:
    row = {**ASKED, "response": "Hi, you"}
    with (
        serving(script=verdicts) as model,
        server("--aggregate=all_or_nothing", model_url=model.url) as made,
    ):
        _, body = made.rewards(row)
        assert (body["rewards"], body["results"][0]["skipped"], model.bodies) == ([0], 1, [])
        _, one, _ = made.post("/v1/critique", row)
        assert [each["status"] for each in one["judgments"]] == ["unmet", "met"]


def test_a_row_without_an_instruction_is_refused_unless_code_decides_it() -> None:
    with serving(script=verdicts) as model, server(model_url=model.url) as made:
        asked, coded_ = ({**row, "prompt": " "} for row in (ASKED, CODED))
        _, body = made.rewards(asked, coded_, {**ASKED, "prompt": None})
        _, one, _ = made.post("/v1/critique", asked)
        assert not model.bodies
    assert body["rewards"] == [None, 1, None]
    assert ["no instruction" in str(each["error"]) for each in body["results"]] == [
        *(True, False, True)
    ]
    assert [each["status"] for each in one["judgments"]] == ["met", "failed"]
    assert "no instruction" in one["judgments"][1]["explanation"]


# --- what is refused ----------------------------------------------------------------------------


def test_a_body_without_a_declared_length_is_limited_while_it_is_read(coded: Server) -> None:
    import http.client

    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(1000):
            sent += 1
            yield b" " * 4096

    connection = http.client.HTTPConnection(coded.url.removeprefix("http://"), timeout=10)
    connection.request("POST", "/v1/rewards", endless(), encode_chunked=True)
    answer = connection.getresponse()
    assert (answer.status, b"MiB" in answer.read()) == (413, True)
    connection.close()
    assert coded.rewards(CODED)[0] == 200


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    import socket

    with server("--deadline=0.3") as made:
        host, port = made.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as half:
            half.sendall(
                b"POST /v1/rewards HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"
            )
            assert half.recv(1000).startswith(b"HTTP/1.1 408 ")


def test_beyond_the_capacity_requests_are_refused_at_once_and_told_when_to_come_again() -> None:
    flags = ("--capacity=4", "--max-batch=4")
    with serving(script=slow(2)) as model, server(*flags, model_url=model.url) as made:
        batch = {"samples": [{**ASKED, "response": f"Hi {at}"} for at in range(3)]}
        with ThreadPoolExecutor() as pool:
            first = pool.submit(made.post, "/v1/rewards", batch)
            while len(model.bodies) < 3:
                time.sleep(0.02)
            status, body, headers = made.post("/v1/rewards", {"samples": [CODED, CODED]})
            waited = first.done()
            assert made.rewards(CODED)[0] == 200  # there is room for one
            assert first.result()[0] == 200
        assert (status, waited) == (429, False)
        assert 1 <= int(headers["retry-after"]) <= 60
        assert re.findall(r"\d+", body["error"]["what"]) == ["3", "4"]
        assert made.rewards(CODED, CODED)[0] == 200


def test_at_the_deadline_what_is_judged_is_answered_and_the_rest_asked_again_is_there() -> None:
    rows = [CODED, ASKED, {"prompt": "x"}]
    with serving(script=slow(3)) as model, server("--deadline=1.5", model_url=model.url) as made:
        status, body = made.rewards(*rows)
        assert (status, body["rewards"]) == (504, [1, None, None])
        assert "1 of 3" in body["error"]["what"]
        assert "deadline" in body["results"][1]["error"]["what"]
        shapes.Refusal.model_validate(body)
        for _ in range(10):
            status, body = made.rewards(*rows[:2])
            if status == 200:
                break
        assert (status, body["rewards"]) == (200, [1, 1])
        assert len(model.bodies) == 1


def test_a_wrong_key_is_said_so_and_the_server_is_not_ready() -> None:
    with (
        serving(refusal(401, "no such key"), completion("")) as model,
        server(model_url=model.url) as made,
    ):
        status, body = made.rewards(ASKED)
        assert (status, made.get("/health")[0]) == (502, 200)
        assert "OPENAI_API_KEY" in body["error"]["hint"]
        assert made.get("/ready")[1]["status"] == "failing"
        made.rewards(ASKED)
        assert made.get("/ready") == (200, {"status": "ok", "held": 0, "capacity": 8192})


# --- who is let in ------------------------------------------------------------------------------


def test_the_token_is_asked_for_and_never_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEEDFUL_TOKEN", TOKEN)
    password = base64.b64encode(f"anybody:{TOKEN}".encode()).decode()
    with server("--log-level=debug") as made:
        for headers, expected in (
            ({}, 401),
            ({"Authorization": "Bearer wrong"}, 401),
            ({"Authorization": TOKEN}, 401),
            ({"Authorization": "Basic %%%"}, 401),
            ({"Authorization": f"Bearer {TOKEN}"}, 200),
            ({"Authorization": f"Basic {password}"}, 200),
        ):
            status, body, _ = made.post("/v1/critique", CODED, headers)
            assert (status, "error" in body) == (expected, True)
            assert made.get("/metrics", headers)[0] == expected
        assert made.get("/health")[0] == made.get("/ready")[0] == 200
        assert "with a token" in made.said[0]
        code, log = made.stop()
    assert code == 0
    assert TOKEN not in log + "".join(made.said)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--host=0.0.0.0"], "it has no token"),
        (["--host=192.0.2.7", "--token=x"], "cannot listen"),
        (["--token= "], "the token is empty"),
        (["--port=99999"], "cannot listen"),
        (["--capacity=10"], "would never fit"),
        (["--max-bodies=31"], "would never fit"),
        (["--deadline=0"], "the limit deadline is 0"),
        (["--model=critic"], "--model"),
        (["--judge=checklist"], "--model"),
        (["--guards"], "judge"),
    ],
)
def test_what_makes_no_sense_is_refused_at_the_start(
    flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run("serve", *flags)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("localhost", True),
     ("0.0.0.0", False),  # noqa: S104
     ("::", False), ("10.0.0.1", False), ("example.com", False), ("", False),
     ("127.0.0.1.example.com", False), (None, False)],
)  # fmt: skip
def test_loopback_is_what_only_this_machine_reaches(host: str | None, *, expected: bool) -> None:
    assert is_loopback(host) is expected


# --- room ---------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 12), st.floats(0.001, 100)), max_size=40))
def test_admission_never_holds_more_than_its_capacity(asked: list[tuple[int, float]]) -> None:
    admission = Admission(10, 10)
    held: list[int] = []
    for samples, seconds in asked:
        if sum(held) + samples <= 10:
            admission.enter(samples)
            held.append(samples)
        else:
            with pytest.raises(RefusedError) as refused:
                admission.enter(samples)
            assert 1 <= int(refused.value.headers["Retry-After"]) <= 60
            if held:
                admission.leave(seconds, held.pop(0))
        assert admission.held == sum(held) <= 10


# --- what can be watched ------------------------------------------------------------------------


def test_metrics_say_what_happened() -> None:
    with serving(script=verdicts) as model, server(model_url=model.url) as made:
        made.rewards(ASKED, ASKED, 5)
        made.post("/v1/rewards", b"{")
        status, text = made.get("/metrics")
    assert status == 200
    from prometheus_client.parser import text_string_to_metric_families

    values = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert values["heedful_requests_total", "/v1/rewards", "200"] == 1
    assert values["heedful_requests_total", "/v1/rewards", "400"] == 1
    assert values["heedful_request_seconds_count", "/v1/rewards"] == 2
    assert values["heedful_rewards_total", "true"] == 2
    assert values["heedful_row_errors_total",] == 1
    assert values["heedful_verdicts_total", "met"] == 4
    assert values["heedful_undecided_ratio",] == 0
    assert values["heedful_model_calls_total", "critic", "critic/plain"] == 1
    assert values["heedful_model_answers_reused_total",] == 1
    assert values["heedful_samples_in_flight",] == 0
    assert values["heedful_shed_requests_total",] == 0
    assert ("heedful_model_cost_dollars_total", "critic", "critic/plain") not in values


def test_the_log_has_a_line_for_each_request_and_no_text_of_it() -> None:
    with server() as made:
        made.rewards({**CODED, "response": "a-secret-text"}, 5)
        code, log = made.stop()
    assert code == 0
    assert re.search(r"POST /v1/rewards 200: [\d.]+ ms", log)
    assert "a-secret-text" not in log
    assert "Greet" not in log


def test_the_document_is_whole(coded: Server) -> None:
    status, document = coded.get("/openapi.json")
    assert status == 200
    referred = set(_references(document))
    assert {"SampleBody", "Batch", "OpenRLHFQuery", "Refusal", "Rewards"} <= referred
    assert referred <= set(document["components"]["schemas"])
    posts = [path for path, methods in document["paths"].items() if "post" in methods]
    assert posts == ["/v1/critique", "/v1/critiques", "/v1/rewards", "/openrlhf"]
    for path in posts:
        name = next(_references(document["paths"][path]["post"]["requestBody"]))
        (example,) = document["components"]["schemas"][name]["examples"]
        assert coded.post(path, example)[0] == 200
    assert coded.get("/docs")[0] == 404


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"].rsplit("/", 1)[1]
        for value in part.values():
            yield from _references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _references(value)
