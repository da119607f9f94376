"""A large batch at a server: others get their turn after each of its rows."""

import asyncio
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("prometheus_client", reason="the extra serve is not installed")

from heedful.core.nouns import Critique, Judgment, Sample, Status
from heedful.rewards import Reward
from heedful.rewards.server import Limits
from heedful.rewards.server.admission import JudgingService


class Noting:
    """A judge that notes in which turn of the loop it decided a row."""

    name = "noting"
    config: dict[str, Any] = {}  # noqa: RUF012 - a constant

    def __init__(self) -> None:
        self.turn = 0
        self.turns: list[int] = []

    async def judge(self, row: Sample, requested: Any = None) -> Critique:
        del row
        self.turns.append(self.turn)
        return Critique(judgments=tuple(Judgment(status=Status.MET) for _ in requested))

    async def tick(self) -> None:
        while True:
            self.turn += 1
            await asyncio.sleep(0)


def test_a_batch_is_judged_row_by_row_with_others_in_between() -> None:
    noting = Noting()
    row = {"prompt": "Greet.", "response": "Hello there.", "checklist": ["It is polite."]}

    async def scenario() -> list[float | None]:
        service = JudgingService(Limits())
        async with Reward(noting, gates="none").session() as session:

            async def judge(given: Any, _: int) -> float | None:
                return (await session.reward(Sample(**given))).value

            ticking = asyncio.ensure_future(noting.tick())
            rewards = await service.judge([row] * 200, judge, None, service.deadline())
            ticking.cancel()
        return rewards

    assert asyncio.run(scenario()) == [1.0] * 200
    assert max(map(noting.turns.count, noting.turns)) <= 2


@given(st.lists(st.integers(1, 9), min_size=2, max_size=4), st.integers(1, 5))
def test_requests_take_turns_and_no_more_rows_are_read_than_there_is_room_for(
    sizes: list[int], room: int
) -> None:
    begun: list[int] = []
    held = most = 0

    async def scenario() -> None:
        service = JudgingService(Limits(), room)

        async def judge(request: int, _: int) -> int:
            nonlocal held, most
            begun.append(request)
            held += 1
            most = max(most, held)
            for _ in range(3):
                await asyncio.sleep(0)
            held -= 1
            return request

        requests = (
            service.judge([number] * size, judge, None, service.deadline())
            for number, size in enumerate(sizes)
        )
        assert await asyncio.gather(*requests) == [[at] * size for at, size in enumerate(sizes)]
        assert service.admission.held == 0

    asyncio.run(scenario())
    assert most <= room
    for number, size in enumerate(sizes):
        # A request waits for at most one row of each other between two of its own.
        places = [at for at, request in enumerate(begun) if request == number]
        gaps = (later - earlier for earlier, later in itertools.pairwise(places))
        assert len(places) == size
        assert all(gap <= len(sizes) for gap in gaps)


def test_rows_that_were_not_started_by_the_deadline_are_judged_all_the_same() -> None:
    judged: list[int] = []

    async def scenario() -> list[int | None]:
        service = JudgingService(Limits(), 2)
        slow = asyncio.Event()

        async def judge(row: int, _: int) -> int:
            await slow.wait()
            judged.append(row)
            return row

        now = asyncio.get_running_loop().time()
        answered = await service.judge(range(5), judge, None, now + 0.01)
        slow.set()
        while service.admission.held:  # noqa: ASYNC110 - the service says it by no event
            await asyncio.sleep(0)
        return answered

    assert asyncio.run(scenario()) == [None] * 5
    assert judged == list(range(5))
