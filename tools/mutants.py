"""Plant faults in the code, one at a time, and see whether the tests notice.

python tools/mutants.py --map               # run the tests, note which of them runs which line
python tools/mutants.py                     # 200 faults; the same seed and source give the same
python tools/mutants.py --only "rewards/*"  # faults of some files

A fault is one change of one expression: a comparison turned, a sign or a bound moved, `and` for
`or`, a condition negated, a statement left out. The tests are collected once. For each fault a
child of that process puts the changed code into its function and runs the tests that ran its line,
those that run least of the code first, until one fails. A fault that none notices survives, and is
printed with its place. Give ``--tests "not heavy"`` to both commands for README's tests instead of
the unit suite.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import gc
import importlib
import inspect
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "heedful"
STATE = ROOT / ".mutants"
UNIT = "not heavy and not slow"

PLACES = (
    "metrics/**",
    "judges/prompts/**",
    "engine/store.py",
    "engine/budget.py",
    "engine/cost.py",
    "engine/call_cache.py",
    "rewards/**",
    "cli/gates.py",
)
"""Where a fault costs a verdict, a number, a row or money."""

MOST_TESTS = 400
"""Tests tried on a fault, those with the narrowest coverage first."""

CPU_SECONDS, SECONDS = 60, 240
"""Time for the tests of one fault; one that hangs is noticed."""

MEMORY = 2**33

PLANTED_NOWHERE = 99
"""Exit code of a child that found no function to put the fault into."""


@dataclass(frozen=True)
class Mutant:
    """One fault: a file, the line and the change."""

    file: str
    line: int
    change: str
    text: str

    @property
    def name(self) -> str:
        """Identifies the fault in the results."""
        return f"{self.file}:{self.line} {self.change}"


_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
}


def mutants(places: Sequence[str]) -> list[Mutant]:
    """List every fault that can be planted in the files that match."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if any(fnmatch(name, place) for place in places) and path.name != "__init__.py":
            text = path.read_text(encoding="utf-8")
            found += [Mutant(name, line, change, new) for line, change, new in _changes(text)]
    return found


def _changes(text: str) -> Iterator[tuple[int, str, str]]:
    tree = ast.parse(text)
    lines = text.splitlines(keepends=True)
    for node in _executable(tree):
        for change, place, new in _replacements(node):
            start, end = _offset(lines, place), _offset(lines, place, end=True)
            before = " ".join(text[start:end].split())
            yield place.lineno, f"{change}: {before[:60]}", text[:start] + new + text[end:]


def _executable(tree: ast.Module) -> Iterator[ast.expr | ast.stmt]:
    """Walk through what functions do; annotations and defaults of modules are left alone."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in function.body:
                for node in ast.walk(statement):
                    if isinstance(node, ast.expr | ast.stmt):
                        yield node


def _replacements(
    node: ast.expr | ast.stmt,
) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    changed = copy.deepcopy(node)
    match changed:
        case ast.Compare(ops=[operator]) if type(operator) in _TURNED:
            changed.ops = [_TURNED[type(operator)]()]
            yield "compares otherwise", node, f"({ast.unparse(changed)})"
        case ast.BinOp(op=operator) if type(operator) in _SWAPPED and not _of_text(changed):
            changed.op = _SWAPPED[type(operator)]()
            yield "calculates otherwise", node, f"({ast.unparse(changed)})"
        case ast.BoolOp(op=operator):
            changed.op = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield "and for or", node, f"({ast.unparse(changed)})"
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield "without its sign", node, f"({ast.unparse(changed.operand)})"
        case ast.Constant(value=bool(value)):
            yield "negated", node, str(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield "one more", node, f"({value + 1!r})"
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield "negated", test, f"(not ({ast.unparse(test)}))"
        case ast.AugAssign() | ast.Expr(value=ast.Call() | ast.Await()):
            yield "left out", node, "pass"


def _of_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr | ast.List | ast.Tuple)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _offset(lines: Sequence[str], node: ast.expr | ast.stmt, *, end: bool = False) -> int:
    line = (node.end_lineno or node.lineno) if end else node.lineno
    column = (node.end_col_offset or 0) if end else node.col_offset
    start = sum(map(len, lines[: line - 1]))
    return start + len(lines[line - 1].encode()[:column].decode())


def write_map(tests: str) -> None:
    """Run the tests once and note which of them run which line of the places."""
    STATE.mkdir(exist_ok=True)
    settings = STATE / "measured.ini"
    places = "".join(f"\n    {SOURCE / place}" for place in PLACES)
    settings.write_text(f"[run]\nparallel = true\ninclude = {places}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-m", tests]
    command += ["--cov", f"--cov-config={settings}", "--cov-context=test", "--cov-report="]
    environment = os.environ | {"COVERAGE_FILE": str(STATE / "coverage")}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    if done.returncode > 1:  # 1: a test failed, the others were noted
        raise SystemExit(done.returncode)


class Coverage:
    """Which tests run a line, those that run the fewest lines first."""

    def __init__(self) -> None:
        from coverage.numbits import numbits_to_nums

        tests: dict[tuple[str, int], set[str]] = defaultdict(set)
        reach: dict[str, int] = defaultdict(int)
        with sqlite3.connect(STATE / "coverage") as connection:
            rows = connection.execute(
                "SELECT path, context, numbits FROM line_bits JOIN file ON file.id = file_id"
                " JOIN context ON context.id = context_id WHERE context != ''"
            )
            for path, context, bits in rows:
                file = path.rpartition("/heedful/")[2]
                test = context.rpartition("|")[0]
                for number in numbits_to_nums(bits):
                    tests[file, number].add(test)
                    reach[test] += 1
        self.tests, self.reach = tests, reach

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests to run on a fault."""
        found = self.tests.get((mutant.file, mutant.line), set())
        return sorted(found, key=lambda test: (self.reach[test], test))[:MOST_TESTS]


class Planting:
    """Runs no test but those of the faults: a plugin of pytest."""

    def __init__(self, chosen: Sequence[Mutant]) -> None:
        self.chosen = chosen
        self.coverage = Coverage()
        self.outcomes: list[str] = []
        self._functions: dict[tuple[str, int, str], list[FunctionType]] = defaultdict(list)
        self._failed = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try each fault in a child of this process."""
        for file in {mutant.file for mutant in self.chosen}:
            with contextlib.suppress(ImportError):  # of an extra that is not installed
                importlib.import_module(f"heedful.{file.removesuffix('.py').replace('/', '.')}")
        gc.unfreeze()
        with warnings.catch_warnings(action="ignore"):  # some libraries' objects warn of a look
            functions = [each for each in gc.get_objects() if isinstance(each, FunctionType)]
        for each in functions:
            self._functions[_place(each.__code__)].append(each)
        gc.freeze()
        items = {item.nodeid: item for item in session.items}
        for mutant in self.chosen:
            names = [name for name in self.coverage.of(mutant) if name in items]
            found = self._try(mutant, [items[name] for name in names])
            self.outcomes.append(found)
            print(f"{found:>9}  {mutant.name}", file=sys.__stderr__)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember that a test has failed."""
        self._failed = self._failed or report.failed

    def _try(self, mutant: Mutant, items: Sequence[pytest.Item]) -> str:
        if not items:
            return "not run"
        child = os.fork()
        if child == 0:
            try:
                os._exit(self._notice(mutant, items))
            except BaseException as error:  # noqa: BLE001 - nothing of the child may go on
                print(f"{mutant.name}: {error!r}", file=sys.__stderr__)
                os._exit(1)
        ends = time.monotonic() + SECONDS
        while time.monotonic() < ends:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                codes = {0: "survived", PLANTED_NOWHERE: "unplanted"}
                return codes.get(os.waitstatus_to_exitcode(status), "caught")
            time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "caught"

    def _notice(self, mutant: Mutant, items: Sequence[pytest.Item]) -> int:
        """Plant the fault in this process and run the tests; return whether one has failed."""
        planted = 0
        for code in _functions_of(compile(mutant.text, str(SOURCE / mutant.file), "exec")):
            for function in self._functions[_place(code)]:
                if function.__code__ != code:
                    try:
                        function.__code__ = code
                    except ValueError:  # it uses other names of the function around it
                        continue
                    planted += 1
        if not planted:
            return PLANTED_NOWHERE
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for item, after in zip(items, [*items[1:], None], strict=True):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
            if self._failed:
                return 1
        return 0


def _place(code: CodeType) -> tuple[str, int, str]:
    return code.co_filename, code.co_firstlineno, code.co_qualname


def _functions_of(code: CodeType) -> Iterator[CodeType]:
    """Walk through the functions of a module and of its classes; those within come with them."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            is_class = not constant.co_flags & inspect.CO_NEWLOCALS
            yield from _functions_of(constant) if is_class else (constant,)


def main() -> None:
    """Plant the faults and print what survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--map", action="store_true", help="run the tests and note what they run")
    parser.add_argument("--tests", default=UNIT, metavar="MARKERS")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=PLACES, metavar="PATTERN")
    options = parser.parse_args()
    if options.map:
        write_map(options.tests)
        return
    every = mutants(options.only)
    chosen = random.Random(options.seed).sample(every, min(options.count, len(every)))
    os.chdir(ROOT)
    planting = Planting(chosen)
    words = ["-q", "-m", options.tests, "-p", "no:cacheprovider"]
    pytest.main([*words, f"--basetemp={STATE / 'temporary'}"], plugins=[planting])
    caught = planting.outcomes.count("caught")
    for mutant, what in zip(chosen, planting.outcomes, strict=True):
        if what != "caught":
            print(f"{what:>9}  {mutant.name}")
    print(f"{caught} of {len(chosen)} caught, of {len(every)} possible faults")


if __name__ == "__main__":
    main()
