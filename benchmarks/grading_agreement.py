"""Verdicts of the graders on real answers, against people's.

    python benchmarks/grading_agreement.py --data DIR [--verdicts FILE] [--against FILE] [--list]

DIR holds ``answers/`` (answers with adjudicated truth), ``realcritic/`` (four sets; the truth is
the shipped label, or the adjudicated one where there is one) and ``peer_suites/`` (cases of other
projects' test suites). Prints for each source how many verdicts are right, how many wrong answers
were accepted, right ones rejected, and right ones left undecided. ``--verdicts`` writes the verdict
on each row, ``--against`` prints the rows whose verdict differs from such a file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from heedful.bench.grading.graders import Grader
from heedful.bench.grading.math_pool import MathPool
from heedful.bench.grading.problems import read_problems
from heedful.bench.realcritic.critic import RealCriticItem
from heedful.bench.realcritic.metrics import adjudication_of
from heedful.core.problems import Problem, Solution

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful.bench.grading.graders import Grade, Reading

OUTCOMES = ("right", "wrong accept", "wrong reject", "undecided true", "undecided false")


class Row(NamedTuple):
    """An answer and whether it is right."""

    source: str
    id: str
    problem: Problem
    solution: Solution
    reading: Reading
    truth: bool | None
    shipped: bool | None = None


def fresh(folder: Path) -> Iterator[Row]:
    """Read answers of many sources with adjudicated truth."""
    for number, line in enumerate((folder / "answers.jsonl").open(encoding="utf-8")):
        row = json.loads(line)
        problem = Problem(
            id=str(number),
            question=row["question"] or "?",
            kind=row["kind"],
            answers=tuple(row["gold"]),
            choices=row["choices"],
        )
        reading: Reading = "pred" if row["pair"] else "solution"
        solution = Solution(text=row["response"], answer=row["response"])
        source = f"fresh {row['kind']}: {row['source']}"
        yield Row(source, f"answers {number}", problem, solution, reading, row["truth"])


def critic_sets(folder: Path) -> Iterator[Row]:
    """Read sets of RealCritic; the truth is a person's, else the shipped label."""
    for path in sorted(folder.glob("*/*.jsonl")):
        if path.parent.name not in {"answers", "realcritic"} or not _is_set(path):
            continue
        beside = path.with_name(f"{path.stem}-truth.jsonl")
        truths = {}
        if beside.exists():
            truths = {
                row["row"]: row["truth"]
                for row in map(json.loads, beside.read_text(encoding="utf-8").splitlines())
            }
        for number, attempt in enumerate(read_problems(path, "realcritic")):
            if attempt.problem is None or attempt.solution is None:
                continue
            label = attempt.solution.label
            item = RealCriticItem(set=path.stem, problem=attempt.problem, solution=attempt.solution)
            verdict = adjudication_of(item)
            truth = truths[number] if truths else verdict.correct if verdict else label
            name = f"{path.stem} {number}"
            yield Row(path.stem, name, attempt.problem, attempt.solution, "solution", truth, label)


def _is_set(path: Path) -> bool:
    return path.stem.partition("realcritic-")[2] != "" or path.parent.name == "realcritic"


def suites(folder: Path) -> Iterator[Row]:
    """Read the cases of other projects' suites."""
    for name in ("math_verify", "math_other"):
        lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        for number, row in enumerate(map(json.loads, lines)):
            raw = row.get("pred_raw", row["answer"])
            reading: Reading = "pred" if raw == row["answer"] else "solution"
            problem = Problem(id=str(number), question="?", kind="open", answers=(row["gold"],))
            solution = Solution(text=raw, answer=row["answer"])
            yield Row("suites", f"{name} {number}", problem, solution, reading, row["expected"])


def outcome(row: Row, grade: Grade) -> str:
    """Name what a verdict is; a row whose truth is arguable has none."""
    if row.truth is None:
        return "arguable"
    if grade.correct is None:
        return f"undecided {str(row.truth).lower()}"
    if grade.correct is row.truth:
        return "right"
    return "wrong accept" if grade.correct else "wrong reject"


async def graded(rows: list[Row], workers: int | None) -> list[Grade]:
    """Grade all rows, several at a time."""
    async with MathPool(workers) as pool:
        grader = Grader(pool)
        slots = asyncio.Semaphore(4 * pool.workers)

        async def one(row: Row) -> Grade:
            async with slots:
                return await grader.grade(row.problem, row.solution, row.reading)

        return await asyncio.gather(*map(one, rows))


def table(rows: list[Row], grades: list[Grade]) -> None:
    """Print the outcomes by source, and in all."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row, grade in zip(rows, grades, strict=True):
        kind = "fresh" if row.source.startswith("fresh") else row.source
        groups = [
            row.source,
            *([kind, kind + row.source.partition(":")[0][5:]] if kind == "fresh" else []),
        ]
        for group in dict.fromkeys(groups):
            counts[group][outcome(row, grade)] += 1
            if row.shipped is not None and grade.correct is not None:
                counts[group]["labelled"] += 1
                counts[group]["as labelled"] += row.shipped is grade.correct
    print(f"{'source':36}", *(f"{name:>15}" for name in OUTCOMES), "   as labelled")
    for group, counted in counts.items():
        cells = [f"{counted[name]:15,}" for name in OUTCOMES]
        labels = (
            f"   {counted['as labelled']} / {counted['labelled']}" if counted["labelled"] else ""
        )
        print(f"{group:36}", *cells, labels)


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it has ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> None:
    """Grade, print, and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of data")
    parser.add_argument("--verdicts", type=Path, help="write the verdict on each row to this file")
    parser.add_argument("--against", type=Path, help="compare with the verdicts in this file")
    parser.add_argument("--list", action="store_true", help="list the rows that aren't right")
    parser.add_argument("--workers", type=int, help="processes that compare")
    arguments = parser.parse_args()
    rows = [
        *fresh(arguments.data / "answers"),
        *critic_sets(arguments.data),
        *suites(arguments.data / "peer_suites"),
    ]
    started = _cpu_seconds()
    grades = asyncio.run(graded(rows, arguments.workers))
    seconds = _cpu_seconds() - started
    table(rows, grades)
    print(f"{len(rows):,} rows in {seconds:.1f} s of CPU, {len(rows) / seconds:.0f} a second")
    before = {}
    if arguments.against:
        lines = arguments.against.read_text(encoding="utf-8").splitlines()
        before = {row["id"]: row["outcome"] for row in map(json.loads, lines)}
    for row, grade in zip(rows, grades, strict=True):
        now = outcome(row, grade)
        shown = f"{row.id}: gold {row.problem.answers[0]!r}, {grade.extracted!r} ({grade.reason})"
        if before and before[row.id] != now:
            print(f"{before[row.id]} -> {now}: {shown}")
        elif arguments.list and now not in {"right", "arguable"}:
            print(f"{now}: {shown}")
    if arguments.verdicts:
        with arguments.verdicts.open("w", encoding="utf-8") as file:
            for row, grade in zip(rows, grades, strict=True):
                verdict = {
                    "id": row.id,
                    "outcome": outcome(row, grade),
                    "extracted": grade.extracted,
                    "reason": grade.reason,
                }
                file.write(json.dumps(verdict, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
