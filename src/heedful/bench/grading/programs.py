"""Programs as answers: running the unit tests of a problem on what a model wrote."""

from __future__ import annotations

import inspect
import json
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from heedful.bench.grading import harness
from heedful.bench.grading.completions import setup
from heedful.core.errors import RowError

if TYPE_CHECKING:
    from heedful.bench.grading.sandbox import Sandbox
    from heedful.bench.grading.supervise import ProgramOutcome, ResourceLimits
    from heedful.core.problems import Problem


class Tested(NamedTuple):
    """Result of a program's tests."""

    passed: bool | None
    reason: str = ""
    ambiguous: bool = False  # it changed its arguments, and returned something
    held: int = 0  # asserts that held, where they are counted


def tested(sandbox: Sandbox, problem: Problem, program: str, limits: ResourceLimits) -> Tested:
    """Run a program's unit tests in a sandbox; blocks until they end.

    The tests run in a process apart from the program's, and in a sandbox of their own. They get
    plain values only (see :mod:`heedful.bench.grading.harness`), so passing means that the values
    that the program returned are those that the tests want.
    """
    result = _run(sandbox, problem, program, limits)
    if not result.ambiguous or result.passed is None:
        return result
    # Tests may look at arguments that were changed, or compute what they expect from them, so the
    # verdict must not depend on whether they see the change.
    other = _run(sandbox, problem, program, limits, shared=True)
    if other.passed == result.passed:
        return result
    return Tested(None, "whether it passes depends on whether it may change its arguments")


def passed_tests(sandbox: Sandbox, problem: Problem, program: str, limits: ResourceLimits) -> int:
    """Count the unit tests that a program passes, for one that does not pass all.

    A unit test is an ``assert``, counted each time that it holds; one that fails does not end the
    others, but what goes wrong between them does, as does a limit.
    """
    return _run(sandbox, problem, program, limits, count=True).held


def _run(
    sandbox: Sandbox,
    problem: Problem,
    program: str,
    limits: ResourceLimits,
    *,
    count: bool = False,
    shared: bool = False,
) -> Tested:
    """Run the tests once."""
    if problem.tests is None or problem.entry_point is None:
        raise RowError(f"the problem {problem.id} has no tests")
    call = (setup(problem), problem.tests, problem.entry_point)
    first, second = sandbox.run_pair(
        f"{_harness()}\nrun_tests(*{call!r}, count={count}, shared={shared})\n",
        f"{_harness()}\nserve({program!r})\n",
        limits,
    )
    held = first.stderr.count("\n")
    limit = second.limit or first.limit
    if limit is not None:
        over = f"it ran longer than {limits.seconds:g} s"
        reason = over if limit == "time" else f"it hit the limit on {limit}"
        return Tested(passed=False, reason=reason, held=held)
    try:
        report = json.loads(first.stderr)
    except ValueError:
        reason = _last_words(first) or f"exit code {first.exit_code}"
        return Tested(None, f"its tests cannot be run: {reason}", held=held)
    reason = report["reason"]
    if reason == harness.ENDED and second.exit_code:
        reason = _last_words(second) or reason
    return Tested(report["passed"], reason, report["ambiguous"], held)


@cache
def _harness() -> str:
    return inspect.getsource(harness)


def _last_words(outcome: ProgramOutcome) -> str:
    lines = outcome.stderr.strip().splitlines()
    return lines[-1][:300] if lines else ""
