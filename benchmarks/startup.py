"""How long a user waits before anything happens: medians of whole processes.

    python benchmarks/startup.py

Run it with the interpreter of an environment that heedful is installed in (installed, not in
development mode: an installer compiles modules once). Prints the median, fastest and slowest of ten
runs each, after one that is not counted, with bare Python beside them, and the median CPU time,
which depends less on what else the machine does. The ten rows are checked by
code and need no language detection, whose profiles take about 0.1 s to load.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 10

PROMPTS = [
    {
        "id": f"{number}",
        "prompt": "Describe a river in at most 30 words, without commas, and end with THE END.",
        "checklist": [
            {
                "text": "At most 30 words.",
                "check": {
                    "id": "length_constraints:number_words",
                    "args": {"num_words": 31, "relation": "less than"},
                },
            },
            {"text": "No commas.", "check": "punctuation:no_comma"},
            {
                "text": "Ends with THE END.",
                "check": {"id": "startend:end_checker", "args": {"end_phrase": "THE END"}},
            },
        ],
        "response": "The river bends, widens and slows " * (number % 4 + 1) + "THE END",
    }
    for number in range(10)
]


ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}
"""Without what would have modules compiled again by each process."""


def milliseconds(command: list[str]) -> tuple[list[float], list[float]]:
    """Time a command RUNS times by clock and CPU, after once to warm the caches."""
    times, cpu = [], []
    for _ in range(RUNS + 1):
        started, before = time.perf_counter(), children()
        subprocess.run(
            command,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
        )
        times.append(1000 * (time.perf_counter() - started))
        cpu.append(1000 * (children() - before))
    return times[1:], cpu[1:]


def children() -> float:
    """Return the seconds of CPU that all processes took that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Time the commands and print a line for each."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "ten.jsonl"
        rows.write_text("".join(json.dumps(row) + "\n" for row in PROMPTS), encoding="utf-8")
        # A run of its own each time: a resumed run would have nothing to do.
        script = (
            "import os, sys\n"
            "from heedful.cli import main\n"
            "main(['evaluate', sys.argv[1], '--run', f'{sys.argv[2]}/{os.getpid()}'])"
        )
        commands = {
            "bare Python": [sys.executable, "-c", "pass"],
            "import heedful": [sys.executable, "-c", "import heedful"],
            "heedful --help": [sys.executable, "-m", "heedful", "--help"],
            "heedful evaluate, ten rows": [sys.executable, "-c", script, str(rows), folder],
        }
        for name, command in commands.items():
            times, cpu = milliseconds(command)
            low, high = min(times), max(times)
            median = statistics.median(times)
            cpu_median = statistics.median(cpu)
            print(f"{name:28} {median:6.0f} ms  ({low:.0f}–{high:.0f}), CPU {cpu_median:.0f}")


if __name__ == "__main__":
    main()
