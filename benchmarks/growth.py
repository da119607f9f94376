"""Processor time and peak memory of judging by the number of rows, as a table and a plot.

    python benchmarks/growth.py [--rows 1000 10000 100000] [--plot FOLDER]

Each size is judged in a process of its own, from start to summary, by code (rows as in memory.py),
by verdicts that the file holds (the same rows with judgments), and by a model that answers at once
(AdvancedIF's records as in judging_throughput.py, 256 calls in flight), so what is measured is
heedful alone. ``short`` is the same with 20 words of prompt and 30 of response, so that a million
rows fit on a small disk. FOLDER gets ``growth.svg`` and ``growth-dark.svg`` (needs
``heedful[charts]``).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judging_throughput import CONSTRAINTS, IN_FLIGHT, records
from memory import write_rows

from heedful import evaluate
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models.base import Completion, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Message
    from heedful.models.base import Sampling

KINDS = {
    "rules": "code",
    "recorded": "recorded verdicts",
    "model": "a model that answers at once",
    "short": "the same model, short rows",
}
PANELS = {"cpu": "seconds of CPU", "peak": "peak memory, MB"}
THEMES = {
    "growth.svg": ("#ffffff", "#1b1f24", "#dfe3e7", ["#0a6aa8", "#b9470b", "#00805c", "#8a3ffc"]),
    "growth-dark.svg": (
        "#0d1117",
        "#e6edf3",
        "#30363d",
        ["#58a6e0", "#f0883e", "#3fb98c", "#b392f0"],
    ),
}
"""Paper, ink, lines, series."""


class AtOnce:
    """A model that says of each constraint that it is met; it keeps nothing.

    Args:
        wait_s: seconds until it answers, which cost no processor time.
    """

    name = "at-once"

    def __init__(self, wait_s: float = 0.0) -> None:
        self.config = {"model": self.name}
        self._wait_s = wait_s
        self._text = "\n\n".join(
            f"<c{k}>\nThe response does what constraint {k} asks for.\nVERDICT: MET\n</c{k}>"
            for k in range(1, CONSTRAINTS + 1)
        )

    async def generate(
        self, messages: Sequence[Message], sampling: Sampling, *, sample: int = 0
    ) -> Completion:
        """Answer."""
        del messages, sampling, sample
        if self._wait_s:
            await asyncio.sleep(self._wait_s)
        usage = Usage(prompt_tokens=600, completion_tokens=90)
        return Completion(text=self._text, finish_reason="stop", usage=usage, model=self.name)

    async def close(self) -> None:
        """Close nothing."""


def write(kind: str, path: Path, count: int) -> None:
    """Write the rows of a kind."""
    if kind in {"model", "short"}:
        made = records(count) if kind == "model" else records(count, prompt=20, response=30)
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in made)
        return
    write_rows(path, count)
    if kind == "recorded":
        plain = path.with_suffix(".plain")
        path.rename(plain)
        with plain.open(encoding="utf-8") as source, path.open("w", encoding="utf-8") as file:
            for line in source:
                row = json.loads(line)
                row["judgments"] = [
                    {"constraint": each["text"], "status": "met"} for each in row["checklist"]
                ]
                file.write(json.dumps(row) + "\n")
        plain.unlink()


def judge(kind: str, path: Path, run: Path) -> None:
    """Judge a file in this process, and print what that took."""
    judges = {"rules": "rules", "recorded": "recorded"}
    by = judges.get(kind) or Checklist(AtOnce(), prompts.make("plain"))
    begun = time.perf_counter()
    summary = evaluate(path, judge=by, run=run, concurrency=IN_FLIGHT).summary
    used = resource.getrusage(resource.RUSAGE_SELF)
    unit = 1 if sys.platform == "darwin" else 1024
    took = {
        "wall": time.perf_counter() - begun,
        "cpu": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss * unit / 1e6,
        "decided": summary["coverage"],
        "bytes": sum(file.stat().st_size for file in run.iterdir()),
    }
    print(json.dumps(took))


def measured(kind: str, count: int) -> dict[str, Any]:
    """Judge so many rows in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        write(kind, path, count)
        command = [sys.executable, __file__, "--judge", kind, str(path), f"{folder}/run"]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {"judge": KINDS[kind], "rows": count, **json.loads(said)}


def plot(points: list[dict[str, Any]], folder: Path) -> None:
    """Draw both panels, on light and on dark paper."""
    import vl_convert

    folder.mkdir(parents=True, exist_ok=True)
    for name, theme in THEMES.items():
        (folder / name).write_text(str(vl_convert.vegalite_to_svg(drawing(points, theme))))


def drawing(points: list[dict[str, Any]], theme: tuple[str, str, str, list[str]]) -> dict[str, Any]:
    """Lay out the panels, both axes logarithmic, as Vega-Lite."""
    paper, ink, lines, series = theme
    sizes = sorted({point["rows"] for point in points})
    axis: Mapping[str, Any] = {"labelColor": ink, "titleColor": ink, "gridColor": lines}
    colour = {
        "field": "judge",
        "title": None,
        "scale": {"domain": list(KINDS.values()), "range": series},
        "legend": {"labelColor": ink, "orient": "bottom", "labelLimit": 300},
    }
    panels = [
        {
            "width": 270,
            "height": 230,
            "mark": {"type": "line", "point": {"size": 60}, "strokeWidth": 2},
            "encoding": {
                "x": {
                    "field": "rows",
                    "type": "quantitative",
                    "scale": {"type": "log"},
                    "axis": {**axis, "values": sizes, "format": ",d", "title": "rows"},
                },
                "y": {
                    "field": field,
                    "type": "quantitative",
                    "scale": {"type": "log", **({"domain": [10, 1000]} if field == "peak" else {})},
                    "axis": {**axis, "title": title, "tickCount": 4},
                },
                "color": colour,
                "shape": {**colour, "scale": {"domain": list(KINDS.values())}},
            },
        }
        for field, title in PANELS.items()
    ]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": paper,
        "data": {"values": points},
        "config": {"font": "sans-serif", "view": {"stroke": lines}, "axis": {"domainColor": ink}},
        "hconcat": panels,
    }


def main() -> None:
    """Measure all sizes; print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--plot", type=Path, help="a folder for the plot")
    parser.add_argument("--points", type=Path, help="a file to keep points in, and go on from")
    parser.add_argument("--judge", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.judge:
        kind, path, run = options.judge
        judge(kind, Path(path), Path(run))
        return
    points: list[dict[str, Any]] = []
    if options.points and options.points.exists():
        points = [json.loads(line) for line in options.points.read_text().splitlines()]
    print("| judged by | rows | CPU, s | µs of CPU a row | peak memory, MB |", flush=True)
    print("| --- | ---: | ---: | ---: | ---: |")
    for kind in options.kinds:
        for count in options.rows:
            point = measured(kind, count)
            points.append(point)
            print(
                f"| {KINDS[kind]} | {count:,} | {point['cpu']:.2f} "
                f"| {1e6 * point['cpu'] / count:,.0f} | {point['peak']:.0f} |",
                flush=True,
            )
            if options.points:
                options.points.write_text("".join(json.dumps(each) + "\n" for each in points))
    if options.plot:
        plot(points, options.plot)


if __name__ == "__main__":
    main()
