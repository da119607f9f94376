"""``heedful serve`` as clients see it: a real process, asked over HTTP."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from fault_server import Script, serving, verdicts
from heedful.core.net import is_loopback
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


def test_at_the_deadline_what_is_judged_is_answered_and_the_rest_asked_again_is_there() -> None:
    rows = [CODED, ASKED, {"prompt": "x"}]
    with serving(script=slow(3)) as model, server("--deadline=1.5", model_url=model.url) as made:
        status, body = made.rewards(*rows)
        assert (status, body["rewards"]) == (504, [1, None, None])
        assert "1 of 3" in body["error"]["what"]
        assert "deadline" in body["results"][1]["error"]["what"]
        for _ in range(10):
            status, body = made.rewards(*rows[:2])
            if status == 200:
                break
        assert (status, body["rewards"]) == (200, [1, 1])
        assert len(model.bodies) == 1


# --- who is let in ------------------------------------------------------------------------------


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
        (["--judge=rules", "--model=critic"], "--model"),
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


def test_the_log_has_a_line_for_each_request_and_neither_its_text_nor_the_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEEDFUL_TOKEN", "a-secret-token")
    with server("--log-level=debug") as made:
        sent = {"samples": [{**CODED, "response": "a-secret-text"}, 5]}
        made.post("/v1/rewards", sent, {"Authorization": "Bearer a-secret-token"})
        assert "with a token" in made.said[0]
        code, log = made.stop()
    assert code == 0
    assert re.search(r"POST /v1/rewards 200: [\d.]+ ms", log)
    assert "a-secret" not in log + "".join(made.said)
    assert "Greet" not in log
