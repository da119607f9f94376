"""Programs as answers: whole ones out of what models write, and the unit tests run on them.

Models write programs fenced or not, with prose around, indented or not.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import re
import textwrap
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from heedful.bench.grading import harness
from heedful.core.errors import RowError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful.bench.grading.sandbox import ProgramOutcome, ResourceLimits, Sandbox
    from heedful.core.problems import Problem


LONGEST = 30_000
"""Characters of a text in which code is searched for; a longer one is taken as it is."""

_REACH = 50
"""Pieces of a text that one statement may extend over, with a bracket or a string left open."""

_FENCE = re.compile(
    r"^[ \t]*(`{3,}+|~{3,}+)[^\n]*+\n(?P<code>.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_MARGIN = re.compile(r"^[ \t\u00a0]+", re.MULTILINE)
_MARGIN_LINE = re.compile(r"^(?=[^\s#])(?<=\n)", re.MULTILINE)
_CONTINUES = re.compile(r"(?:else|elif|except|finally)\b")
_LOOKS_LIKE_CODE = re.compile(
    r"(?:(?:async[ ]+)?def|class)\s+\w+\s*[(:]|import\s+\w|from\s+[\w.]+\s+import\b|@\w|\w+\s*=[^=]"
)


def completed(problem: Problem, text: str) -> str:
    """Make a whole program of a problem's prompt and what a model wrote for it.

    Code that defines the function, in a fenced block or between prose, is the program, below the
    imports and helpers that the prompt has above it and other blocks of definitions. A method of a
    class is the function, too (``class Solution``). Anything else continues the prompt, as
    HumanEval's completions do, or is the function's body without its indentation.
    """
    above = setup(problem)
    name = re.escape(problem.entry_point or "")
    assigned = re.compile(rf"^{name}[ \t]*(?::[^=\n]+)?=[^=]", re.MULTILINE)
    text = _MARGIN.sub(lambda m: m.group().replace("\N{NO-BREAK SPACE}", " "), text)
    blocks = [textwrap.dedent(match["code"]) for match in _FENCE.finditer(text)]
    for code in [*reversed(blocks), text]:
        if _definition(problem).search(code) or assigned.search(code):
            others = "".join(f"{block}\n" for block in blocks if block != code and _defines(block))
            return f"{above}\n{others}{_code_of(code)}\n"
    for code in [*reversed(blocks), text]:
        program = _code_of(code)
        owner = _owner(program, problem.entry_point)
        if owner:
            alias = f"{problem.entry_point} = {owner}().{problem.entry_point}"
            return f"{above}\n{program}\n\n{alias}\n"
    return _continued(problem.question, blocks[-1] if blocks else text)


def setup(problem: Problem) -> str:
    """Return what a prompt has above its function: imports and helpers."""
    parts = _definition(problem).split(problem.question, maxsplit=1)
    return parts[0] if len(parts) > 1 else ""


def _definition(problem: Problem) -> re.Pattern[str]:
    name = re.escape(problem.entry_point or "")
    return re.compile(rf"^(?:async[ \t]+)?def[ \t]+{name}[ \t]*\(", re.MULTILINE)


def _tree(code: str) -> ast.Module | None:
    """Parse a program; ``None`` where it isn't one."""
    try:
        tree = ast.parse(code)
        compile(code, "<completion>", "exec", dont_inherit=True)  # finds a "return" outside, too
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return tree


def _defines(code: str) -> bool:
    """Whether a block holds nothing but imports and definitions, which another may use."""
    tree = _tree(code)
    kinds = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    return tree is not None and all(isinstance(each, kinds) for each in tree.body)


def _owner(program: str, name: str | None) -> str | None:
    """Return the one class of a program that has a method of this name and takes no arguments."""
    tree = _tree(program)
    owners = []
    for part in tree.body if tree else ():
        if isinstance(part, ast.ClassDef):
            methods = {each.name: each for each in part.body if isinstance(each, ast.FunctionDef)}
            made = methods.get("__init__")
            if name in methods and (made is None or len(made.args.args) == 1):
                owners.append(part.name)
    return owners[0] if len(owners) == 1 else None


def _code_of(text: str) -> str:
    """Return a text without the prose before, between and after its code."""
    if len(text) > LONGEST:
        return text
    code = []
    pieces = list(_pieces(text))
    place = 0
    while place < len(pieces):
        looks = _LOOKS_LIKE_CODE.match(pieces[place])
        ends = range(place + 1, min(len(pieces), place + (_REACH if looks else 1)) + 1)
        trees = ((end, _tree("".join(pieces[place:end]))) for end in ends)
        end, tree = next(((end, tree) for end, tree in trees if tree), (place + 1, None))
        if tree is not None and all(map(_acts, tree.body)):
            code.append("".join(pieces[place:end]))
        elif tree is None and looks:
            return text  # code that isn't Python: the program shall fail for it
        place = end
    return "".join(code)


def _pieces(text: str) -> Iterator[str]:
    """Cut a text before each line that begins at the margin."""
    piece: list[str] = []
    for line in text.splitlines(keepends=True):
        if piece and line[:1].strip() and not _CONTINUES.match(line):
            yield "".join(piece)
            piece = []
        piece.append(line)
    yield "".join(piece)


def _acts(statement: ast.stmt) -> bool:
    """Whether a statement does something: ``Done``, ``Output: 3`` and ``Note (1)`` are words."""
    if isinstance(statement, ast.AnnAssign):
        return statement.value is not None
    if not isinstance(statement, ast.Expr):
        return True
    called = statement.value.func if isinstance(statement.value, ast.Call) else None
    return isinstance(called, ast.Attribute) or (
        isinstance(called, ast.Name) and hasattr(builtins, called.id)
    )


def _continued(question: str, text: str) -> str:
    """Put a body below a prompt: as it is, or indented where it lacks that."""
    last = next((line for line in reversed(question.splitlines()) if line.strip()), "")
    indent = last[: len(last) - len(last.lstrip())] or "    "
    first, _, rest = text.lstrip("\n").partition("\n")
    if first[:1].isspace():  # what a model goes on with after the body begins at the margin
        bodies = [text, _MARGIN_LINE.split(text)[0]]
        shapes = [*bodies, *(textwrap.indent(textwrap.dedent(body), indent) for body in bodies)]
    else:  # maybe the first line alone has lost its indentation
        shapes = [textwrap.indent(text, indent), f"{indent}{first}\n{rest}"]
    programs = (f"{question}{shape}\n" for shape in shapes)
    whole = f"{question}{text}\n"
    if len(whole) > LONGEST:
        return whole
    return next(filter(_is_code, programs), whole)


def _is_code(program: str) -> bool:
    tree = _tree(program)
    return tree is not None and all(map(_acts, tree.body))


class Tested(NamedTuple):
    """Result of a program's tests."""

    passed: bool | None
    reason: str = ""
    held: int = 0  # asserts that held, where they are counted


def tested(sandbox: Sandbox, problem: Problem, program: str, limits: ResourceLimits) -> Tested:
    """Run a program's unit tests in a sandbox; blocks until they end.

    The tests run in a process apart from the program's, and in a sandbox of their own. They get
    plain values only (see :mod:`heedful.bench.grading.harness`), so passing means that the values
    that the program returned are those that the tests want.
    """
    return _run(sandbox, problem, program, limits)


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
) -> Tested:
    """Run the tests once."""
    if problem.tests is None or problem.entry_point is None:
        raise RowError(f"the problem {problem.id} has no tests")
    call = (setup(problem), problem.tests, problem.entry_point)
    first, second = sandbox.run_pair(
        f"{_harness()}\nrun_tests(*{call!r}, count={count})\n",
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
    return Tested(report["passed"], reason, held)


@cache
def _harness() -> str:
    return inspect.getsource(harness)


def _last_words(outcome: ProgramOutcome) -> str:
    lines = outcome.stderr.strip().splitlines()
    return lines[-1][:300] if lines else ""
