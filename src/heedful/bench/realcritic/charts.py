"""RealCritic's charts: accuracy by round, and how solutions fare from round to round."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.bench.realcritic.cases import case_of
from heedful.bench.realcritic.labels import corrected
from heedful.reporting.chart import Chart
from heedful.reporting.row_charts import FLOWS, flows_chart
from heedful.reporting.xy_charts import Axis, Line, Point, line_chart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.bench.realcritic.critic import Paradigm
    from heedful.bench.realcritic.labels import Labels
    from heedful.bench.realcritic.run import RealCriticRow
    from heedful.core.nouns import Scoring

__all__ = ["flow_charts"]

PARADIGMS: tuple[Paradigm, ...] = ("self", "cross")
STARTS = {"self": "direct", "cross": "baseline"}
"""The starting point of each kind of critique."""


def rounds_chart(report: Mapping[str, Any]) -> Chart:
    """Draw accuracy by round, one line for each critic and paradigm.

    Round 0 is the start: the direct answers for self-critique, the given solutions for
    cross-critique.

    Args:
        report: as :func:`heedful.bench.realcritic.metrics.numbers` returns it.
    """
    lines = []
    last = 0
    for critic, numbers in report["critics"].items():
        for paradigm, start in STARTS.items():
            if paradigm in numbers:
                measures = [numbers[start], *numbers[paradigm]]
                last = max(last, len(measures) - 1)
                lines.append(Line(f"{critic}, {paradigm}", list(_points(measures))))
    names = ["start", *(f"round {place}" for place in range(1, last + 1))]
    y = Axis("accuracy", percent=True, bounds=(0.0, 1.0))
    spec = line_chart(lines, Axis("", names=names), y)
    return Chart("rounds", "Accuracy of the corrections by round", spec)


def _points(measures: Sequence[Mapping[str, Any]]) -> Iterator[Point]:
    for place, measure in enumerate(measures):
        accuracy = measure["accuracy"]
        if accuracy["value"] is not None:
            name = f"round {place}" if place else "start"
            yield Point(name, accuracy["value"], *(accuracy["interval"] or (None, None)))


def flow_charts(
    rows: Sequence[RealCriticRow], scoring: Scoring, labels: Labels = "shipped"
) -> Iterator[Chart]:
    """Draw what each round of critiques made of the solutions, by critic and paradigm.

    Args:
        rows: of runs, as :class:`heedful.bench.realcritic.run.Results` yields them.
        scoring: as for :func:`heedful.bench.realcritic.report.write_report`.
        labels: likewise.
    """
    if labels == "corrected":
        rows = list(corrected(rows))
    critics = list(dict.fromkeys(row.critic for row in rows if row.item is not None))
    for number, critic in enumerate(critics, start=1):
        own = [row for row in rows if row.item is not None and row.critic == critic]
        for paradigm in PARADIGMS:
            rounds = max(
                (len(row.outcome.rounds(paradigm)) for row in own if row.outcome), default=0
            )
            steps = {}
            for place in range(rounds):
                cases = [case_of(row, paradigm, place, scoring) for row in own]
                steps[f"round {place + 1}"] = Counter(
                    _way(case.previous, case.after) for case in cases
                )
            if steps:
                title = f"{critic}, {paradigm}-critique: what became of the solutions"
                yield Chart(f"flows-{number}-{paradigm}", title, flows_chart(steps))


def _way(before: bool | None, after: bool | None) -> str:  # noqa: FBT001 - a pair of grades
    """Name what became of a solution, as :data:`FLOWS` does."""
    if before is None or after is None:
        return "undecided"
    way = "stays" if before == after else "becomes"
    name = f"{way} {'correct' if after else 'incorrect'}"
    assert name in FLOWS  # noqa: S101 - the chart has a colour for each
    return name
