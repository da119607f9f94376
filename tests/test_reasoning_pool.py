"""The pool of workers: a hung comparison costs its time-out and no other."""

import asyncio
import os
import signal

import pytest

from heedful.bench.grading.equality import EqualityResult
from heedful.bench.grading.math_pool import MathPool
from heedful.core.errors import UsageError

pytest.importorskip("math_verify", reason="the extra 'reasoning' is not installed")

HANGS = (r"\int_0^1 x^x \sin(e^{x^2}) dx", "1")


@pytest.mark.slow
def test_a_hung_comparison_costs_one_time_out_and_the_others_go_on() -> None:
    async def work() -> tuple[list[EqualityResult], int]:
        async with MathPool(2, timeout_s=2.0) as pool:
            await pool.compare("x+1", "1+x")  # a worker is there
            pairs = [HANGS, *((f"x+{k}", f"{k}+x") for k in range(6))]
            result = await asyncio.gather(*(pool.compare(*pair) for pair in pairs))
            again = await pool.compare("2(x+1)", "2x+2")
            return [*result, again], pool.killed

    result, killed = asyncio.run(work())
    assert result[0].equal is None
    assert "more than 2 s" in result[0].reason
    assert [comparison.equal for comparison in result[1:]] == [True] * 7
    assert killed == 2  # it was tried once more


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced() -> None:
    async def work() -> bool | None:
        async with MathPool(1) as pool:
            await pool.compare("x+1", "1+x")
            (worker,) = pool._idle  # noqa: SLF001 - there is no other way to harm it
            os.kill(worker.pid, signal.SIGKILL)
            return (await pool.compare("x+2", "2+x")).equal

    assert asyncio.run(work()) is True


def test_text_and_numbers_need_no_worker() -> None:
    async def work() -> tuple[bool | None, bool | None, int]:
        async with MathPool(1) as pool:
            same = await pool.compare("1,000", "1000")
            other = await pool.compare("98730", "98721")
            return same.equal, other.equal, len(pool._idle)  # noqa: SLF001

    assert asyncio.run(work()) == (True, False, 0)


@pytest.mark.parametrize(("workers", "timeout"), [(0, 5.0), (1, 0.0), (1, float("nan"))])
def test_numbers_that_make_no_sense_are_refused(workers: int, timeout: float) -> None:
    with pytest.raises(UsageError, match="give"):
        MathPool(workers, timeout_s=timeout)
