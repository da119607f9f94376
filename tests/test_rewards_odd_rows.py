"""Rows as no trainer should hand them over: no adapter raises, and undecided stays undecided."""

from __future__ import annotations

import asyncio
import functools
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import Status
from heedful.rewards import Reward, for_trl, for_verifiers, for_verl, trl_rewards
from heedful.rewards.adapters import openrlhf_sample
from test_rewards_gates import CHECKLIST, ESSAY, GOOD
from told import Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FALLBACK = -7.0
TEXTS = [{"text": text} for text in CHECKLIST]
ROW = {"checklist": TEXTS, "prompt": ESSAY}

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.binary(max_size=3),
    st.sampled_from(["", "x", "[]", "{}", '{"checklist": [1]}', "[[", ESSAY, "\ud800"]),
)
FIELDS = (
    "checklist constraints checklist_struct prompt messages text check weight response "
    "finish_reason problem depends_on"
)
NAMES = st.sampled_from(FIELDS.split())
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(NAMES | st.integers(), inner, max_size=3)
        | st.fixed_dictionaries({"checklist": inner, "prompt": inner})
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def reward() -> Iterator[Reward]:
    with Reward(Told(), undecided=FALLBACK) as made:
        yield made


@pytest.mark.slow
@given(truth=VALUES | st.just(ROW), extra=VALUES, solution=LEAVES | st.just(GOOD))
def test_verl_gets_a_verdict_or_the_fallback(
    reward: Reward, truth: Any, extra: Any, solution: Any
) -> None:
    result = asyncio.run(for_verl(reward)("source", solution, truth, extra))
    assert (result["score"] == FALLBACK) == bool(result["undecided"])
    assert result["score"] in (FALLBACK, 0, 1)


@pytest.mark.slow
@given(query=LEAVES | st.just(ESSAY + GOOD), prompt=LEAVES | st.just(ESSAY), label=VALUES)
def test_openrlhf_gets_a_verdict_or_the_fallback(
    reward: Reward, query: Any, prompt: Any, label: Any
) -> None:
    (scored,) = reward.score_sync([openrlhf_sample(query, prompt, label, 1)])
    assert (scored.value == FALLBACK) == (not scored.decided)


@pytest.mark.slow
@given(row=st.dictionaries(NAMES, VALUES, max_size=4), reply=LEAVES | st.just(GOOD))
def test_verifiers_gets_a_number(reward: Reward, row: dict[str, Any], reply: Any) -> None:
    task = SimpleNamespace(model_dump=lambda **_: dict(row))
    trace = SimpleNamespace(last_reply=reply)
    assert asyncio.run(for_verifiers(reward)(task, trace)) in (FALLBACK, 0, 1)


def as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    return functools.partial(function)


def filling(function: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper that makes numbers of what is undecided."""

    async def filled(**columns: Any) -> list[float]:
        return [value or 0.5 for value in await function(**columns)]

    filled.__name__ = "filled"
    return filled


@pytest.mark.parametrize("around", [as_it_is, wrapped, filling])
@pytest.mark.parametrize("others", [0, 1, 2])
@pytest.mark.parametrize("weight", [1.0, 0.0, -2.0])
def test_a_sum_of_one_to_three_functions_leaves_undecided_rows_out(
    around: Callable[..., Any], others: int, weight: float
) -> None:
    def one(completions: Any, **_: Any) -> list[float]:
        return [1.0 for _ in completions]

    def none(completions: Any, **_: Any) -> list[None]:
        return [None for _ in completions]

    with Reward(Told(lambda *_: Status.FAILED)) as open_:
        functions = [around(for_trl(open_)), *[one, none][:others]]
        summed = trl_rewards(functions, [weight, *[1.0, 3.0][:others]])
        columns = {"prompts": [ESSAY] * 2, "completions": [GOOD, "."], "checklist": [TEXTS] * 2}
        values = asyncio.run(summed(**columns))
    # The second one is stopped by a gate, which needs no judge.
    worth = 0.5 if around is filling else 0.0
    assert values == [None, worth * weight + (1.0 if others else 0.0)]
