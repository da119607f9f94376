"""Models through any-llm, against a real server with faults: its own OpenAI provider asks it."""

import asyncio
import re
from typing import Any

import pytest

from extras import needs
from fault_server import Answer, FaultServer, completion, refusal
from heedful.core.errors import HeedfulError, ModelError, UsageError
from heedful.core.nouns import Message
from heedful.models import (
    AnyLLMModel,
    AuthError,
    Completion,
    Model,
    ModelNotFound,
    QuotaError,
    Sampling,
    Usage,
)
from heedful.models.limiter import AdaptiveLimiter
from heedful.models.named import make
from heedful.models.turns import with_shared_prefix

needs("any_llm", extra="anyllm")

pytestmark = pytest.mark.slow  # its providers' packages take a second to load

KEY = "sk-very-secret-0123456789"
ASK = [Message(role="user", content="Say fine.")]


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def ask(server: FaultServer, sampling: Sampling | None = None, **options: Any) -> Completion:
    async def asking() -> Completion:
        async with server:
            options.setdefault("backoff_s", 0.001)
            model = AnyLLMModel("openai/org/m", base_url=server.url, **options)
            try:
                return await model.generate(ASK, sampling or Sampling(), sample=2)
            finally:
                await model.close()

    return asyncio.run(asking())


def error_of(*answers: Answer, **options: Any) -> tuple[HeedfulError, FaultServer]:
    server = FaultServer(*answers)
    with pytest.raises(HeedfulError) as caught:
        ask(server, **options)
    return caught.value, server


def test_an_answer_comes_with_all_that_is_known_of_it() -> None:
    server = FaultServer(completion(reasoning_content="hm"))
    answer = ask(server, Sampling(max_tokens=9, top_p=0.9, seed=7, extra={"user": "me"}))
    assert (answer.text, answer.reasoning, answer.finish_reason) == ("fine", "hm", "stop")
    assert (answer.model, answer.attempts) == ("m-2025-01-01", 1)
    assert 0 < answer.latency_s < 30
    assert answer.usage == Usage(
        prompt_tokens=10, completion_tokens=4, cached_tokens=6, reasoning_tokens=3
    )
    (body,) = server.bodies
    assert body["model"] == "org/m"
    assert body["messages"] == [{"role": "user", "content": "Say fine."}]
    assert (body["temperature"], body["top_p"], body["seed"], body["user"]) == (0.0, 0.9, 9, "me")
    assert 9 in (body.get("max_tokens"), body.get("max_completion_tokens"))


@pytest.mark.parametrize(
    "fault",
    [
        refusal(429, "slow down"),
        refusal(500, "oops"),
        Answer(503, "<html>starting</html>"),
        Answer(body="x" * 99, cut=20),
    ],
)
def test_what_passes_is_tried_again_by_one_layer(fault: Answer) -> None:
    server = FaultServer(fault, fault, completion())
    answer = ask(server)
    assert (answer.text, answer.attempts, len(server.bodies)) == ("fine", 3, 3)


def test_what_does_not_pass_fails_the_row_and_overload_lowers_the_limit() -> None:
    limiter = AdaptiveLimiter(8)
    error, server = error_of(refusal(429, "slow down"), max_attempts=2, limiter=limiter)
    assert isinstance(error, ModelError)
    assert len(server.bodies) == 2
    assert re.search("model org/m of openai: .*2 attempts.*HTTP 429", str(error))
    assert limiter.limit < 8


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refusal(401, f"Incorrect API key provided: {KEY}"), AuthError),
        (refusal(402, "no credits"), QuotaError),
        (refusal(429, "You exceeded your quota", code="insufficient_quota"), QuotaError),
        (refusal(404, "no model m", code="model_not_found"), ModelNotFound),
        (refusal(400, "your maximum context length is 8"), ModelError),
    ],
)
def test_what_would_be_refused_again_is_not_repeated(
    answer: Answer, kind: type[HeedfulError]
) -> None:
    error, server = error_of(answer)
    assert type(error) is kind
    assert len(server.bodies) == 1
    assert KEY not in str(error)


def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    error, server = error_of(completion())
    assert isinstance(error, AuthError)
    assert "(set OPENAI_API_KEY)" in str(error)
    assert not server.bodies


def test_what_cannot_be_asked_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match=r"'nobody'.*anthropic"):
        AnyLLMModel("nobody/m")
    with pytest.raises(UsageError, match=r"no provider.*write any:PROVIDER/MODEL"):
        AnyLLMModel("gpt-4o")


def test_providers_are_spelled_as_litellm_does() -> None:
    assert make("openai/gpt-4.1-mini").name == "gpt-4.1-mini"
    assert make("anthropic/claude-sonnet-4-5").name == "anthropic/claude-sonnet-4-5"
    with pytest.raises(UsageError, match="together"):  # its package isn't installed
        make("together_ai/meta/llama")
    served = make("anthropic/claude", base_url="http://127.0.0.1:1/v1")
    assert not isinstance(served, AnyLLMModel)  # a server names its models as it likes


def test_the_spelling_any_takes_the_address_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def asking() -> tuple[Model, Completion, str]:
        async with FaultServer(completion()) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            model = make("any:openai/a:b/c")
            completed = await model.generate(ASK, Sampling())
            await model.close()
            assert server.bodies[0]["model"] == "a:b/c"
            return model, completed, server.url

    model, answer, url = asyncio.run(asking())
    assert answer.text == "fine"
    assert model.name == "openai/a:b/c"
    assert url not in str(model.config)
    assert KEY not in f"{model.config}{model!r}"


def test_anthropic_is_told_what_to_cache_and_what_it_wrote_is_counted() -> None:
    pytest.importorskip("anthropic")
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 300,
        "cache_creation_input_tokens": 200,
        "output_tokens": 2,
    }
    message = {"id": "1", "type": "message", "role": "assistant", "model": "c", "usage": usage}
    said = {"content": [{"type": "text", "text": "fine"}], "stop_reason": "end_turn"}
    server = FaultServer(Answer(body=message | said))
    prompts = [[Message(role="user", content=f"Shared. {end}")] for end in ("One.", "Two.")]
    (first, _), shared = with_shared_prefix(prompts)

    async def asking() -> Completion:
        async with server:
            url = server.url.removesuffix("/v1")
            model = AnyLLMModel("anthropic/c", base_url=url, api_key=KEY)
            try:
                return await model.generate(first, Sampling(max_tokens=9))
            finally:
                await model.close()

    answer = asyncio.run(asking())
    (sent,) = server.bodies
    assert sent["messages"][0]["content"] == [
        {"type": "text", "text": shared, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "One."},
    ]
    assert shared == "Shared. "
    assert answer.usage == Usage(
        prompt_tokens=510, cached_tokens=300, cache_write_tokens=200, completion_tokens=2
    )
