"""What adding runs up costs: processor time a row, and peak memory.

    python benchmarks/merging.py [--rows 1000] [--files 4] [--code]

Files of so many rows are judged apart, then merged in a process of its own: only the summary, and
the whole run. Rows and model are growth.py's; with ``--code`` the rows are memory.py's, judged by
code.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from growth import judge, write

from heedful import merge


def merged(runs: list[str], whole: str | None) -> None:
    """Merge in this process; print the seconds and the megabytes."""
    summary = merge(*runs, run=whole)
    used = resource.getrusage(resource.RUSAGE_SELF)
    unit = 1 if sys.platform == "darwin" else 1024
    rows = summary["rows"]["read"]
    seconds = used.ru_utime + used.ru_stime
    what = "summary" if whole is None else "whole run"
    print(
        f"{what}: {rows:,} rows, {1e3 * seconds / rows:.3f} ms of CPU a row, start included; "
        f"peak {used.ru_maxrss * unit / 1e6:.0f} MB"
    )


def main() -> None:
    """Judge the files, and merge their runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000, help="of each file")
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--code", action="store_true")
    parser.add_argument("--merge", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.merge:
        *runs, whole = options.merge
        merged(runs, None if whole == "-" else whole)
        return
    kind = "rules" if options.code else "model"
    with tempfile.TemporaryDirectory() as folder:
        runs = [f"{folder}/run-{number}" for number in range(options.files)]
        begun = time.process_time()
        for number, run in enumerate(runs):
            path = Path(folder) / f"part-{number}.jsonl"
            write(kind, path, options.rows)
            judge(kind, path, Path(run))
        print(f"written and judged in {time.process_time() - begun:.1f} s of CPU")
        for whole in ("-", f"{folder}/whole"):
            subprocess.run([sys.executable, __file__, "--merge", *runs, whole], check=True)


if __name__ == "__main__":
    main()
