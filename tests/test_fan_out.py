"""Calls that begin alike: the first goes ahead, and the shared part is marked."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import Constraint, Message, Sample, StopRunError, evaluate
from heedful.engine.fan_out import fan_out, first_ahead
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import Completion, Price, ScriptedModel, Usage
from heedful.models.turns import content, with_shared_prefix

LONG = "a word and another. " * 100


def prompt(*texts: str) -> list[Message]:
    return [Message(role="user", content=text) for text in texts]


@given(
    shared=st.text(max_size=20),
    ends=st.lists(st.text(max_size=5), min_size=1, max_size=4),
    before=st.lists(st.text(max_size=5), max_size=2),
)
def test_what_prompts_share_is_found_and_nothing_is_changed(
    shared: str, ends: list[str], before: list[str]
) -> None:
    given = [prompt(*before, shared + end) for end in ends]
    marked, text = with_shared_prefix(given)
    whole = ["\n".join(turn.content for turn in each) for each in given]
    assert all(each.startswith(text) for each in whole)
    if len(ends) > 1:
        assert text.endswith(shared) or len(text) > len(shared)
        longer = {each[: len(text) + 1] for each in whole}
        assert len(longer) > 1 or set(whole) == {text} or min(map(len, whole)) == len(text)
    assert [[(t.role, t.content) for t in each] for each in marked] == [
        [(t.role, t.content) for t in each] for each in given
    ]
    for turn in (turn for each in marked for turn in each):
        parts = content(turn)
        if isinstance(parts, list):
            assert "".join(part["text"] for part in parts) == turn.content
            assert all(part["text"] for part in parts)


class Recorder:
    """Counts what is in flight, and how far each row was when a call began."""

    def __init__(self) -> None:
        self.active = self.most = 0
        self.events: list[tuple[str, int]] = []

    async def call(self, place: int, messages: Sequence[Message]) -> int:
        del messages
        self.active += 1
        self.most = max(self.most, self.active)
        self.events.append(("begin", place))
        await asyncio.sleep(0.001)
        self.events.append(("end", place))
        self.active -= 1
        return place


@pytest.mark.parametrize(("room", "most"), [(1, 1), (3, 3), (100, 4)])
def test_the_first_goes_ahead_and_the_rest_take_the_room_there_is(room: int, most: int) -> None:
    recorder = Recorder()

    async def go() -> list[int]:
        with first_ahead(room):
            return await fan_out([prompt(f"{LONG}{k}") for k in range(5)], recorder.call)

    assert asyncio.run(go()) == [*range(5)]
    assert recorder.events[:2] == [("begin", 0), ("end", 0)]
    assert recorder.most == most


def test_an_error_of_one_call_is_raised_as_it_is() -> None:
    async def call(place: int, messages: Sequence[Message]) -> None:
        del messages
        if place == 3:
            raise StopRunError("enough")

    async def go() -> None:
        with first_ahead(8):
            await fan_out([prompt(f"{LONG}{k}") for k in range(5)], call)

    with pytest.raises(StopRunError, match="enough"):
        asyncio.run(go())


def rows(count: int) -> list[Sample]:
    checklist = tuple(Constraint(text=f"Constraint {k}.") for k in range(4))
    return [
        Sample(id=str(n), prompt="Say so.", checklist=checklist, response=f"{LONG}{n}")
        for n in range(count)
    ]


def test_what_a_provider_puts_into_its_cache_is_priced(tmp_path: Path) -> None:
    first: set[str] = set()

    def answer(messages: Sequence[Message], _: int) -> Completion:
        parts = content(messages[-1])
        assert isinstance(parts, list)
        assert parts[0]["cache_control"] == {"type": "ephemeral"}
        new = parts[0]["text"] not in first
        first.add(parts[0]["text"])
        return Completion(
            text="<c1>\nSo.\nVERDICT: MET\n</c1>",
            usage=Usage(
                prompt_tokens=1000,
                cached_tokens=0 if new else 900,
                cache_write_tokens=900 if new else 0,
                completion_tokens=10,
            ),
            model="scripted",
        )

    price = Price(prompt=1.0, cached=0.1, completion=5.0)
    judge = Checklist(ScriptedModel(answer, latency_s=0.001), prompts.make("plain"), per_call=1)
    run = tmp_path / "run"
    summary = evaluate(
        rows(3), judge=judge, run=run, prices={"scripted": price}, max_cost=1.0
    ).summary
    cost = summary["cost"]
    assert len(first) == 3
    assert (cost["calls"], cost["prompt_tokens"]) == (12, 12_000)
    assert (cost["cached_tokens"], cost["cache_write_tokens"]) == (9 * 900, 3 * 900)
    micro = (12_000 - 8100) + 8100 * 0.1 + 2700 * 0.25 + 120 * 5
    assert cost["dollars"] == pytest.approx(micro / 1e6)
    again = evaluate(rows(3), judge=judge, run=run, prices={"scripted": price}, max_cost=1.0)
    assert json.dumps(again.summary["cost"]) == json.dumps(cost)
