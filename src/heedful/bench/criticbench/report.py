"""Results of one CriticBench run or several, and the files of a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.bench.criticbench.metrics import accuracies, self_consistency
from heedful.bench.criticbench.run import CriticsJob, critiqued
from heedful.core.errors import UsageError
from heedful.core.outputs import atomically, write_json
from heedful.core.version import __version__
from heedful.jobs.results import PROBLEMS_LISTED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Unpack

    from heedful.bench.criticbench.run import Critiqued, Examination
    from heedful.core.nouns import Scoring
    from heedful.engine.options import RunOptions
    from heedful.engine.runner import Progress
    from heedful.models import Price
    from heedful.reporting.chart import Format

__all__ = ["examine", "report", "write_report"]


RESULTS, SUMMARY = "results.jsonl", "summary.json"
"""Files of a run's directory, beside its store."""


def examine(
    examination: Examination,
    *,
    scoring: Scoring = "strict",
    sizes: Mapping[str, float] | None = None,
    **options: Unpack[RunOptions],
) -> tuple[dict[str, Any], Progress]:
    """Have critics judge a benchmark, and compute what that comes to."""
    _refuse(sizes or {}, [model.name for model in examination.critics])
    critiques, about, progress = CriticsJob(examination).run(**options)
    result = _result(critiques, _joined([about]), scoring=scoring, sizes=sizes or {})
    if about["run"] is not None:
        run = Path(about["run"])
        with atomically(run / RESULTS) as file:
            file.writelines(json.dumps(_line(row), ensure_ascii=False) + "\n" for row in critiques)
        write_json(run / SUMMARY, result)
    return result, progress


def _line(row: Critiqued) -> dict[str, Any]:
    judged, verdicts = row.judged, [verdict.model_dump() for verdict in row.verdicts]
    if judged.triplet is not None:
        about = judged.triplet.model_dump(include={"id", "task", "generator", "correct"})
        return {"critic": judged.critic, **about, "verdicts": verdicts}
    assert judged.check is not None  # noqa: S101 - a row is one or the other
    about = judged.check.model_dump(exclude_none=True)
    return {"critic": judged.critic, "check": about, "verdicts": verdicts}


def _result(
    critiques: Sequence[Critiqued],
    about: Mapping[str, Any],
    *,
    scoring: Scoring,
    sizes: Mapping[str, float],
) -> dict[str, Any]:
    critics = accuracies(critiques, scoring)
    ordered = sorted(critics, key=lambda name: sizes.get(name, float("inf")))
    return {
        "heedful": __version__,
        "scoring": scoring,
        **about,
        "critics": {name: {"size": sizes.get(name), **critics[name]} for name in ordered},
        "self_consistency": self_consistency(critiques, about["thresholds"]),
    }


def _refuse(sizes: Mapping[str, float], critics: Sequence[str]) -> None:
    """Refuse sizes that make no sense, before any call."""
    for name, size in sizes.items():
        if name not in critics:
            known = ", ".join(critics)
            raise UsageError(f"no such critic: {name!r} (--size)", hint=f"one of {known}")
        if not size > 0:
            raise UsageError(f"the size of {name} is {size:g}", hint="give billions of parameters")


def report(
    runs: Sequence[Path],
    *,
    scoring: Scoring = "strict",
    sizes: Mapping[str, float] | None = None,
    prices: Mapping[str, Price] | None = None,
) -> dict[str, Any]:
    """Put runs over one benchmark together, without a call."""
    critiques: list[Critiqued] = []
    abouts: list[dict[str, Any]] = []
    for run in runs:
        rows, about = critiqued(run, prices)
        critiques += rows
        if abouts and about["benchmark"] != abouts[0]["benchmark"]:
            raise UsageError(
                "the run is over another benchmark than the first",
                where=str(run),
                hint=f"report it apart from {runs[0]}",
            )
        twice = {critic for before in abouts for critic in before["critics"]} & {*about["critics"]}
        if twice:
            raise UsageError(
                f"the critic {min(twice)!r} is in two of the runs", where=str(run), hint="name one"
            )
        abouts.append(about)
    if not abouts:
        raise UsageError("no run is named", hint="name the run of heedful bench criticbench run")
    _refuse(sizes or {}, [critic for about in abouts for critic in about["critics"]])
    return _result(critiques, _joined(abouts), scoring=scoring, sizes=sizes or {})


def _joined(abouts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    rows: dict[str, int] = {}
    for about in abouts:
        for name, count in about["rows"].items():
            rows[name] = rows.get(name, 0) + count
    return {
        "benchmark": abouts[0]["benchmark"],
        "runs": [
            {key: about[key] for key in ("run", "repeats", "sampling", "cost")} for about in abouts
        ],
        "thresholds": sorted({level for about in abouts for level in about["thresholds"]}),
        "rows": rows,
        "problems": [row for about in abouts for row in about["problems"]][:PROBLEMS_LISTED],
    }


def write_report(
    result: Mapping[str, Any], folder: Path, charts: Format | None = None
) -> list[Path]:
    """Write a result as JSON, Markdown and HTML, and its charts as files."""
    from heedful.bench.criticbench.tables import document

    return document(result).write(folder, result, charts=charts)
