"""CriticBench's charts, and its report: tables and charts together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.bench.criticbench.tables import bands_of, generators_of, names_in, tables
from heedful.reporting.chart import Chart
from heedful.reporting.document import Document
from heedful.reporting.notation import cost_line
from heedful.reporting.xy_charts import Axis, Line, Point, heat_map, line_chart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from heedful.reporting.chart import Spec

    Result = Mapping[str, Any]

__all__ = ["charts", "document"]

CHANCE = 0.5
"""Accuracy of guessing on a balanced benchmark."""


def document(result: Result) -> Document:
    """Lay out how good critics are, in tables and charts.

    Args:
        result: as :func:`heedful.bench.criticbench.report.examined` returns it.
    """
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
    """Draw what there is to draw.

    Args:
        result: as for :func:`document`.
    """
    critics = {
        name: numbers
        for name, numbers in result["critics"].items()
        if numbers["accuracy"]["value"] is not None
    }
    if critics:
        yield Chart("scaling", "Accuracy by critic", _scaling(critics))
        if len(generators_of(critics)) > 1:
            title = "Critics and generators; framed is self-critique"
            yield Chart("heat_map", title, _heat_map(critics, generators_of(critics)))
        if len(bands_of(critics)) > 1:
            yield Chart("certainty", "Accuracy by certainty", _by_certainty(critics))
    decided = [
        numbers for numbers in result["self_consistency"] if numbers["plain"]["value"] is not None
    ]
    if decided:
        title = "Self-consistency without and with self-check"
        yield Chart("self_check", title, _votes(decided))


def _scaling(critics: Mapping[str, Result]) -> Spec:
    sizes = [numbers["size"] for numbers in critics.values()]
    if None in sizes:
        names = list(critics)
        places: Sequence[float | str] = names
        x = Axis("critic", names=names)
    else:
        places = sizes
        x = Axis("size of the critic, billions of parameters", logarithmic=True)
    lines = [
        _line(
            "all", zip(places, (numbers["accuracy"] for numbers in critics.values()), strict=True)
        )
    ]
    tasks = names_in(critics, "by_task")
    if len(tasks) > 1:
        lines += [
            _line(
                task, zip(places, (c["by_task"].get(task) for c in critics.values()), strict=True)
            )
            for task in tasks
        ]
    return line_chart(lines, x, _shares(lines), level=(CHANCE, "chance"))


def _heat_map(critics: Mapping[str, Result], generators: Sequence[str]) -> Spec:
    values = [
        [(numbers["by_generator"].get(name) or {}).get("value") for name in generators]
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
    groups: dict[str, list[Result]] = {}
    for vote in votes:
        who = vote["critic"]
        if vote["generator"] != who:
            who += f" on {vote['generator']}"
        groups.setdefault(f"{who}, {vote['task']}", []).append(vote)
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
        if measure is not None and measure["value"] is not None:
            low, high = measure["interval"] or (None, None)
            points.append(Point(x, measure["value"], low, high))
    return Line(name, points)


def _shares(lines: Sequence[Line], *, chance: bool = True) -> Axis:
    """Choose an axis of shares that holds all intervals, and chance where that is drawn."""
    values = [value for line in lines for p in line.points for value in (p.y, p.low, p.high)]
    known = [value for value in values if value is not None] + [CHANCE] * chance
    low = max(0.0, int(20 * min(known)) / 20 - 0.05)
    high = min(1.0, -int(-20 * max(known)) / 20 + 0.05)
    return Axis("accuracy", percent=True, bounds=(low, high))
