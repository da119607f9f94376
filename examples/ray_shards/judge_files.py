"""Judge many files on a Ray cluster, each in a task of its own, and add the runs up.

    RAY_ADDRESS=10.0.0.1:6379 python judge_files.py /shared/shards/*.parquet --runs /shared/runs \
        --model critic --base-url http://critic:8000/v1

The tasks share nothing but the model, and RUNS must be on a disk that all nodes see. A task whose
worker or node dies is begun again elsewhere, and goes on from what its run holds.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import ray

from heedful import evaluate, merge

RETRIES = 3


def judge(file: str, run: str, options: dict[str, Any]) -> str:
    """Judge a file in this process; its run."""
    evaluate(file, run=run, **options)
    return run


def judge_all(files: list[Path], runs: Path, **options: Any) -> dict[str, Any]:
    """Judge files side by side, as many as the cluster has CPUs; the summary of all."""
    task = ray.remote(max_retries=RETRIES)(judge)
    tasks = [
        task.remote(str(file), str(runs / f"{number:05}-{file.stem}"), options)
        for number, file in enumerate(files)
    ]
    return merge(*ray.get(tasks), run=runs / "whole")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--runs", type=Path, required=True, help="a new folder")
    parser.add_argument("--judge", default="rules,compiled,checklist")
    parser.add_argument("--model", required=True)
    parser.add_argument("--base-url")
    options = parser.parse_args()
    summary = judge_all(
        [path.resolve() for path in options.files],
        options.runs.resolve(),
        judge=options.judge,
        model=options.model,
        base_url=options.base_url,
    )
    print(summary["rows"], summary["verdicts"])


if __name__ == "__main__":
    main()
