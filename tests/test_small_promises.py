"""Promises that a single line keeps: the price of a batch, equal calls, an input that shrank."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import Constraint, Message
from heedful.core.errors import StopRunError
from heedful.engine.budget import Budget, Quote
from heedful.engine.call_cache import cache_calls, complete
from heedful.engine.cost import CostSummary
from heedful.engine.purpose import Purpose
from heedful.engine.schema import UsageRecord
from heedful.engine.store import Store
from heedful.judges import prompts
from heedful.models import Completion, Price, Sampling, ScriptedModel, Usage
from heedful.models.faults import METER

PRICES = {"m": Price(prompt=10.0, completion=100.0)}


def test_what_went_through_a_batch_counts_half_against_the_limit() -> None:
    def spent(tier: str) -> float:
        paid = UsageRecord("judge", "m", "m", tier, prompt_tokens=10_000, completion_tokens=1000)
        return Budget(1.0, PRICES, [paid]).spent

    assert spent("") == pytest.approx(0.2)
    assert spent("batch") == pytest.approx(0.1)


def test_calls_and_batches_of_one_judge_cost_what_both_cost() -> None:
    paid = [
        UsageRecord("judge", "m", "m", tier, prompt_tokens=10_000, completion_tokens=1000)
        for tier in ("", "batch")
    ]
    assert CostSummary(paid, PRICES).result()["dollars"] == pytest.approx(0.2 + 0.1)


def test_what_a_provider_caches_is_set_aside_at_its_price() -> None:
    prices = {"m": Price(prompt=1.0, cached=0.1, completion=5.0)}

    def reserved(*, marked: bool) -> float:
        quote = Quote("m", sent=1000, expected=10, limit=None, marked=marked)
        return asyncio.run(Budget(1.0, prices).reserve(quote))

    assert reserved(marked=True) > reserved(marked=False)


def test_every_attempt_must_fit_into_what_is_left() -> None:
    paid: list[int] = []

    class Empty(ScriptedModel):
        async def generate(self, *_: Any, **__: Any) -> Completion:
            while len(paid) < 9:
                await METER.get().affordable()
                paid.append(1)
                METER.get().charge("m", Usage(prompt_tokens=1000, completion_tokens=100))
            return Completion(text="At last.")

    async def call() -> None:
        turns = [Message(role="user", content="word " * 800)]
        budget = Budget(0.07, {**PRICES, "scripted": PRICES["m"]})
        async with cache_calls(Store(None), budget=budget):
            await complete(Empty("x"), turns, Sampling())

    with pytest.raises(StopRunError, match="--max-cost"):
        asyncio.run(call())
    assert len(paid) == 3


TEXTS = st.lists(
    st.lists(st.sampled_from(["a", "user", "\0"]), max_size=3).map("".join), min_size=1, max_size=3
)
"""Texts that look like the role before the next one."""


@given(TEXTS, TEXTS)
def test_calls_share_an_answer_only_if_their_messages_are_the_same(
    first: list[str], second: list[str]
) -> None:
    async def asked() -> int:
        model = ScriptedModel("Yes.")
        store = Store(None)
        async with cache_calls(store):
            for texts in (first, second, ["user".join(first)], first):
                messages = [Message(role="user", content=text) for text in texts]
                await complete(model, messages, Sampling(), sample=0, purpose=Purpose("test", 1))
        store.close()
        return len(model.calls)

    assert asyncio.run(asked()) == len({tuple(first), tuple(second), ("user".join(first),)})


@pytest.mark.parametrize("stray", ["VERDICT: MET", "VERDICT: UNMET"])
def test_a_verdict_outside_the_blocks_leaves_all_undecided(stray: str) -> None:
    reply = f"{stray}\n<c1>\nIt is.\nVERDICT: MET\n</c1>"
    (judgment,) = prompts.make("plain").parse(reply, [Constraint(text="It is kind.")])
    assert not judgment.status.decided
