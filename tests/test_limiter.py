"""The limiter: bounds hold, turns are fair, overload halves once, paces are kept.

A loop with a clock of its own makes minutes pass in no time.
"""

import asyncio
import itertools
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.models.limiter import SLACK_SECONDS, AdaptiveLimiter

T = TypeVar("T")


class Impatient(selectors.DefaultSelector):
    """Does not wait: the time it should have waited has passed."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        self.passed += timeout or 0.0
        return super().select(0)


class ImpatientLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.clock = Impatient()
        super().__init__(self.clock)

    def time(self) -> float:
        return self.clock.passed


def simulate(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=ImpatientLoop) as runner:
        return runner.run(work)


def now() -> float:
    return asyncio.get_running_loop().time()


@given(
    maximum=st.integers(1, 20),
    calls=st.lists(st.tuples(st.floats(0, 3), st.sampled_from("sfo")), max_size=60),
)
def test_the_bounds_hold_whatever_happens(maximum: int, calls: list[tuple[float, str]]) -> None:
    async def all_calls() -> None:
        limiter = AdaptiveLimiter(maximum)
        running = 0

        async def call(seconds: float, end: str) -> None:
            nonlocal running
            async with limiter.permit():
                running += 1
                assert running == limiter.active <= maximum
                try:
                    await asyncio.sleep(seconds)
                    assert 1 <= limiter.limit <= maximum
                    if end == "o":
                        limiter.overloaded()
                    if end != "s":
                        raise ValueError(end)
                finally:
                    running -= 1

        await asyncio.gather(*(call(*each) for each in calls), return_exceptions=True)
        assert limiter.active == 0

    simulate(all_calls())


def test_256_refusals_at_once_halve_the_limit_once_and_the_next_round_again() -> None:
    async def rounds() -> list[int]:
        limiter = AdaptiveLimiter(256)
        limits = []

        async def refused() -> None:
            async with limiter.permit():
                await asyncio.sleep(1)
                limiter.overloaded()
                raise TimeoutError

        for count in (256, 128, 1, 1, 1):
            await asyncio.gather(*(refused() for _ in range(count)), return_exceptions=True)
            limits.append(limiter.limit)
        return limits

    # One call in flight that is refused: half of what was in flight is below one.
    assert simulate(rounds()) == [128, 64, 1, 1, 1]


@pytest.mark.parametrize(("maximum", "most"), [(2, 2), (64, 40), (1000, 50)])
def test_the_limit_comes_back_with_success_by_small_steps(maximum: int, most: int) -> None:
    async def recover() -> list[int]:
        limiter = AdaptiveLimiter(maximum)
        async with limiter.permit():
            limiter.overloaded()
        limits = [1]
        while limits[-1] < maximum:
            await asyncio.gather(*(call(limiter) for _ in range(limits[-1])))
            limits.append(limiter.limit)
        return limits

    async def call(limiter: AdaptiveLimiter) -> None:
        async with limiter.permit():
            await asyncio.sleep(1)

    limits = simulate(recover())
    assert len(limits) <= most
    for low, high in itertools.pairwise(limits):
        assert low < high <= low + max(2, low / 4 + 1, maximum / 32 + 1)


def test_turns_come_in_the_order_of_asking() -> None:
    async def queue() -> list[int]:
        limiter = AdaptiveLimiter(3)
        begun: list[int] = []

        async def call(number: int) -> None:
            async with limiter.permit():
                begun.append(number)
                await asyncio.sleep(number * 7 % 5)

        await asyncio.gather(*(call(number) for number in range(50)))
        return begun

    assert simulate(queue()) == list(range(50))


@pytest.mark.parametrize("rpm", [1, 60, 90, 1500])
def test_no_minute_holds_more_calls_than_allowed_and_none_is_wasted(rpm: int) -> None:
    async def calls() -> list[float]:
        limiter = AdaptiveLimiter(1000, rpm=rpm)
        begun: list[float] = []

        async def call() -> None:
            async with limiter.permit():
                begun.append(now())
                await asyncio.sleep(0.3)

        await asyncio.gather(*(call() for _ in range(3 * rpm)))
        return begun

    begun = simulate(calls())
    most = max(sum(1 for at in begun if start <= at < start + 60) for start in begun[:50])
    assert rpm <= most <= rpm * (1 + SLACK_SECONDS / 60) + 2
    assert begun[-1] == pytest.approx(60 * (3 * rpm - 1) / rpm, abs=1)


def test_tokens_are_paced_by_what_was_used() -> None:
    async def calls() -> list[float]:
        limiter = AdaptiveLimiter(10, tpm=6000)  # 100 a second
        begun = []
        for booked, used in ((500, 500), (100, 1000), (20_000, 300), (1, 1)):
            async with limiter.permit(booked) as permit:
                begun.append(now())
                permit.tokens = used
        return begun

    # Each begins when what the earlier ones used is made up for.
    assert simulate(calls()) == pytest.approx([0, 5, 15, 18], abs=0.2)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 5)), max_size=30),
    st.sampled_from([None, 60.0]),
)
def test_cancelling_at_any_moment_loses_no_permit(
    calls: list[tuple[int, int, int]], rpm: float | None
) -> None:
    async def cancelled() -> None:
        limiter = AdaptiveLimiter(2, rpm=rpm)

        async def call(begin: int, seconds: int) -> None:
            await asyncio.sleep(begin)
            async with limiter.permit():
                await asyncio.sleep(seconds)

        async def cancel(begin: int, after: int, seconds: int) -> None:
            task = asyncio.create_task(call(begin, seconds))
            await asyncio.sleep(begin + after)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        await asyncio.gather(*(cancel(*each) for each in calls))
        assert limiter.active == 0
        await asyncio.wait_for(call(0, 0), 120)

    simulate(cancelled())
