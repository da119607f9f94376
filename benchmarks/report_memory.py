"""Time and peak memory of ``heedful report`` on a run of many judgments.

python benchmarks/report_memory.py [ROWS]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compare_memory import CONSTRAINTS, fill

from heedful.engine.store import Store
from heedful.jobs.run_counts import summarise


def measure(rows: int) -> None:
    """Report on a run of so many rows, and print what it took."""
    with tempfile.TemporaryDirectory() as folder:
        run, page = Path(folder) / "run", Path(folder) / "report.html"
        fill(run, rows)
        with Store(run) as store:
            summarise(store, "strict", 0, {"heedful": "", "input": None, "judge": "made up"})
        command = [sys.executable, "-m", "heedful", "report", str(run), "-o", str(page)]
        before = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - before
        size = page.stat().st_size / 1000
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    judgments = f"{rows * CONSTRAINTS:>9,} judgments"
    print(f"{judgments}: {seconds:.1f} s, peak {used.ru_maxrss / 1024:.0f} MB, file {size:,.0f} kB")


if __name__ == "__main__":
    for rows in [int(sys.argv[1])] if len(sys.argv) > 1 else (2_000, 200_000):
        measure(rows)
