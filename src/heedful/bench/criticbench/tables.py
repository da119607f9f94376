"""CriticBench's results as tables and charts: what a build holds, how good critics are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.bench.criticbench.run import CriticsJob, accuracies, critiqued, self_consistency
from heedful.core.errors import UsageError
from heedful.core.outputs import atomically, write_json
from heedful.core.version import __version__
from heedful.jobs.results import PROBLEMS_LISTED
from heedful.reporting.chart import Chart, shorten
from heedful.reporting.document import Document
from heedful.reporting.notation import (
    COVERAGE,
    INTERVAL,
    NOTHING,
    cost_line,
    interval,
    least,
    percent,
    rate,
    signed,
)
from heedful.reporting.plots import (
    Axis,
    Estimate,
    Line,
    Point,
    bounds_of,
    estimates_chart,
    heat_map,
    line_chart,
)
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Unpack

    from heedful.bench.criticbench.run import Critiqued, Examination
    from heedful.core.nouns import Scoring
    from heedful.engine.options import RunOptions
    from heedful.engine.runner import Progress
    from heedful.models import Price
    from heedful.reporting.chart import Format, Spec

    Result = Mapping[str, Any]

__all__ = ["build_document", "charts", "document", "examine", "report", "write_report"]


def build_document(summary: Result) -> Document:
    """Lay out a build: how generators answered, and what was selected."""
    answered = [
        [
            task,
            generator,
            rate(numbers["accuracy"]),
            interval(numbers["accuracy"]["interval"]),
            percent(numbers["accuracy"][COVERAGE], 1),
            f"{numbers['undecided']:,}",
            f"{numbers['empty']:,}",
            f"{numbers['failed']:,}",
            f"{numbers['correct_triplets']:,} + {numbers['wrong_triplets']:,}",
        ]
        for task, generators in summary["tasks"].items()
        for generator, numbers in generators.items()
    ]
    selection = summary["selection"]
    names = ("queries", "unsampled", "undecided", "too_easy", "outranked", "selected", "unbalanced")
    chosen = [[task, *(f"{n[name]:,}" for name in names)] for task, n in selection["tasks"].items()]
    columns = ["task", "generator", "correct %", INTERVAL, COVERAGE]
    columns += ["undecided", "empty", "failed", "triplets"]
    note = "all that are not too easy are selected"
    if selection["queries"] is not None:
        note = f"the {selection['queries']:,} most {selection['ranking']} of each task are selected"
    note += f"; certainty: {selection['certainty']}; unbalanced: responses without a counterpart"
    note += "; undecided: no answer could be graded"
    words = ["task", *(name.replace("_", " ") for name in names)]
    tables = [
        Table(
            "How generators answered",
            columns,
            answered,
            words=2,
            note="triplets: correct + wrong",
            details=("empty", "failed"),
        ),
        Table("What was selected", words, chosen, note=note),
    ]
    about = [f"Cost: {cost_line(summary['cost'])}."]
    if summary.get("sandbox"):
        about.append(f"Programs ran in this sandbox: {summary['sandbox']}.")
    return Document("CriticBench: a benchmark built", about, tables)


def tables(result: Result) -> list[Table]:
    """Lay out how good critics are."""
    critics = result["critics"]
    tasks, generators, bands = (
        names_in(critics, "by_task"),
        generators_of(critics),
        bands_of(critics),
    )
    shown = [_critics(result)]
    if len(tasks) > 1:
        cells = [
            [_shown(numbers["by_task"].get(name)) for name in tasks] for numbers in critics.values()
        ]
        shown.append(_by("Accuracy by task, %", critics, tasks, cells))
    if len(generators) > 1:
        cells = [
            [
                _shown(numbers["by_generator"].get(name)) + ("*" if name == critic else "")
                for name in generators
            ]
            for critic, numbers in critics.items()
        ]
        title = "Accuracy by generator of the response, %"
        shown.append(_by(title, critics, generators, cells, "*: self-critique"))
    if len(bands) > 1:
        cells = [[_shown(band) for band in numbers["by_certainty"]] for numbers in critics.values()]
        note = "certainty of the generator; as many responses in each band as ties allow"
        shown.append(_by("Accuracy by certainty, %", critics, bands, cells, note))
    if result["self_consistency"]:
        shown.append(_self_check(result["self_consistency"]))
    return shown


def _by(
    title: str,
    critics: Iterable[str],
    names: Sequence[str],
    cells: Sequence[Sequence[str]],
    note: str = "",
) -> Table:
    rows = [[critic, *row] for critic, row in zip(critics, cells, strict=True)]
    return Table(title, ["critic", *(name or "unknown" for name in names)], rows, note=note)


def _critics(result: Result) -> Table:
    rows = [
        [
            critic,
            "–" if numbers["size"] is None else f"{numbers['size']:g}",
            rate(numbers["accuracy"]),
            interval(numbers["accuracy"]["interval"]),
            f"{len(numbers['runs'])}",
            "–" if numbers["spread"] is None else f"{100 * numbers['spread']:.2f}",
            rate(numbers["on_correct"], 1),
            rate(numbers["on_wrong"], 1),
            percent(numbers["accuracy"][COVERAGE], 1),
            f"{numbers['unparsed']:,}",
            f"{numbers['failed']:,}",
        ]
        for critic, numbers in result["critics"].items()
    ]
    columns = ["critic", "size, B", "accuracy %", INTERVAL, "runs", "spread"]
    columns += ["on correct", "on wrong", COVERAGE, "unparsed", "failed"]
    meaning = {
        "strict": "strict: a critique without a judgment is undecided",
        "faithful": 'faithful: a critique without a judgment counts as "correct"',
    }
    note = f"{meaning[result['scoring']]}; spread: standard deviation of the runs' accuracies"
    unseen = [name for name in ("unparsed", "failed") if not _total(result, name)]
    details = ["size, B", "runs", *unseen]
    return Table("How good critics are", columns, rows, note=note, details=details)


def _total(result: Result, count: str) -> int:
    return sum(numbers[count] for numbers in result["critics"].values())


def _self_check(checks: Sequence[Result]) -> Table:
    """Lay out what checking does for votes; names that are the same in all rows are left out."""
    names = ["critic"]
    if any(check["critic"] != check["generator"] for check in checks):
        names.append("generator")
    if len({check["task"] for check in checks}) > 1:
        names.append("task")
    rows = [
        [
            *(check[name] for name in names),
            f"{check['threshold']:g}",
            f"{check['queries']:,}",
            rate(check["plain"]),
            rate(check["checking"]),
            signed(check["difference"]),
            interval(check["interval"], signed),
            f"{check['fixed']:,} / {check['broken']:,}",
            signed(check["error_reduction"], 1),
            f"{check['critiques']:,}",
            f"{check['undecided']:,}",
        ]
        for check in checks
    ]
    columns = [*names, "below", "queries", "SC %", "SC² %", "change"]
    columns += [INTERVAL, "fixed / broken", "reduction %", "critiques", "undecided"]
    details = ["queries", INTERVAL, "fixed / broken", "undecided"]
    note = (
        "SC: majority vote. SC²: where certainty is below the threshold, answers that the critic "
        "judges incorrect have no vote. reduction: of the errors"
    )
    title = "Self-consistency with self-check"
    return Table(title, columns, rows, words=len(names), note=note, details=details)


def names_in(critics: Mapping[str, Result], part: str) -> list[str]:
    """Name the tasks or generators that any critic's result is broken down by."""
    return list(dict.fromkeys(name for numbers in critics.values() for name in numbers[part]))


def generators_of(critics: Mapping[str, Result]) -> list[str]:
    """Name the generators; those that are critics come first, in the critics' order."""
    names = names_in(critics, "by_generator")
    return [*(name for name in critics if name in names), *(n for n in names if n not in critics)]


def bands_of(critics: Mapping[str, Result]) -> list[str]:
    """Name the bands of certainty."""
    bands: list[Result] = next((numbers["by_certainty"] for numbers in critics.values()), [])
    return [f"{band['low']:.2f} – {band['high']:.2f}" for band in bands]


def _shown(measure: Result | None) -> str:
    return rate(measure, 1) if measure else NOTHING


CHANCE = 0.5
"""Accuracy of guessing on a balanced benchmark."""


def document(result: Result) -> Document:
    """Lay out how good critics are, in tables and charts."""
    rows = result["rows"]
    missing = (
        f"Not all is in these numbers: {rows['failed']:,} rows failed, {rows['waiting']:,} are "
        "not done yet."
    )
    return Document(
        "CriticBench: how good are the critics?",
        [f"Cost: {cost_line(run['cost'])}." for run in result["runs"]],
        [*tables(result), *charts(result)],
        notes=[missing] if rows["failed"] or rows["waiting"] else [],
    )


def charts(result: Result) -> Iterator[Chart]:
    """Draw what there is to draw."""
    critics = {
        name: numbers
        for name, numbers in result["critics"].items()
        if numbers["accuracy"]["coverage"]
    }
    if critics:
        yield Chart("scaling", "Accuracy by critic", _scaling(critics))
        if len(generators_of(critics)) > 1:
            title = "Critics and generators; framed is self-critique"
            yield Chart("heat_map", title, _heat_map(critics, generators_of(critics)))
        if len(bands_of(critics)) > 1:
            yield Chart("certainty", "Accuracy by certainty", _by_certainty(critics))
    decided = [numbers for numbers in result["self_consistency"] if numbers["plain"]["coverage"]]
    if decided:
        title = "Self-consistency without and with self-check"
        yield Chart("self_check", title, _votes(decided))


def _scaling(critics: Mapping[str, Result]) -> Spec:
    """Draw accuracy by size, where it is known: by family, or by task where that is only one."""
    tasks = names_in(critics, "by_task")
    series = {"all": {critic: numbers["accuracy"] for critic, numbers in critics.items()}}
    if len(tasks) > 1:
        series |= {
            task: {critic: numbers["by_task"].get(task) for critic, numbers in critics.items()}
            for task in tasks
        }
    sizes = {critic: numbers["size"] for critic, numbers in critics.items()}
    if None in sizes.values():
        estimates = [
            Estimate(critic, least(measure), measure["interval"], series=name)
            for critic in critics
            for name, measures in series.items()
            if (measure := measures[critic]) is not None
        ]
        return estimates_chart(estimates, "accuracy, %", order=list(series))
    families: dict[str, list[str]] = {}
    for critic in critics:
        families.setdefault(re.sub("[-_ ]{2,}", "-", _SIZE.sub("", critic)), []).append(critic)
    if 1 < len(families) < len(critics):
        series = {
            (family if len(members) > 1 else members[0]): {
                critic: critics[critic]["accuracy"] for critic in members
            }
            for family, members in families.items()
        }
    by_size = sorted(critics, key=lambda critic: sizes[critic])
    lines = [
        _line(name, ((sizes[critic], own[critic]) for critic in by_size if critic in own))
        for name, own in series.items()
    ]
    x = Axis("size of the critic, billions of parameters", logarithmic=True)
    return line_chart(lines, x, _shares(lines), level=(CHANCE, "chance"))


_SIZE = re.compile(r"(?:\d+x)?\d+(?:\.\d+)?[bm](?![a-z0-9])", re.IGNORECASE)
"""The size in a model's name: of models that differ in it alone, it makes a family."""


def _heat_map(critics: Mapping[str, Result], generators: Sequence[str]) -> Spec:
    values = [
        [
            least(measure) if measure and measure["coverage"] else None
            for name in generators
            for measure in [numbers["by_generator"].get(name)]
        ]
        for numbers in critics.values()
    ]
    own = [
        (row, column)
        for row, critic in enumerate(critics)
        for column, generator in enumerate(generators)
        if critic == generator
    ]
    known = [value for row in values for value in row if value is not None]
    bounds = (min(CHANCE, *known), max(1.0, *known))
    names = [name or "unknown" for name in generators]
    down, across = ("critic", list(critics)), ("generator", names)
    return heat_map(down, across, values, marked=own, bounds=bounds)


def _by_certainty(critics: Mapping[str, Result]) -> Spec:
    bands = bands_of(critics)
    lines = [
        _line(critic, zip(bands, numbers["by_certainty"], strict=True))
        for critic, numbers in critics.items()
    ]
    x = Axis("certainty of the generator", names=bands)
    return line_chart(lines, x, _shares(lines), level=(CHANCE, "chance"))


def _votes(votes: Sequence[Result]) -> Spec:
    thresholds = sorted({vote["threshold"] for vote in votes})
    tasks = {vote["task"] for vote in votes}
    short = shorten(vote[role] for role in ("critic", "generator") for vote in votes)
    groups: dict[str, list[Result]] = {}
    for vote in votes:
        who = short[vote["critic"]]
        if vote["generator"] != vote["critic"]:
            who += f" on {short[vote['generator']]}"
        groups.setdefault(f"{who}, {vote['task']}" if len(tasks) > 1 else who, []).append(vote)
    names = ["SC", *(f"SC², certainty < {level:g}" for level in thresholds)]
    lines = []
    for name, rows in groups.items():
        points: list[tuple[str, Result]] = [(names[0], rows[0]["plain"])]
        points += [(names[1 + thresholds.index(row["threshold"])], row["checking"]) for row in rows]
        lines.append(_line(name, points))
    return line_chart(lines, Axis("vote", names=names), _shares(lines, chance=False))


def _line(name: str, measures: Iterable[tuple[float | str, Result | None]]) -> Line:
    points = []
    for x, measure in measures:
        if measure is not None and measure["coverage"]:
            low, high = measure["interval"] or (None, None)
            points.append(Point(x, least(measure), low, high))
    return Line(name, points)


def _shares(lines: Sequence[Line], *, chance: bool = True) -> Axis:
    """Choose an axis of shares that holds all intervals, and chance where that is drawn."""
    bounds = bounds_of(lines, [CHANCE] if chance else ())
    return Axis("accuracy", percent=True, bounds=bounds)


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
            file.writelines(
                json.dumps(_stored(row), ensure_ascii=False) + "\n" for row in critiques
            )
        write_json(run / SUMMARY, result)
    return result, progress


def _stored(row: Critiqued) -> dict[str, Any]:
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
    return document(result).write(folder, result, charts=charts)
