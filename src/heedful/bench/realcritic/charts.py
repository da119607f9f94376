"""RealCritic's charts: accuracy by round, and how solutions fare from round to round."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.bench.realcritic.cases import case_of
from heedful.bench.realcritic.labels import corrected
from heedful.reporting.chart import Chart
from heedful.reporting.notation import least
from heedful.reporting.row_charts import FLOWS, flows_chart
from heedful.reporting.xy_charts import Axis, Line, Point, bounds_of, line_chart

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


TITLES = {"self": "self-critique", "cross": "cross-critique"}


def rounds_charts(report: Mapping[str, Any]) -> Iterator[Chart]:
    """Draw accuracy by round, a chart for each paradigm with a line for each critic.

    Round 0 is the start: the direct answers for self-critique, the given solutions for
    cross-critique.
    """
    for paradigm, start in STARTS.items():
        measures = {
            critic: [numbers[start], *numbers[paradigm]]
            for critic, numbers in report["critics"].items()
            if paradigm in numbers
        }
        if not measures:
            continue
        lines = [Line(critic, list(_points(own))) for critic, own in measures.items()]
        last = max(map(len, measures.values()))
        names = ["start", *(f"round {place}" for place in range(1, last))]
        y = Axis("accuracy", percent=True, bounds=bounds_of(lines))
        title = f"Accuracy of the corrections by round, {TITLES[paradigm]}"
        yield Chart(f"rounds-{paradigm}", title, line_chart(lines, Axis("", names=names), y))


def _points(measures: Sequence[Mapping[str, Any]]) -> Iterator[Point]:
    for place, measure in enumerate(measures):
        accuracy = measure["accuracy"]
        if accuracy["coverage"]:
            name = f"round {place}" if place else "start"
            yield Point(name, least(accuracy), *(accuracy["interval"] or (None, None)))


def flow_charts(
    rows: Sequence[RealCriticRow], scoring: Scoring, labels: Labels = "shipped"
) -> Iterator[Chart]:
    """Draw what each round of critiques made of the solutions, by critic and paradigm."""
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
