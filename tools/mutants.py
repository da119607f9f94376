"""Plant faults in the code, one at a time, and see whether the tests notice.

python tools/mutants.py --map               # run README's tests, note which of them runs which line
python tools/mutants.py                     # 200 faults; the same seed and source give the same
python tools/mutants.py --only "rewards/*"  # faults of some files

A fault is one change of one expression: a comparison turned, a sign or a bound moved, `and` for
`or`, a condition negated, a statement left out. It is planted in a copy of the package. The tests
that run its line are run, those that run least of the code first, until one fails. A fault that
none notices survives, and is printed with its place. Results are appended as they come, so a run
that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "heedful"
STATE = ROOT / ".mutants"

PLACES = (
    "metrics/*.py",
    "judges/prompts/*.py",
    "engine/store*.py",
    "engine/budget.py",
    "engine/cost.py",
    "engine/call_cache.py",
    "rewards/*.py",
    "cli/gates.py",
)
"""Where a fault costs a verdict, a number, a row or money."""

FIRST_TESTS = 40
"""Tests tried on a fault at once: most faults are noticed by those that run least."""

MOST_TESTS = 400
"""Tests tried on a fault in all."""

SECONDS = 240
"""Time for the tests of one fault; one that hangs is noticed."""


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


def write_map(jobs: int) -> None:
    """Run README's tests once and note which tests run which line of the places."""
    STATE.mkdir(exist_ok=True)
    for old in STATE.glob("coverage*"):
        old.unlink()
    settings = STATE / "measured.ini"
    places = "".join(f"\n    {SOURCE / place}" for place in PLACES)
    settings.write_text(f"[run]\nparallel = true\ninclude = {places}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-m", "not heavy"]
    command += ["-n", str(jobs), "--dist", "worksteal"] if jobs > 1 else []
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


def try_one(mutant: Mutant, tests: Sequence[str]) -> str:
    """Return what became of a fault: ``caught``, ``survived`` or ``not run``."""
    if not tests:
        return "not run"
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        package = Path(folder) / "heedful"
        shutil.copytree(SOURCE, package)  # compiled files too: only one is compiled again
        (package / mutant.file).write_text(mutant.text, encoding="utf-8")
        for some in tests[:FIRST_TESTS], tests[FIRST_TESTS:]:
            if some and not _pass(some, Path(folder)):
                return "caught"
    return "survived"


def _pass(tests: Sequence[str], folder: Path) -> bool:
    chosen = folder / "tests.txt"
    chosen.write_text("\n".join(tests), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not heavy", f"@{chosen}"]
    command += ["-p", "no:cacheprovider", f"--basetemp={folder / 'temporary'}"]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main() -> None:
    """Plant the faults and print what survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--map", action="store_true", help="run the tests and note what they run")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", nargs="*", default=PLACES, metavar="PATTERN")
    options = parser.parse_args()
    if options.map:
        write_map(options.jobs)
        return
    every = mutants(options.only)
    chosen = random.Random(options.seed).sample(every, min(options.count, len(every)))
    results = STATE / "results.jsonl"
    known = {}
    if results.exists():
        lines = map(json.loads, results.read_text(encoding="utf-8").splitlines())
        known = {(line["name"], line["tests"]): line["outcome"] for line in lines}
    coverage = Coverage()

    def outcome(mutant: Mutant) -> tuple[Mutant, str]:
        tests = coverage.of(mutant)
        key = mutant.name, len(tests)
        if key not in known:
            known[key] = try_one(mutant, tests)
            line = {"name": mutant.name, "tests": len(tests), "outcome": known[key]}
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            print(f"{known[key]:>9}  {mutant.name}", flush=True)
        return mutant, known[key]

    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(outcome, chosen))
    caught = sum(what == "caught" for _, what in outcomes)
    for mutant, what in outcomes:
        if what != "caught":
            print(f"{what:>9}  {mutant.name}")
    print(f"{caught} of {len(outcomes)} caught, of {len(every)} possible faults")


if __name__ == "__main__":
    main()
