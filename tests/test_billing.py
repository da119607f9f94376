"""What servers send, made fit to be stored; and what they bill, booked whatever they answer."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fault_server import Answer, FaultServer, completion, refusal, serving, verdicts
from heedful import Constraint, Message, Sample, evaluate
from heedful.core.errors import StopRunError
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import OpenAIModel, Price
from heedful.models.replies import read_completion

pytestmark = pytest.mark.slow  # whole commands, with servers, files and processes

PRICES = {"m": Price(prompt=10.0, completion=100.0)}
PRICE = 0.01
"""Of a call that ``BILLED`` says the tokens of."""

BILLED = {"prompt_tokens": 600, "completion_tokens": 40}


def samples(count: int) -> list[Sample]:
    return [
        Sample(
            id=str(number),
            conversation=(Message(role="user", content=f"Question {number}."),),
            checklist=(Constraint(text="It is kind."),),
            response="A response.",
        )
        for number in range(count)
    ]


def judged(server: FaultServer, count: int, run: Path | None = None, **options: Any) -> Any:
    model = OpenAIModel("m", base_url=server.url, backoff_s=0.001, max_attempts=3)
    judge = Checklist(model, prompts.make("plain"))
    return evaluate(samples(count), judge=judge, prices=PRICES, run=run, **options).summary


def reply(**fields: Any) -> bytes:
    return json.dumps({**completion("fine").body, **fields}).encode()


# The border.

COUNTS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**40), 10**40),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(), max_size=2),
)


@given(prompt=COUNTS, completion=COUNTS, cached=COUNTS, reasoning=COUNTS)
def test_any_counts_are_counts_that_can_be_stored(
    prompt: Any, completion: Any, cached: Any, reasoning: Any
) -> None:
    details = {"cached_tokens": cached}, {"reasoning_tokens": reasoning}
    result = read_completion(
        reply(
            usage={
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "prompt_tokens_details": details[0],
                "completion_tokens_details": details[1],
            }
        )
    ).usage
    counts = result.model_dump().values()
    assert all(type(count) is int and 0 <= count <= 10**9 for count in counts)
    assert result.cached_tokens <= result.prompt_tokens
    assert result.reasoning_tokens <= result.completion_tokens


@pytest.mark.parametrize("tokens", [10**30, -5, 1e308, "many", True, None, [1]])
def test_a_run_outlives_any_count_and_does_not_believe_it(tokens: Any, tmp_path: Path) -> None:
    def script(number: int, body: dict[str, Any]) -> Answer:
        answer = verdicts(number, body)
        if "Question 1." not in str(body):
            return answer
        usage = {"prompt_tokens": tokens, "completion_tokens": tokens}
        return replace(answer, body={**answer.body, "usage": usage})

    with serving(script=script) as server:
        summary = judged(server, 3, tmp_path / "run")
    assert summary["verdicts"]["met"] == 3
    cost = summary["cost"]
    assert (cost["calls"], cost["uncounted"], cost["prompt_tokens"]) == (3, 1, 1200)
    assert cost["dollars"] is None  # not known, rather than wrong


# The books.


def billed(answer: Answer) -> Answer:
    return replace(answer, body={**answer.body, "model": "m", "usage": BILLED})


WITHOUT_AN_ANSWER = {
    "content filter": (billed(completion("x", finish_reason="content_filter")), 1),
    "no choices": (billed(replace(completion(), body={"choices": []})), 3),
    "no message": (billed(replace(completion(), body={"choices": [{"message": None}]})), 3),
    "an error with status 200": (billed(Answer(body={"error": {"message": "oops"}})), 3),
    "an error": (billed(refusal(400, "too long")), 1),
    "an error that holds it": (refusal(400, "too long", usage=BILLED), 1),
    "a server's error": (billed(refusal(500, "oops")), 3),
}
"""Replies that are billed, with how often they are asked for."""


@pytest.mark.parametrize(
    ("answer", "attempts"), WITHOUT_AN_ANSWER.values(), ids=list(WITHOUT_AN_ANSWER)
)
def test_what_is_billed_without_an_answer_is_booked(answer: Answer, attempts: int) -> None:
    with serving(answer) as server:
        summary = judged(server, 2)
    assert len(server.bodies) == 2 * attempts
    cost = summary["cost"]
    assert (cost["calls"], cost["prompt_tokens"]) == (2 * attempts, 2 * attempts * 600)
    assert cost["dollars"] == pytest.approx(2 * attempts * PRICE)


def test_attempts_before_the_answer_are_booked_with_it(tmp_path: Path) -> None:
    nothing, _ = WITHOUT_AN_ANSWER["no choices"]

    def script(number: int, body: dict[str, Any]) -> Answer:
        return nothing if number < 2 else verdicts(number, body)

    with serving(script=script) as server:
        cost = judged(server, 1, tmp_path / "run")["cost"]
        assert (cost["calls"], cost["dollars"]) == (3, pytest.approx(3 * PRICE))
        # In the store, for the sessions to come.
        assert judged(server, 1, tmp_path / "run")["cost"] == cost
    assert len(server.bodies) == 3


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize(
    ("answer", "attempts"), WITHOUT_AN_ANSWER.values(), ids=list(WITHOUT_AN_ANSWER)
)
def test_a_limit_holds_for_replies_without_an_answer(
    answer: Answer, attempts: int, concurrency: int, tmp_path: Path
) -> None:
    limit = 4.5 * PRICE
    options: dict[str, Any] = {"run": tmp_path / "run", "concurrency": concurrency}

    def script(number: int, body: dict[str, Any]) -> Answer:
        return answer if number < 4 else verdicts(number, body)

    with serving(script=script) as server:
        with pytest.raises(StopRunError):
            judged(server, 20, max_cost=limit, **options)
        assert len(server.bodies) == 4
        # A row that the limit stopped between two attempts isn't a failed one: it goes on.
        summary = judged(server, 20, max_cost=1.0, **options)
    assert 0 <= summary["verdicts"]["failed"] <= 4 // attempts
    assert len(server.bodies) == 24 - summary["verdicts"]["failed"]
    assert summary["cost"]["dollars"] == pytest.approx(len(server.bodies) * PRICE)
