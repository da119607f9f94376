"""CriticBench's charts, and its report: tables and charts together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from heedful.bench.criticbench.tables import bands_of, generators_of, names_in, tables
from heedful.reporting.chart import Chart, shorten
from heedful.reporting.document import Document
from heedful.reporting.notation import cost_line, least
from heedful.reporting.row_charts import Estimate, estimates_chart
from heedful.reporting.xy_charts import Axis, Line, Point, bounds_of, heat_map, line_chart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from heedful.reporting.chart import Spec

    Result = Mapping[str, Any]

__all__ = ["charts", "document"]

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
