"""Programs as answers: completing HumanEval's prompt, and running its unit tests."""

from __future__ import annotations

import ast
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heedful.core.errors import RowError

if TYPE_CHECKING:
    from heedful.bench.grading.sandbox import Sandbox
    from heedful.bench.grading.supervise import ProgramOutcome, ResourceLimits
    from heedful.core.nouns import Problem

_FENCE = re.compile(
    r"^[ \t]*(`{3,}+|~{3,}+)[^\n]*+\n(?P<code>.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Tested:
    """Result of a program's tests.

    Attributes:
        passed: whether it passed all of them.
        reason: why not: the last line of the error, or the limit that was hit.
    """

    passed: bool
    reason: str = ""


def completed(problem: Problem, text: str) -> str:
    """Make a whole program of a problem's prompt and what a model wrote for it.

    A fenced block that defines the function is the program, below the imports and helpers that the
    prompt has above it; so is a text that defines it. Anything else continues the prompt, as
    HumanEval's completions do.
    """
    blocks = [match["code"] for match in _FENCE.finditer(text)]
    name = re.escape(problem.entry_point or "")
    defines = re.compile(rf"^(?:async\s+)?def\s+{name}\s*\(", re.MULTILINE)
    for code in [*reversed(blocks), text]:
        if defines.search(code):
            above = defines.split(problem.question, maxsplit=1)[0]
            return f"{above}\n{code}\n"
    return f"{problem.question}{blocks[-1] if blocks else text}\n"


def tested(sandbox: Sandbox, problem: Problem, program: str, limits: ResourceLimits) -> Tested:
    """Run a program's unit tests in a sandbox; blocks until they end.

    Passing means that the last test has been reached and that a secret, drawn for this run, was
    then printed: a program that just exits, with any code, does not pass. The secret is in the
    program's own process, and one that searches its interpreter for it will find it.

    Raises:
        RowError: the problem has no tests.
    """
    tests = _tests(problem)
    secret = secrets.token_hex(16)
    source = f"{program}\n{tests}\ncheck({problem.entry_point})\n"
    runner = (
        "import os\n"
        f"exec(compile({source!r}, '<solution>', 'exec'), {{'__name__': 'solution'}})\n"
        f"os.write(1, {secret.encode()!r})\n"
    )
    outcome = sandbox.run(runner, limits)
    if outcome.exit_code == 0 and outcome.stdout.endswith(secret):
        return Tested(passed=True)
    return Tested(passed=False, reason=_reason(outcome, limits))


def passed_tests(sandbox: Sandbox, problem: Problem, program: str, limits: ResourceLimits) -> int:
    """Count the unit tests that a program passes, for one that does not pass all.

    A unit test is an ``assert``, counted each time that it holds; one that fails does not end the
    others, but what goes wrong between them does, as does a limit.

    Raises:
        RowError: the problem has no tests, or they aren't Python.
    """
    try:
        tree = ast.parse(_tests(problem))
    except SyntaxError as error:
        what = f"the tests of the problem {problem.id} aren't Python: {error.msg}"
        raise RowError(what) from error
    secret = secrets.token_hex(16)
    counted = ast.fix_missing_locations(_AssertCounter(f"_{secret}").visit(tree))
    source = f"{program}\n{ast.unparse(counted)}\ncheck({problem.entry_point})\n"
    runner = (
        "import os\n"
        f"report = lambda: os.write(1, {secret.encode()!r})\n"
        f"names = {{'__name__': 'solution', '_{secret}': report}}\n"
        f"exec(compile({source!r}, '<solution>', 'exec'), names)\n"
    )
    return sandbox.run(runner, limits).stdout.count(secret)


class _AssertCounter(ast.NodeTransformer):
    """Transformer that makes each ``assert`` report success, and go on after a failure."""

    def __init__(self, report: str) -> None:
        self._report = report

    def visit_Assert(self, node: ast.Assert) -> ast.Try:
        report = ast.Expr(ast.Call(ast.Name(self._report, ast.Load()), [], []))
        error = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [ast.Pass()])
        return ast.Try([node, report], [error], [], [])


def _tests(problem: Problem) -> str:
    if problem.tests is None or problem.entry_point is None:
        raise RowError(f"the problem {problem.id} has no tests")
    return problem.tests


def _reason(outcome: ProgramOutcome, limits: ResourceLimits) -> str:
    if outcome.limit == "time":
        return f"it ran longer than {limits.seconds:g} s"
    if outcome.limit is not None:
        return f"it hit the limit on {outcome.limit}"
    if outcome.exit_code == 0:
        return "it ended before its tests did"
    said = outcome.stderr.strip().splitlines()
    return said[-1][:300] if said else f"it ended with exit code {outcome.exit_code}"
