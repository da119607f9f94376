"""The report on runs of RealCritic, made without a call."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.bench.realcritic.metrics import numbers
from heedful.bench.realcritic.run import Results
from heedful.bench.realcritic.tables import flow_charts, rounds_charts, tables
from heedful.core.errors import UsageError
from heedful.reporting.document import Document
from heedful.reporting.notation import cost_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from heedful.bench.realcritic.labels import Labels
    from heedful.core.nouns import Scoring
    from heedful.reporting.chart import Chart, Format
    from heedful.reporting.table import Table

__all__ = ["document", "write_report"]

TITLE = "RealCritic: is a correction after critique right?"


def write_report(
    runs: Sequence[Path],
    output: Path,
    *,
    scoring: Scoring = "strict",
    labels: Labels = "shipped",
    charts: Format | None = None,
) -> tuple[Document, list[Path]]:
    """Write ``report.json``, ``report.md``, ``report.html`` and the charts."""
    results = [Results.open(run) for run in runs]
    about = [each.about for each in results]
    names = Counter(name for each in about for name in each["critics"])
    for name, times in names.items():
        if times > 1:
            raise UsageError(f"the critic {name!r} is in {times} runs", hint="name one of them")
    rows = [row for each in results for row in each]
    report = {"runs": about, **numbers(rows, scoring, labels)}
    made = document(report, list(flow_charts(rows, scoring, labels)))
    return made, made.write(output, report, charts=charts)


def document(
    report: Mapping[str, Any],
    flows: Iterable[Chart] = (),
    *,
    cost: Mapping[str, Any] | None = None,
) -> Document:
    """Lay out a report: how it came about, its tables and charts."""
    about = [_about(run) for run in report.get("runs", ())]
    cost_of = [f"Cost: {cost_line(cost)}."] if cost else []
    parts: list[Table | Chart] = [*tables(report), *rounds_charts(report), *flows]
    return Document(TITLE, [*about, *cost_of], parts)


def _about(run: Mapping[str, Any]) -> str:
    facts = {
        "Sets": ", ".join(run["sets"]),
        "critics": ", ".join(run["critics"]),
        "modes": ", ".join(run["modes"]),
        "rounds": run["rounds"],
        "post-check": run["checker"],
        "heedful": run["heedful"],
    }
    return "; ".join(f"{key}: {value}" for key, value in facts.items() if value is not None) + "."
