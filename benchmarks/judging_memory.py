"""Peak memory of judging with a model, on small and large files.

    python benchmarks/judging_memory.py

Judges 10,000 and 200,000 rows of five constraints with ``heedful evaluate``, each in a process of
its own, against the server of ``judging_throughput.py`` on the loopback with 256 calls in flight,
and prints the peak resident memory of both and the difference.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from judging_throughput import IN_FLIGHT, records, serving
from memory import measure


def main() -> None:
    """Measure both sizes and print the difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs=2, default=(10_000, 200_000))
    options = parser.parse_args()
    peaks = []
    with tempfile.TemporaryDirectory() as folder, serving() as url:
        flags = f"--judge checklist --model bench --base-url {url} --max-concurrency {IN_FLIGHT}"
        for count in options.rows:
            path = Path(folder) / f"{count}.jsonl"
            with path.open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(record) + "\n" for record in records(count))
            peak, seconds = measure(path, Path(folder) / f"run-{count}", flags.split())
            peaks.append(peak)
            print(f"{count:>9,} rows: peak {peak:6.1f} MB, {seconds:6.1f} s")
    print(f"difference: {peaks[1] - peaks[0]:.1f} MB")


if __name__ == "__main__":
    main()
