"""How fast RealCritic's sets are graded, and how far the grades agree with the shipped labels.

    python benchmarks/grading_speed.py --data DIR

DIR holds ``realcritic/``. Each file is graded by the command line, in a new process, from the given
answers (``pred``) and from the solutions' texts. Prints seconds of CPU, the start of the workers
included, and the agreement with the labels over the decided items; with ``--list``, each open item
on which grade and label differ.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def graded(files: list[Path], reading: str, workers: int | None) -> tuple[list[Any], float]:
    """Grade files; return the items' grades and the seconds of CPU that it took."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "graded.jsonl"
        command = [sys.executable, "-m", "heedful", "bench", "realcritic", "grade"]
        command += [*map(str, files), "--from", reading, "-o", str(output), "-q"]
        if workers is not None:
            command += ["--workers", str(workers)]
        started = _cpu_seconds()
        subprocess.run(command, check=True)
        seconds = _cpu_seconds() - started
        with output.open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines], seconds


def _cpu_seconds() -> float:
    """Return the CPU time of the processes that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def report(name: str, rows: list[Any], seconds: float) -> None:
    """Print one line of the table."""
    decided = [row for row in rows if row["correct"] is not None]
    agreed = sum(row["correct"] is row["label"] for row in decided)
    print(
        f"  {name:16} {len(rows):5,} items {seconds:6.1f} s {len(rows) / seconds:8,.0f} a second; "
        f"decided {len(decided):,}, as labelled {agreed:,} ({agreed / len(decided):.2%})"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of data")
    parser.add_argument("--workers", type=int, help="processes that compare")
    parser.add_argument("--list", action="store_true", help="list where grade and label differ")
    arguments = parser.parse_args()
    files = sorted((arguments.data / "realcritic").glob("*.jsonl"))
    for reading in ("pred", "solution"):
        print(f"from {reading}:")
        graded_files = {file.stem: graded([file], reading, arguments.workers) for file in files}
        for name, (rows, seconds) in graded_files.items():
            report(name, rows, seconds)
        rows, seconds = graded(files, reading, arguments.workers)
        report("all in one", rows, seconds)
        if arguments.list:
            for row in rows:
                if row["correct"] is not row["label"]:
                    print(f"    {row['set']} {row['id']}: {row['correct']}, label {row['label']}")


if __name__ == "__main__":
    main()
