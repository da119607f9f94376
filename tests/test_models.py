"""Models: the HTTP client against a real server with faults, the scripted model, prices."""

import asyncio
import json
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fault_server import Answer, FaultServer, completion, refusal
from heedful.core.errors import HeedfulError, InputError, ModelError, StopRunError, UsageError
from heedful.core.nouns import Message
from heedful.models import (
    AuthError,
    Completion,
    ModelNotFound,
    OpenAIModel,
    QuotaError,
    Sampling,
    ScriptedModel,
    Usage,
    cost,
    estimate_tokens,
    read_prices,
)
from heedful.models.base import Unreachable
from heedful.models.faults import Fault, FaultError, FaultKind, fault_of, retry_after, waiting
from heedful.models.openai import BODY_LIMIT
from heedful.models.replies import read_completion

KEY = "sk-very-secret-0123456789"
FILTER = "content_filter"
ASK = [Message(role="user", content="Say fine.")]


def ask(server: FaultServer, sampling: Sampling | None = None, **options: Any) -> Completion:
    return asyncio.run(ask_async(server, sampling, **options))


async def ask_async(
    server: FaultServer, sampling: Sampling | None = None, sample: int = 0, **options: Any
) -> Completion:
    async with server:
        model = OpenAIModel("m", **{"base_url": server.url, "backoff_s": 0.001, **options})
        try:
            return await model.generate(ASK, sampling or Sampling(), sample=sample)
        finally:
            await model.close()


def error_of(*answers: Answer, **options: Any) -> tuple[HeedfulError, FaultServer]:
    server = FaultServer(*answers)
    with pytest.raises(HeedfulError) as caught:
        ask(server, **options)
    return caught.value, server


def test_an_answer_comes_with_all_that_is_known_of_it() -> None:
    server = FaultServer(completion())
    answer = ask(server, Sampling(max_tokens=9, top_p=0.9, seed=7, extra={"top_k": 1}), sample=2)
    assert answer.text == "fine"
    assert answer.finish_reason == "stop"
    assert answer.model == "m-2025-01-01"
    assert answer.attempts == 1
    assert 0 < answer.latency_s < 5
    assert answer.usage == Usage(
        prompt_tokens=10, completion_tokens=4, cached_tokens=6, reasoning_tokens=3
    )
    assert server.bodies == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "Say fine."}],
            "temperature": 0.0,
            "top_p": 0.9,
            "max_tokens": 9,
            "seed": 9,
            "top_k": 1,
        }
    ]
    assert "Authorization" not in server.headers[0]


def test_the_key_comes_from_the_named_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    server = FaultServer(completion())
    ask(server, api_key_env="MY_KEY")
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


PASSING = {
    "429": refusal(429, "slow down"),
    "500": refusal(500, "oops"),
    "502 with a page": Answer(502, "<html>bad gateway</html>"),
    "503": refusal(503, "starting"),
    "504": Answer(504),
    "529": refusal(529, "overloaded"),
    "408": Answer(408, "too slow"),
    "an error with status 200": refusal(200, "upstream is down"),
    "an error with status 200 and a code": refusal(200, "rate limited", code=429),
    "an error in the choice": Answer(
        body={"choices": [{"message": {"content": "par"}, "finish_reason": "error"}]}
    ),
    "broken JSON": Answer(body='{"choices": [{"mess'),
    "an empty body": Answer(body=""),
    "no choices": Answer(body={"choices": []}),
    "JSON that is no object": Answer(body="[1]"),
    "a connection lost before the answer": Answer(body="x" * 99, cut=0),
    "a connection lost in the answer": Answer(body="x" * 99, cut=20),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_what_passes_is_tried_again_until_it_fails_the_row(fault: Answer) -> None:
    answer = ask(FaultServer(fault, fault, completion()), timeout_s=5.0)
    assert (answer.text, answer.attempts) == ("fine", 3)
    error, server = error_of(fault, max_attempts=2, timeout_s=5.0)
    assert isinstance(error, ModelError)
    assert len(server.bodies) == 2
    assert "model m at http://127.0.0.1" in str(error)
    assert "2 attempts" in str(error)


@pytest.mark.slow
def test_a_body_that_never_ends_is_given_up_and_asked_for_again() -> None:
    answer = ask(FaultServer(Answer(body="x", delay_s=9.0), completion()), timeout_s=3.0)
    assert (answer.text, answer.attempts) == ("fine", 2)


def test_a_server_that_is_not_there_stops_the_run_after_two_connections() -> None:
    model = OpenAIModel("m", base_url="http://127.0.0.1:9/v1", max_attempts=9, backoff_s=0.001)

    async def asking() -> None:
        try:
            await model.generate(ASK, Sampling())
        finally:
            await model.close()

    with pytest.raises(Unreachable, match=r"http://127\.0\.0\.1:9/v1"):
        asyncio.run(asking())


def test_a_long_retry_after_is_bounded_by_the_timeout_and_the_wait_is_counted() -> None:
    fault = Fault(FaultKind.OVERLOADED, "too many", retry_after=7200.0)
    counted: list[tuple[int, float]] = []

    class Busy(OpenAIModel):
        async def _request(self, body: dict[str, Any]) -> tuple[Completion, float]:
            if len(counted) < 2:
                counted.append(waiting())
                asyncio.get_running_loop().call_later(0.05, lambda: counted.append(waiting()))
                raise FaultError(fault)
            return Completion(text=body["model"]), 0.0

    model = Busy("m", base_url="http://localhost/v1", backoff_s=0.001, timeout_s=0.3)
    done = asyncio.run(model.generate(ASK, Sampling()))
    assert done.attempts == 2
    (before, _), (during, seconds) = counted[:2]
    assert (before, during) == (0, 1)
    assert 0 < seconds <= 0.3 * 1.1  # pauses are spread by up to a tenth
    assert waiting() == (0, 0.0)


FINAL: dict[str, tuple[Answer, type[HeedfulError], str]] = {
    "a stream": (Answer(body='data: {"choices": []}\n\n'), ModelNotFound, "as a stream"),
    "an unknown model, by a proxy": (refusal(400, "Invalid model name: m"), ModelNotFound, ""),
    "an unknown model": (
        refusal(404, "No `m`", code="model_not_found"),
        ModelNotFound,
        "model m at http://127.0.0.1",
    ),
    "a redirect": (
        Answer(301, headers={"Location": "https://elsewhere/v1"}),
        ModelNotFound,
        "https://elsewhere/v1",
    ),
    "a wrong key, by a proxy": (refusal(400, "No connected db."), AuthError, ""),
    "a wrong key": (refusal(401, f"Not sk-ve*****6789. Not {KEY}."), AuthError, "[key] Not [key]."),
    "a forbidden key": (refusal(403, f"Not {KEY}."), AuthError, "[key]"),
    "no money": (refusal(402, "no money"), QuotaError, ""),
    "no quota": (refusal(429, "no quota", code="insufficient_quota"), QuotaError, ""),
    "a filter that cut": (completion("half", finish_reason="content_filter"), ModelError, FILTER),
    "a filter": (refusal(400, "It was filtered", code="content_filter"), ModelError, FILTER),
    "a filter that forbids": (
        refusal(403, "Your input was flagged", metadata={"reasons": ["violence"]}),
        ModelError,
        FILTER,
    ),
    "a long prompt": (
        refusal(400, "maximum context length is 8, max_tokens unsupported", param="messages"),
        ModelError,
        "HTTP 400: ",
    ),
    "a bad value": (
        refusal(400, "max_tokens is too large", param="max_tokens", code="invalid_value"),
        ModelError,
        "HTTP 400: ",
    ),
    "a bad role": (Answer(422, {"detail": [{"msg": "bad role"}]}), ModelError, "HTTP 422: "),
    "a body that is not taken": (Answer(413, "too large"), ModelError, "HTTP 413: "),
    "what is not built": (Answer(501, "not built"), ModelError, "HTTP 501: "),
    "no end": (Answer(body="x" * (BODY_LIMIT + 1)), ModelError, "larger than 64 MiB"),
}


@pytest.mark.parametrize(("fault", "kind", "said"), FINAL.values(), ids=FINAL)
def test_what_would_be_refused_again_is_not_repeated(
    fault: Answer, kind: type[HeedfulError], said: str
) -> None:
    server = FaultServer(fault)
    with pytest.raises(HeedfulError) as caught:
        ask(server, Sampling(max_tokens=5), api_key=KEY)
    assert type(caught.value) is kind
    assert isinstance(caught.value, StopRunError) is (kind is not ModelError)
    assert said in str(caught.value)
    assert bool(caught.value.hint) is isinstance(caught.value, StopRunError)
    assert len(server.bodies) == 1


def test_retry_after_is_waited_for_in_seconds_and_as_a_date(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fault = Answer(429, headers={"Retry-After": "0.2"})
    assert ask(FaultServer(fault, completion())).attempts == 2
    told: Any = caplog.records[0].args
    assert told[1] >= 0.2
    assert retry_after({"Retry-After": "7"}) == 7
    at = retry_after({"Retry-After": formatdate(time.time() + 60, usegmt=True)})
    assert at is not None
    assert 0 < at <= 60
    assert retry_after({"Retry-After": formatdate(0, usegmt=True)}) == 0
    for nonsense in ("soon", "nan", "inf", ""):
        assert retry_after({"Retry-After": nonsense}) is None


NEW = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
COLD = "Unsupported value: 'temperature' does not support 0.0 with this model."


def reasoner(_: int, body: dict[str, Any]) -> Answer:
    """Answer as a reasoning model's server does."""
    if "max_tokens" in body:
        return refusal(400, NEW, param="max_tokens", code="unsupported_parameter")
    if "temperature" in body:
        return refusal(400, COLD, param="temperature", code="unsupported_value")
    return completion()


def test_a_reasoning_model_is_asked_as_it_likes_and_that_is_remembered() -> None:
    async def asking() -> tuple[list[Completion], tuple[str, ...]]:
        async with server:
            model = OpenAIModel("m", base_url=server.url, max_attempts=1)
            first = await asyncio.gather(
                *(model.generate(ASK, Sampling(max_tokens=5)) for _ in range(20))
            )
            again = await model.generate(ASK, Sampling(max_tokens=5))
            await model.close()
            return [*first, again], model.adaptations

    server = FaultServer(script=reasoner)
    answers, adaptations = asyncio.run(asking())
    assert {answer.text for answer in answers} == {"fine"}
    assert answers[-1].attempts == 1
    assert server.bodies[-1]["max_completion_tokens"] == 5
    assert [said.split()[0] for said in adaptations] == ["max_completion_tokens", "temperature"]


def test_the_key_is_nowhere_to_be_seen() -> None:
    model = OpenAIModel(
        "m",
        base_url="https://host/v1?key=query-secret",
        api_key=KEY,
        headers={"api-key": "header-secret"},
    )
    shown = f"{model!r} {json.dumps(dict(model.config))}"
    assert "secret" not in shown
    assert model.config == {"model": "m"}
    echo = f"bad header: {KEY} header-secret " + "x" * 470 + KEY
    for fault in (refusal(400, echo), Answer(418, echo), Answer(200, echo), refusal(403, echo)):
        error, _ = error_of(
            fault, api_key=KEY, headers={"api-key": "header-secret"}, max_attempts=1
        )
        assert "secret" not in str(error)
        assert "sk-very" not in str(error)
        assert error.__cause__ is error.__context__ is None


@pytest.mark.parametrize(
    "url", ["localhost:8000/v1", "ftp://host/v1", "", "http://", "http://me:pw-secret@host/v1"]
)
def test_an_address_that_makes_no_sense_is_refused(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        OpenAIModel("m", base_url=url)
    assert "secret" not in str(caught.value)


def test_what_cannot_be_sent_is_refused() -> None:
    with pytest.raises(UsageError, match="api_key"):
        OpenAIModel("m", api_key="sk\nInjected: yes")
    with pytest.raises(UsageError, match="the header X-A holds"):
        OpenAIModel("m", headers={"X-A": "1\r\nB: 2"})
    with pytest.raises(UsageError, match="'stream'"):
        ask(FaultServer(completion()), Sampling(extra={"stream": True}))


PARTS: Any = [{"type": "thinking", "thinking": [{"type": "text", "text": "why"}]}, "yes"]

REASONED = {
    "a field": completion("yes", reasoning_content="why"),
    "another field": completion("yes", reasoning="why"),
    "a block": completion("<think>\nwhy\n</think>\n\nyes"),
    "a part": completion(PARTS),
}


@pytest.mark.parametrize("answer", REASONED.values(), ids=REASONED)
def test_reasoning_is_kept_apart(answer: Answer) -> None:
    read = ask(FaultServer(answer))
    assert (read.text, read.reasoning) == ("yes", "why")


def read(answer: Answer) -> Completion:
    return read_completion(json.dumps(answer.body).encode())


def test_reasoning_that_was_cut_leaves_no_answer_and_tags_in_a_text_are_text() -> None:
    cut = read(completion("<think>hm", finish_reason="length"))
    assert (cut.text, cut.reasoning, cut.finish_reason) == ("", "hm", "length")
    texts = ["Write <think>x</think> so.", "a</think>b", "  kept \n"]
    for text in [*texts, "VERDICT: UNMET\n</think>\nVERDICT: MET"]:
        assert read(completion(text)).text == text


def test_parts_refusals_and_nothing_are_read() -> None:
    parts: Any = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "image"}]
    assert read(completion(parts)).text == "ab"
    refused = read(completion(None, refusal="I will not."))  # type: ignore[arg-type]
    assert (refused.text, refused.finish_reason) == ("I will not.", "refusal")
    empty = read(Answer(body={"choices": [{"message": {"content": None}}]}))
    assert empty == Completion(text="")


FIELDS = [
    *["choices", "message", "content", "type", "text", "thinking", "reasoning", "finish_reason"],
    *["usage", "prompt_tokens", "prompt_tokens_details", "error", "code", "detail", "metadata"],
]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(JSON.map(json.dumps).map(str.encode) | st.binary(max_size=60))
def test_any_body_is_an_answer_or_a_fault(body: bytes) -> None:
    try:
        answer = read_completion(body)
    except FaultError:
        return
    assert Completion.model_validate_json(answer.model_dump_json()) == answer


@given(st.integers(400, 599), JSON.map(json.dumps).map(str.encode) | st.binary(max_size=60))
def test_any_error_is_a_fault(status: int, body: bytes) -> None:
    assert fault_of(status, {}, body).text.startswith(f"HTTP {status}")


def scripted(model: ScriptedModel, *texts: str) -> list[str]:
    async def asking() -> list[str]:
        return [
            (await model.generate([Message(role="user", content=text)], Sampling(), sample=k)).text
            for k, text in enumerate(texts)
        ]

    return asyncio.run(asking())


def test_a_scripted_model_answers_as_told_and_keeps_its_calls() -> None:
    assert scripted(ScriptedModel("same"), "a", "b") == ["same", "same"]
    assert scripted(ScriptedModel(["1", "2"]), "a", "b") == ["1", "2"]
    assert scripted(ScriptedModel({"b": "B", "": "else"}), "abc", "x") == ["B", "else"]
    model = ScriptedModel(lambda messages, sample: f"{messages[-1].content}{sample}")
    assert scripted(model, "a", "b") == ["a0", "b1"]
    assert [(call.messages[0].content, call.sample) for call in model.calls] == [("a", 0), ("b", 1)]
    with pytest.raises(ModelError, match="1 reply"):
        scripted(ScriptedModel(["1"]), "a", "b")
    with pytest.raises(ModelError, match="prompt"):
        scripted(ScriptedModel({"b": "B"}), "a")
    with pytest.raises(AuthError):
        scripted(ScriptedModel("x", fail={1: AuthError("no")}.get), "a", "b")


def test_costs_follow_the_table_and_an_unknown_model_has_none() -> None:
    usage = Usage(prompt_tokens=1_000_000, cached_tokens=400_000, completion_tokens=100_000)
    assert cost(usage, "gpt-4o") == pytest.approx(0.6 * 2.5 + 0.4 * 1.25 + 0.1 * 10)
    assert cost(usage, "o3-mini-2025-01-31") == cost(usage, "o3-mini")
    assert cost(usage, "gpt-4o-2024-05-13") == pytest.approx(5.0 + 1.5)
    assert cost(Usage(), "my-model") is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "Invalid JSON"),
        ("[]", "should be an object"),
        ('{"m": {"prompt": 1}}', "the price of m.completion is wrong"),
        ('{"m": {"prompt": -1, "completion": 1}}', "the price of m.prompt is wrong"),
    ],
)
def test_prices_that_are_wrong_are_named(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(InputError, match=what):
        read_prices(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_prices(tmp_path / "none.json")


def test_tokens_are_estimated_by_script() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("Hello") == 2
    assert estimate_tokens("你好，世界") == 5
    assert estimate_tokens("你好 four") == 2 + 2


@given(st.text(), st.text())
def test_the_estimate_of_a_whole_is_at_most_that_of_its_parts(one: str, other: str) -> None:
    parts = estimate_tokens(one) + estimate_tokens(other)
    assert parts - 1 <= estimate_tokens(one + other) <= parts
    assert estimate_tokens(one) <= len(one)
