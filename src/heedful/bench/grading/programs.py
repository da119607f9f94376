"""Programs as answers: running the unit tests of a problem on what a model wrote."""

from __future__ import annotations

import ast
import builtins
import inspect
import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from heedful.bench.grading import harness, plain
from heedful.bench.grading.completions import setup
from heedful.core.errors import RowError

if TYPE_CHECKING:
    from heedful.bench.grading.sandbox import Sandbox
    from heedful.bench.grading.supervise import ProgramOutcome, ResourceLimits
    from heedful.core.problems import Problem


_STREAMS = {"redirect_stdout", "redirect_stderr", "stdout", "stderr", "stdin", "capsys"}
"""Names that say that the tests read what a program prints, or write what it reads."""

_CATCHERS = {"raises", "assertRaises", "assertRaisesRegex", "suppress"}


@dataclass(frozen=True, slots=True)
class Tested:
    """Result of a program's tests."""

    passed: bool | None
    reason: str = ""


def tested(sandbox: Sandbox, problem: Problem, program: str, limits: ResourceLimits) -> Tested:
    """Run a program's unit tests in a sandbox; blocks until they end.

    The tests run in a process apart from the program's, and in a sandbox of their own. They get
    plain values only (see :mod:`heedful.bench.grading.harness`), so passing means that the values
    that the program returned are those that the tests want.
    """
    result, report = _run(sandbox, problem, program, limits)
    if not report["ambiguous"] or result.passed is None:
        return result
    # It changed its arguments, or returned one of them. Tests may look at these, or compute what
    # they expect from them, so the verdict must not depend on whether they see the change.
    other, _ = _run(sandbox, problem, program, limits, shared=True)
    if other.passed == result.passed:
        return result
    return Tested(None, "whether it passes depends on whether it may change its arguments")


def passed_tests(sandbox: Sandbox, problem: Problem, program: str, limits: ResourceLimits) -> int:
    """Count the unit tests that a program passes, for one that does not pass all.

    A unit test is an ``assert``, counted each time that it holds; one that fails does not end the
    others, but what goes wrong between them does, as does a limit.
    """
    _, report = _run(sandbox, problem, program, limits, count=True)
    return int(report["held"])


def _run(
    sandbox: Sandbox,
    problem: Problem,
    program: str,
    limits: ResourceLimits,
    *,
    count: bool = False,
    shared: bool = False,
) -> tuple[Tested, dict[str, Any]]:
    """Run the tests once; return the result, and all that the tests' process reports."""
    call = (setup(problem), _tests(problem), problem.entry_point)
    first, second = sandbox.run_pair(
        f"{_sent()}run_tests(*{call!r}, count={count}, shared={shared})\n",
        f"{_sent()}serve({program!r})\n",
        limits,
    )
    report: dict[str, Any] = {"held": first.stderr.count("\n"), "ambiguous": False}
    limit = second.limit or first.limit
    if limit is not None:
        reason = f"it hit the limit on {limit}"
        if limit == "time":
            reason = f"it ran longer than {limits.seconds:g} s"
        return Tested(passed=False, reason=reason), report
    try:
        report |= json.loads(first.stderr)
    except ValueError:
        reason = _last_words(first) or f"exit code {first.exit_code}"
        return Tested(None, f"its tests cannot be run: {reason}"), report
    reason = str(report["reason"])
    if reason == harness.ENDED and second.exit_code:
        reason = _last_words(second) or reason
    passed = report["passed"]
    hidden = None if passed is None else _hidden(call[1], report, passed=passed)
    return Tested(None, hidden) if hidden else Tested(passed, reason), report


@cache
def _sent() -> str:
    """Write the program that both processes begin with: it makes our modules of their text."""
    sources = [(module.__name__, inspect.getsource(module)) for module in (plain, harness)]
    return (
        "import sys, types\n"
        f"for name, source in {sources!r}:\n"
        "    module = sys.modules[name] = types.ModuleType(name)\n"
        "    exec(compile(source, name, 'exec'), module.__dict__)\n"
        "from heedful.bench.grading.harness import run_tests, serve\n"
    )


def _tests(problem: Problem) -> str:
    if problem.tests is None or problem.entry_point is None:
        raise RowError(f"the problem {problem.id} has no tests")
    try:
        ast.parse(problem.tests)
    except (SyntaxError, ValueError) as error:
        what = f"the tests of the problem {problem.id} aren't Python: {error}"
        raise RowError(what) from error
    return problem.tests


def _last_words(outcome: ProgramOutcome) -> str:
    lines = outcome.stderr.strip().splitlines()
    return lines[-1][:300] if lines else ""


def _hidden(tests: str, report: dict[str, Any], *, passed: bool) -> str | None:
    """Say what tests ask for that plain values can't show, so that their verdict may be wrong."""
    nodes = list(ast.walk(ast.parse(tests)))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    imported = {
        alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    if (names | attributes | imported) & _STREAMS:
        return "the tests use standard streams, which the program doesn't share"
    if passed or report["ended"]:
        return None
    handlers = [node.type for node in nodes if isinstance(node, ast.ExceptHandler)]
    if report["foreign"] and (handlers or (names | attributes) & _CATCHERS):
        return "it raised an error of its own kind, and only the built-in ones can be sent"
    kinds = (part for kind in handlers if kind is not None for part in ast.walk(kind))
    if any(isinstance(kind, ast.Name) and not hasattr(builtins, kind.id) for kind in kinds):
        return "the tests catch an error that may be of the program's own kind"
    return str(report["lost"]) if report["lost"] else None
