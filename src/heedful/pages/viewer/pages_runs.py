"""The list of runs, and the page of one: its results, its progress."""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from heedful.core.errors import HeedfulError
from heedful.core.text import amount, dollars
from heedful.jobs.evaluate_tables import notes, tables
from heedful.pages.viewer.bench import document_of, report_of
from heedful.pages.viewer.live import changed
from heedful.reporting.metric_names import label, ranked
from heedful.reporting.notation import bounds, cells, cost_line, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from starlette.requests import Request

    from heedful.pages.viewer.finding import ViewedItem
    from heedful.pages.viewer.live import LiveProgress
    from heedful.pages.viewer.runs import Run
    from heedful.pages.viewer.state import Viewer

HEADLINES, FIGURES = 2, 3
"""Rates of a run that the list shows, and that its own page begins with."""

UNKNOWN = percent(None)

UNREADABLE = (
    "The summary is of another version of heedful, or damaged, so no rates are shown. The command "
    "that made the run makes it again, without a call."
)

MINUTE, HOUR, DAY = 60, 3600, 86400


@dataclass
class Headline:
    """A run in a line of the list.

    Attributes:
        item: which it is.
        what: its judge, or the command that made it.
        state: ``running``, ``finished``, ``interrupted``, or ``broken``.
        rates: its first rates: name, per cent, interval.
        samples: how many it has.
        coverage: the share of verdicts that are decided, in per cent.
        cost: what it cost.
        changed: when something was last written.
        problem: why it cannot be read.
        comparable: whether it can be compared.
    """

    item: ViewedItem
    what: str = ""
    state: str = "broken"
    rates: list[tuple[str, str, str]] = field(default_factory=list)
    samples: int | None = None
    coverage: str = ""
    cost: str = ""
    changed: float = 0.0
    problem: str = ""
    comparable: bool = False


def overview(request: Request) -> Response:
    """Show what there is to look at."""
    viewer: Viewer = request.app.state.viewer
    items = viewer.items().values()
    lines = [_headline(viewer, item) for item in items if item.kind == "run"]
    lines.sort(key=lambda line: (line.state != "running", -line.changed))
    return viewer.page(
        "runs.html",
        lines=lines,
        audits=[item for item in items if item.kind == "audit"],
        reports=[item for item in items if item.kind == "report"],
        ago=_ago,
        live=any(line.state == "running" for line in lines),
    )


def _headline(viewer: Viewer, item: ViewedItem) -> Headline:
    line = Headline(item)
    try:
        line.changed = changed(item.path)
        with viewer.open(item) as opened:
            line.state, line.samples = opened.state(), opened.total
            line.what = str(opened.config["judge"]) if opened.judged else opened.command
            line.comparable = opened.judged and opened.state() == "finished"
            line.problem = opened.problem
            if opened.summary is not None:
                _sum_up(line, opened)
    except HeedfulError as error:
        line.problem = error.what
    except (OSError, sqlite3.Error, ValueError) as error:
        line.problem = f"it cannot be read: {error}"
    return line


def _sum_up(line: Headline, opened: Run) -> None:
    """Take the first rates from a summary; one of another version has none that we know."""
    summary = opened.summary or {}
    try:
        if opened.judged:
            line.rates = _first(summary, HEADLINES)
            line.samples = summary["samples"]
            line.coverage = percent(summary["coverage"], 1)
        if "cost" in summary:
            paid = summary["cost"]["dollars"]
            line.cost = "price unknown" if paid is None else dollars(paid)
    except (KeyError, TypeError, AttributeError, ValueError):
        line.problem = "the summary is of another version of heedful, or damaged"


def _rates(summary: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for family in ranked(summary["metrics"]):
        for name, measure in summary["metrics"][family].items():
            value, interval, *_ = cells(measure)
            possible = bounds(measure)
            if possible:
                interval += f", bounds {possible}"
            yield label(family, name), value, interval


def _first(summary: Mapping[str, Any], number: int) -> list[tuple[str, str, str]]:
    """Return the first rates, of those that are known where any is."""
    rates = list(_rates(summary))
    return [rate for rate in rates if rate[1] != UNKNOWN][:number] or rates[:1]


def run(request: Request) -> Response:
    """Show one run."""
    viewer: Viewer = request.app.state.viewer
    item = viewer.item(request.path_params["key"], "run")
    with viewer.open(item) as opened:
        viewer.builds.bring_up(opened)
        state = opened.state()
        summary = _readable(opened.summary) if opened.judged else None
        document = document_of(opened) if state == "finished" else None
        if state == "finished" and "hx-request" in request.headers:
            # The page was looking at the run; now there is more to see than how far it is.
            return Response(headers={"hx-refresh": "true"})
        return viewer.page(
            "run.html",
            item=item,
            run=opened,
            state=state,
            summary=summary,
            tables=[] if summary is None else list(tables(summary)),
            notes=_notes(opened, summary),
            progress=None if state == "finished" else viewer.watch.look(opened),
            live_line=_live_line,
            document=document,
            sessions=opened.saved.sessions,
            audits=_audits(viewer, item),
            configuration=json.dumps(
                {"about": opened.saved.about, "config": opened.config}, ensure_ascii=False, indent=2
            ),
            percent=percent,
            cost_line=cost_line,
            rates=[] if summary is None else _first(summary, FIGURES),
        )


def _readable(summary: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return a summary of ``evaluate`` if it holds what this version of heedful puts into it."""
    try:
        if summary is not None:
            _ = [*_rates(summary), *tables(summary), *notes(summary)]
            _ = [summary[key] for key in ("scoring", "coverage", "constraints", "samples")]
    except (KeyError, TypeError, AttributeError, ValueError, StopIteration):
        return None
    return summary


def _notes(opened: Run, summary: Mapping[str, Any] | None) -> list[str]:
    if summary is not None:
        return list(notes(summary))
    if opened.problem or (opened.judged and opened.summary is not None):
        return [*filter(None, [opened.problem]), UNREADABLE]
    return []


def _audits(viewer: Viewer, item: ViewedItem) -> list[ViewedItem]:
    """Return the audits that lie in a run's directory."""
    return [
        other
        for other in viewer.items().values()
        if other.kind == "audit" and other.path.parent == item.path
    ]


def report(request: Request) -> Response:
    """Show the report of a benchmark."""
    viewer: Viewer = request.app.state.viewer
    item = viewer.item(request.path_params["key"], "report")
    return viewer.page("report.html", item=item, document=report_of(item.path))


def _live_line(progress: LiveProgress) -> list[tuple[str, str]]:
    """Say how far a run is, in figures with their names."""
    figures = [
        ("rows done", f"{progress.done:,} of {progress.read:,} read"),
        ("failed", f"{progress.failed:,}"),
    ]
    if progress.share is not None:
        figures.insert(0, ("of the input read", f"{progress.share:.0%}"))
    if progress.rate is not None:
        figures.append(("rate", f"{progress.rate:,.1f} rows/s"))
    if progress.left_s is not None:
        figures.append(("left, about", _clock(progress.left_s)))
    if progress.decided is not None:
        figures.append(("verdicts decided so far", f"{percent(progress.decided, 1)} %"))
    if progress.dollars is not None:
        figures.append(("cost so far", dollars(progress.dollars)))
    return figures


def _clock(seconds: float) -> str:
    if seconds < MINUTE:
        return f"{seconds:.0f} s"
    if seconds < HOUR:
        return f"{seconds / MINUTE:.0f} min"
    return f"{seconds / HOUR:.1f} h"


def _ago(when: float) -> str:
    """Say how long ago something was, or on which day."""
    past = time.time() - when
    if past < MINUTE:
        return "now"
    if past < HOUR:
        return f"{past / MINUTE:.0f} min ago"
    if past < DAY:
        return f"{amount(round(past / HOUR), 'hour')} ago"
    return time.strftime("%Y-%m-%d", time.localtime(when))
