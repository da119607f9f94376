"""Compare RealCritic's labels, and our grades, with the labels that people adjudicated.

    python benchmarks/realcritic_labels.py --data DIR

DIR holds RealCritic's files, one a set.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path

from heedful.bench.grading.graders import grade_files
from heedful.bench.grading.problems import read_problems
from heedful.bench.realcritic.critic import RealCriticItem
from heedful.bench.realcritic.metrics import adjudication_of


def main() -> None:
    """Print how many labels and grades are as adjudicated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    files = sorted(parser.parse_args().data.glob("*.jsonl"))
    truths: dict[tuple[str, int], bool | None] = {}
    for path in files:
        for row in read_problems(path):
            if row.problem is None or row.solution is None:
                continue
            item = RealCriticItem(set=path.stem, problem=row.problem, solution=row.solution)
            verdict = adjudication_of(item)
            truth = verdict.correct if verdict else row.solution.label
            truths[path.stem, row.line] = truth
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "grades.jsonl"
        asyncio.run(grade_files(files, output))
        grades = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    for name in ("label", "correct"):
        decided = [row for row in grades if row[name] is not None]
        right = sum(row[name] is truths[row["set"], row["line"]] for row in decided)
        print(f"{name}: {right:,} of {len(decided):,} decided, {len(grades):,} items")


if __name__ == "__main__":
    main()
