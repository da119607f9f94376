"""What the scripts of this folder share; standard library only, as each has its own environment."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One row: what was asked, what was answered, and the criteria."""

    id: str
    prompt: str
    response: str
    rubrics: list[str]


def arguments() -> tuple[Path, str, int]:
    """Return the rows' file, the server's URL and how many calls may be in flight."""
    path, url, in_flight = sys.argv[1:]
    return Path(path), url, int(in_flight)


def read(path: Path) -> list[Row]:
    """Read AdvancedIF's records."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        record: dict[str, Any] = json.loads(line)
        turns = json.loads(record["conversation_history"])
        rubrics = json.loads(json.loads(record["prompt_metadata"])["rubrics"])
        rows.append(Row(record["key"], turns[-1]["content"], record["response"], rubrics))
    return rows


def question(row: Row) -> str:
    """Ask for all criteria of a row in one prompt."""
    criteria = "\n".join(f"{k}. {text}" for k, text in enumerate(row.rubrics, 1))
    return (
        f"Judge the response to the prompt by each criterion. Answer in JSON.\n\n# Prompt\n"
        f"{row.prompt}\n\n# Response\n{row.response}\n\n# Criteria\n{criteria}"
    )


class Stopwatch:
    """Measures from when it is made, by the clock and by the CPU time of this process."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def report(self, met: int) -> None:
        """Print the times, and how many criteria or rows were met."""
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        print(json.dumps({"seconds": wall, "cpu": cpu, "met": met}))
