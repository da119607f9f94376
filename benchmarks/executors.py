"""What each executor costs: rows per second, and processor time a row, by process.

    python benchmarks/executors.py
    python benchmarks/executors.py --at-once 0.05 --executors local processes
    python benchmarks/executors.py --code --executors local processes --rows 2000

Rows and server are those of judging_throughput.py. The executors take turns; each is measured from
the first row that is done, as Ray takes seconds to start, to the end of the results file. Processor
time is that of the run's own process, and that of all others that it has started: workers, and
Ray's own processes. With ``--at-once`` the model is growth.py's, which costs nothing and answers
at once, or after the seconds given. With ``--code`` there is no model: code checks the language,
words, sentences and commas of the responses.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from growth import AtOnce
from judging_throughput import IN_FLIGHT, records, serving

from heedful import evaluate, make_judge
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import OpenAIModel
from heedful.models.limiter import AdaptiveLimiter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful import Judge
    from heedful.models import Model

TICKS = os.sysconf("SC_CLK_TCK")


class Descendants:
    """Adds up the processor time of processes that this one starts, while it lasts."""

    def __init__(self, but: set[int]) -> None:
        self._but = but  # the model's server
        self._seconds: dict[int, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            self._look()

    def _look(self) -> None:
        parents, seconds = {}, {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(fields[1])
            seconds[int(folder.name)] = (int(fields[11]) + int(fields[12])) / TICKS
        ours, added = {os.getpid()}, {os.getpid()}
        while added:
            added = {pid for pid, parent in parents.items() if parent in added} - ours - self._but
            ours |= added
        self._seconds |= {pid: seconds[pid] for pid in ours - {os.getpid()}}

    def seconds(self) -> float:
        """Return the processor seconds until now."""
        self._look()
        return sum(self._seconds.values())

    def stop(self) -> None:
        """Stop looking."""
        self._over.set()
        self._thread.join()


def checked_rows(count: int) -> Iterator[dict[str, Any]]:
    """Make rows whose constraints code decides; most of the time goes into the language."""
    for record in records(count):
        constraints = ["Write in English.", "Use at most 400 words.", "Use at least 3 sentences."]
        yield {
            "id": record["key"],
            "prompt": "Write.",
            "checklist": [*constraints, "No commas."],
            "response": record["response"],
        }


def judge(executor: str, by: Judge, rows: Path, run: Path, others: Descendants) -> list[float]:
    """Judge a file; return seconds by the clock, of this process and of others."""
    begun: list[float] = []

    def now() -> list[float]:
        return [time.perf_counter(), time.process_time(), others.seconds()]

    def first(_: object) -> None:
        if not begun:
            begun.extend(now())

    evaluate(rows, judge=by, run=run, concurrency=IN_FLIGHT, executor=executor, on_progress=first)
    return [after - before for before, after in zip(begun, now(), strict=True)]


def main() -> None:
    """Take turns; print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--executors", nargs="+", default=["local", "processes", "ray"])
    parser.add_argument(
        "--at-once",
        type=float,
        nargs="?",
        const=0.0,
        metavar="SECONDS",
        help="a model that costs nothing, and answers at once or after so many seconds",
    )
    parser.add_argument("--code", action="store_true", help="no model: code decides")
    options = parser.parse_args()
    made = (checked_rows if options.code else records)(options.rows)
    measured: dict[str, list[list[float]]] = {name: [] for name in options.executors}
    with tempfile.TemporaryDirectory() as folder, serving() as url:
        rows = Path(folder) / "rows.jsonl"
        with rows.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in made)
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        for turn in range(options.rounds):
            for name, times in measured.items():
                others = Descendants({*map(int, children)})
                try:
                    limiter = AdaptiveLimiter(IN_FLIGHT)
                    model: Model = OpenAIModel(
                        "bench", base_url=url, api_key="none", limiter=limiter
                    )
                    if options.at_once is not None:
                        model = AtOnce(options.at_once)
                    by: Judge = Checklist(model, prompts.make("plain"))
                    if options.code:
                        by = make_judge("compiled")
                    times.append(judge(name, by, rows, Path(folder) / f"{name}-{turn}", others))
                finally:
                    others.stop()
    for name, times in measured.items():
        clock, own, other = map(statistics.median, zip(*times, strict=True))
        print(
            f"{name}: {options.rows / clock:.0f} rows/s; processor time a row: "
            f"{1e3 * own / options.rows:.2f} ms here, {1e3 * other / options.rows:.2f} ms elsewhere"
        )


if __name__ == "__main__":
    main()
