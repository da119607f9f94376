"""Tables and charts of the comparison of preferences."""

from __future__ import annotations

import json
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from heedful.metrics.proportions import student
from heedful.reporting.chart import Chart
from heedful.reporting.plots import Axis, Line, Point, line_chart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    Reports = Mapping[str, Sequence[Mapping[str, Any]]]

MECHANISM = {
    "differing": "tokens in the judgments that differ",
    "gradient_outside": "squared gradient outside them, of a pair",
    "mean_gradient_outside": "the same of the mean gradient",
}


def score(measured: Mapping[str, Any]) -> float:
    """Return the mean F1, undecided verdicts counted as wrong."""
    low = measured["judges"][0]["pooled"]["mean_f1"]["bounds"][0]
    return -1.0 if low is None else float(low)


def write(out: Path, titles: Mapping[str, str]) -> None:
    """Print the tables, and write them with the charts to ``report``.

    Args:
        out: the folder of the experiment.
        titles: of the methods by their names; the first is what all began with.
    """
    seeds = sorted(
        path.parent
        for path in out.glob("seed-*/mechanism-constraint.json")
        if all((path.parent / f"test-{name}.json").exists() for name in titles)
    )
    if not seeds:
        print("no seed is finished")
        return
    tested: Reports = {
        name: [json.loads((seed / f"test-{name}.json").read_text()) for seed in seeds]
        for name in titles
    }
    places: Reports = {
        name: [json.loads((seed / f"mechanism-{name}.json").read_text()) for seed in seeds]
        for name in ("whole", "constraint")
    }
    folder = out / "report"
    folder.mkdir(exist_ok=True)
    lines = [*_scores(tested, titles), "", *_mechanism(places, titles)]
    (folder / "report.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    for chart in (_scores_chart(tested, titles), _mechanism_chart(places)):
        (folder / f"{chart.name}.svg").write_bytes(chart.image("svg"))


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean over seeds, and half of Student's 95 % interval."""
    if len(values) == 1:
        return values[0], float("nan")
    return mean(values), student(len(values) - 1) * stdev(values) / len(values) ** 0.5


def _scores(tested: Reports, titles: Mapping[str, str]) -> list[str]:
    judged = sum(
        sum(report["judges"][0]["verdicts"].values()) for report in next(iter(tested.values()))
    )
    best = [score(report) for report in tested["constraint"]]
    lines = [
        f"{len(best)} seeds, {judged:,} test judgments of each method",
        "",
        "| method | coverage | F1 of met, of unmet | mean F1 | constraint-level is ahead by | at |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, reports in tested.items():
        judges = [report["judges"][0] for report in reports]
        met, unmet = (
            100 * mean(judge["pooled"][rate]["value"] for judge in judges)
            for rate in ("f1_met", "f1_unmet")
        )
        values = [score(report) for report in reports]
        middle, half = _interval(values)
        ahead = [theirs - ours for theirs, ours in zip(best, values, strict=True)]
        lead, width = _interval(ahead)
        wins = f"{sum(each > 0 for each in ahead)} of {len(ahead)}"
        beside = (
            "– | –" if name == "constraint" else f"{100 * lead:+.1f} ± {100 * width:.1f} | {wins}"
        )
        lines.append(
            f"| {titles[name]} | {100 * mean(judge['coverage'] for judge in judges):.1f} % | "
            f"{met:.1f}, {unmet:.1f} | {100 * middle:.1f} ± {100 * half:.1f} | {beside} |"
        )
    return lines


def _mechanism(places: Reports, titles: Mapping[str, str]) -> list[str]:
    lines = [f"| | {' | '.join(titles[name] for name in places)} |", "| --- | ---: | ---: |"]
    for key, title in MECHANISM.items():
        cells = [
            "{:.1f} ± {:.1f} %".format(*(100 * each for each in _interval([r[key] for r in rows])))
            for rows in places.values()
        ]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    for key in ("margin_inside", "margin_outside"):
        cells = [
            "{:.2f} ± {:.2f}".format(*_interval([row[key] for row in rows]))
            for rows in places.values()
        ]
        where = key.removeprefix("margin_")
        lines.append(f"| margin {where} them after training, nats a pair | {' | '.join(cells)} |")
    return lines


def _point(name: str, values: Sequence[float]) -> Point:
    middle, half = _interval(values)
    return Point(name, middle, middle - half, middle + half)


def _scores_chart(tested: Reports, titles: Mapping[str, str]) -> Chart:
    short = [titles[name].partition(",")[0] for name in tested]
    points = [
        _point(name, [score(report) for report in reports])
        for name, reports in zip(short, tested.values(), strict=True)
    ]
    axis = Axis("mean F1, undecided verdicts wrong", percent=True)
    spec = line_chart([Line("mean F1", points, joined=False)], Axis("method", names=short), axis)
    return Chart("preferences-f1", "Mean F1 by method: means over seeds, 95 % intervals", spec)


def _mechanism_chart(places: Reports) -> Chart:
    kinds = {"whole": "whole-response pairs", "constraint": "constraint-level pairs"}
    names = {
        "differing": "tokens inside",
        "gradient_outside": "gradient outside",
        "mean_gradient_outside": "mean gradient outside",
    }
    lines = [
        Line(
            title,
            [_point(names[key], [row[key] for row in places[kind]]) for key in MECHANISM],
            joined=False,
        )
        for kind, title in kinds.items()
    ]
    x = Axis("inside or outside of the judgments that differ", names=list(names.values()))
    spec = line_chart(lines, x, Axis("share", percent=True, bounds=(0.0, 1.0)))
    return Chart("preferences-gradient", "Tokens and squared gradient of preference pairs", spec)
