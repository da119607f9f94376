"""Documents on runs that are not of ``evaluate``: tables and charts."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from heedful.core.errors import RunError
from heedful.engine.saved_run import SUMMARY, SavedRun
from heedful.reporting.chart import Chart
from heedful.reporting.row_charts import Estimate, estimates_chart

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from heedful.pages.viewer.runs import Run
    from heedful.reporting.document import Document

CACHED_DOCUMENTS = 16
"""Runs whose documents are cached."""

LEVELS = ("constraints", "rows")
"""Levels of a filter's chart; judgments grow few by design, as one explanation is chosen."""


def document_of(run: Run) -> Document | None:
    """Return the document on a run; ``None`` where it is not finished, or has nothing to show."""
    if run.command not in MAKERS or run.summary is None:
        return None
    return _cached_document(
        run.directory, run.command, (run.directory / SUMMARY).stat().st_mtime_ns
    )


@lru_cache(maxsize=CACHED_DOCUMENTS)
def _cached_document(directory: Path, command: str, _: int) -> Document:
    """Make it once, and again after the summary is rewritten."""

    def make() -> Document:
        with SavedRun(directory) as run:
            return MAKERS[command](run)

    return _reading(directory, make)


def report_of(folder: Path) -> Document:
    """Return what a benchmark's report, the folder of a ``report.json``, shows."""

    def read() -> Document:
        from heedful.bench.criticbench.charts import document as criticbench
        from heedful.bench.realcritic.report import document as realcritic

        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        return criticbench(report) if "self_consistency" in report else realcritic(report)

    return _reading(folder, read)


def _reading(folder: Path, make: Callable[[], Document]) -> Document:
    try:
        document = make()
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise RunError(
            f"its results cannot be read ({type(error).__name__}: {error})",
            where=str(folder),
            hint="make it again with this heedful: the files are of another version, or damaged",
        ) from error
    return document


def _criticbench(run: SavedRun) -> Document:
    from heedful.bench.criticbench.charts import document

    return document(run.summary)


def _criticbench_build(run: SavedRun) -> Document:
    from heedful.bench.criticbench.tables import build_document

    return build_document(run.summary)


def _realcritic(run: SavedRun) -> Document:
    from heedful.bench.realcritic.charts import flow_charts
    from heedful.bench.realcritic.metrics import numbers
    from heedful.bench.realcritic.report import document
    from heedful.bench.realcritic.run import Results

    rows = list(Results(run, run.about))
    return document(numbers(rows, "strict"), list(flow_charts(rows, "strict")))


def _funnel(run: SavedRun) -> Document:
    from heedful.critic.data.funnel import TITLES, document

    path = run.directory / "funnel.json"
    summary = {**run.summary, "funnel": json.loads(path.read_text(encoding="utf-8"))}
    stages = summary["funnel"]["stages"]
    left = [
        Estimate(
            TITLES[stage["stage"]],
            stage["out"][level] / before if (before := stages[0]["in"][level]) else None,
            counts=f"{stage['in'][level]:,} → {stage['out'][level]:,}",
            series=level,
        )
        for stage in stages
        for level in LEVELS
    ]
    title = "The shares of constraints and of rows left after each stage"
    chart = Chart("left", title, estimates_chart(left, "left, %", order=LEVELS))
    laid_out = document(summary)
    return replace(
        laid_out,
        title="Critique data: what the filter let through",
        parts=[chart, *laid_out.parts],
    )


MAKERS: dict[str, Callable[[SavedRun], Document]] = {
    "bench criticbench run": _criticbench,
    "bench criticbench build": _criticbench_build,
    "bench realcritic run": _realcritic,
    "critic filter": _funnel,
}
"""Makers of documents, by the command that made the run."""
