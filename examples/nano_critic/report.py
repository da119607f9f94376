"""The tables and charts of a run, from what is measured so far."""

from __future__ import annotations

import json
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.reporting.chart import Chart
from heedful.reporting.document import Document
from heedful.reporting.notation import estimate, signed
from heedful.reporting.plots import Axis, Line, Point, heat_map, line_chart
from heedful.reporting.table import Table
from policy import AGGREGATES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

__all__ = ["write"]

T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t for 95 %, two-sided, with 1, 2, … degrees of freedom."""

TYPES = ("length", "count", "absence", "edge")

WINDOW = 10
"""Steps of GRPO that a point of the chart is the mean of."""

POLICIES = {
    "policy": "Reward and truth of a policy that writes three words or more",
    "policy-free": "Reward and truth of a policy that may write nothing",
    "policy-gated": "Reward and truth of a policy that may write nothing, with heedful's gates",
}
"""Titles by the name of the file."""

MAIN_PATH = (
    *("test.jsonl", "train.jsonl", "critiques.jsonl", "policy.json"),
    *("filtered/filtered.", "parts/filtered/", "sampled/filtered.", "models/filtered-sft"),
    "filtered-constraint-level",
)
"""What of a seed's results critic 2 and the policy that it rewards need."""

Measured = dict[int, dict[str, Any]]
"""What the meta-evaluation says of a judge, by seed."""


class _Line(NamedTuple):
    """A critic's or a data set's line: its name and what was measured of it."""

    name: str
    seeds: Measured

    def values(self, rate: str) -> dict[int, float]:
        """Return a rate by seed, where there is one."""
        values = {seed: judge["pooled"][rate]["value"] for seed, judge in self.seeds.items()}
        return {seed: value for seed, value in values.items() if value is not None}


def write(out: Path, critics: Mapping[str, str], data: Mapping[str, str], main: str) -> None:
    """Write ``report.json``, ``report.md``, ``report.html`` and the charts.

    Args:
        out: the folder of a run.
        critics: the critics' names by the name of their file.
        data: the same of the experts' critiques.
        main: the name of the critic that others are compared with.
    """
    lines = [_Line(name, _measured(out, f"measured/{file}")) for file, name in critics.items()]
    lines = [line for line in lines if line.seeds]
    filters = [_Line(name, _measured(out, f"quality/{file}")) for file, name in data.items()]
    tables, charts = [], []
    if lines:
        quality = _quality([line for line in filters if line.seeds])
        tables += [_critics(lines, main), _by_seed(lines), quality]
        charts += [_critics_chart(lines), _types_chart(lines)]
    for name, title in POLICIES.items():
        rewarded = _policies(out, name)
        if rewarded:
            tables.append(_policy(title, rewarded))
            charts.append(_policy_chart(name, title, rewarded))
    ablation = {terms.aggregate: _policies(out, name) for name, terms in AGGREGATES.items()}
    if all(ablation.values()):
        tables.append(_ablation(ablation))
        charts += [_ablation_chart(ablation, key) for key in TRUTHS]
    if not tables:
        print(f"{out}: nothing is measured yet, so there is nothing to report")
        return
    tables.append(_seconds(out))
    document = Document(f"nano critic, {out.name}", parts=[*charts, *tables])
    numbers = {
        line.name: {str(seed): judge for seed, judge in line.seeds.items()} for line in lines
    }
    document.write(out, numbers)
    print(out / "report.md")


def _measured(out: Path, file: str) -> Measured:
    judges = {}
    for path in sorted(out.glob(f"seed-*/{file}.json")):
        seed = int(path.parts[-3].removeprefix("seed-"))
        judges[seed] = json.loads(path.read_text(encoding="utf-8"))["judges"][0]
    return dict(sorted(judges.items()))


def _over_seeds(values: Collection[float], *, sign: bool = False) -> str:
    """Show the mean of shares in per cent, with Student's 95 % interval over seeds."""
    if not values:
        return "–"
    shown = signed(mean(values), 1) if sign else f"{100 * mean(values):.1f}"
    if not 1 < len(values) <= len(T95) + 1:
        return shown
    half = T95[len(values) - 2] * stdev(values) / len(values) ** 0.5
    return f"{shown} ± {100 * half:.1f}"


def _critics(lines: Sequence[_Line], main: str) -> Table:
    """Lay out the critics, all seeds together."""
    against = next((line.values("mean_f1") for line in lines if line.name == main), {})
    rows = []
    for number, line in enumerate(lines, start=1):
        means = line.values("mean_f1")
        apart = [value - against[seed] for seed, value in means.items() if seed in against]
        rows.append(
            [
                f"{number}. {line.name}",
                *(
                    _over_seeds(line.values(rate).values())
                    for rate in ("f1_met", "f1_unmet", "mean_f1")
                ),
                "" if line.name == main else _over_seeds(apart, sign=True),
                f"{100 * mean(report['coverage'] for report in line.seeds.values()):.1f}",
                str(len(line.seeds)),
            ]
        )
    return Table(
        "Critics",
        ["critic", "positive F1", "negative F1", "mean F1", "against 2", "coverage", "seeds"],
        rows,
        "Per cent, means over seeds; ± is Student's 95 % interval over seeds, for the differences "
        "of the same seeds. F1 is of the verdicts that were decided; coverage is their share. All "
        "but those with one constraint a call judge a whole checklist in one.",
    )


def _by_seed(lines: Sequence[_Line]) -> Table:
    """Lay out each seed's mean F1, with its interval over samples."""
    seeds = sorted({seed for line in lines for seed in line.seeds})
    rows = []
    for number, line in enumerate(lines, start=1):
        cells = []
        for seed in seeds:
            mean_f1 = line.seeds.get(seed, {}).get("pooled", {}).get("mean_f1", {})
            cells.append(estimate(mean_f1.get("value"), mean_f1.get("interval")))
        rows.append([f"{number}. {line.name}", *cells])
    return Table(
        "Mean F1, seed by seed",
        ["critic", *(f"seed {seed}" for seed in seeds)],
        rows,
        "Per cent; in brackets heedful's 95 % interval, a bootstrap of the test's instructions. It "
        "knows nothing of how another seed would have trained.",
    )


def _quality(lines: Sequence[_Line]) -> Table:
    """Lay out how right the experts' critiques are that critics learn from."""
    rows = [
        [
            line.name,
            f"{mean(sum(report['verdicts'].values()) for report in line.seeds.values()):.0f}",
            *(
                _over_seeds(line.values(rate).values())
                for rate in ("f1_met", "f1_unmet", "mean_f1")
            ),
        ]
        for line in lines
    ]
    return Table(
        "The experts' critiques against the truth",
        ["critiques", "judgments", "positive F1", "negative F1", "mean F1"],
        rows,
        "What is learned from, both parts (SFT and preferences); as above. Rows that lost a "
        "constraint in the filters are out.",
    )


def _types_chart(lines: Sequence[_Line]) -> Chart:
    values = [
        [
            _mean_or_none(
                [
                    report["by_constraint_type"].get(kind, {}).get("mean_f1", {}).get("value")
                    for report in line.seeds.values()
                ]
            )
            for kind in TYPES
        ]
        for line in lines
    ]
    names = [f"{number}. {line.name}" for number, line in enumerate(lines, start=1)]
    title = "Mean F1 by type of constraint, mean over seeds, per cent"
    spec = heat_map(("critic", names), ("type", TYPES), values, bounds=(0.5, 1.0))
    return Chart("types", title, spec)


def _mean_or_none(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def _critics_chart(lines: Sequence[_Line]) -> Chart:
    charted = []
    for name, rate in (("positive F1", "f1_met"), ("negative F1", "f1_unmet")):
        points = []
        for number, line in enumerate(lines, start=1):
            values = list(line.values(rate).values())
            if values:
                points.append(Point(str(number), mean(values), min(values), max(values)))
        charted.append(Line(name, points, joined=False))
    low = min((point.low or 0.0 for line in charted for point in line.points), default=0.0)
    names = [str(number) for number in range(1, len(lines) + 1)]
    x = Axis("critic, as numbered in the table", names=names)
    y = Axis("F1", percent=True, bounds=(max(0.0, low - 0.05), 1.0))
    title = "F1 of the critics: means over seeds, from the lowest to the highest"
    return Chart("critics", title, line_chart(charted, x, y))


# --- the policy ---------------------------------------------------------------------------------


def _policies(out: Path, name: str) -> dict[int, dict[str, Any]]:
    """Read by seed the steps of GRPO, and at which one the divergence alarm went off."""
    policies = {}
    for path in sorted(out.glob(f"seed-*/{name}.json")):
        seed = int(path.parts[-2].removeprefix("seed-"))
        policies[seed] = json.loads(path.read_text(encoding="utf-8"))
    return policies


def _policy(title: str, policies: Mapping[int, Mapping[str, Any]]) -> Table:
    """Lay out reward and truth at the beginning and at the end."""
    rows = []
    for seed, policy in policies.items():
        steps = policy["steps"]
        ends = steps[:WINDOW], steps[-WINDOW:]
        cells = [
            f"{mean(step[key] for step in end):.3f}" for key in ("reward", "truth") for end in ends
        ]
        apart = [f"{mean(step['reward'] - step['truth'] for step in end):+.3f}" for end in ends]
        words = [f"{mean(step['words'] - 1 for step in end):.1f}" for end in ends]
        alarm = "–" if policy["alarm"] is None else f"step {policy['alarm']}"
        rows.append([f"seed {seed}", str(len(steps)), *cells, *apart, *words, alarm])
    return Table(
        title,
        [
            *("policy", "steps", "reward, first", "last", "truth, first", "last"),
            *("reward − truth, first", "last", "words, first", "last", "alarm"),
        ],
        rows,
        f"GRPO with critic 2. Means over the first and the last {WINDOW} steps. Reward: the share "
        "of constraints that the critic says are met; truth: the share that code finds met in the "
        "same responses. Alarm: where the divergence alarm went off.",
    )


TRUTHS = {"truth": "constraints met", "all_met": "responses that meet all their constraints"}
"""What code measures of a policy, by the key in its file."""


def _ablation(ablation: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> Table:
    """Lay out what each aggregate led to, by seed and in the mean."""
    rows = []
    for aggregate, policies in ablation.items():
        cells = []
        for key in (*TRUTHS, "equal_groups"):
            last = [
                mean(step[key] for step in policy["steps"][-WINDOW:])
                for policy in policies.values()
            ]
            cells += [", ".join(f"{100 * each:.1f}" for each in last), _over_seeds(last)]
        rows.append([aggregate, *cells])
    columns = ("constraints met, %", "all met, %", "groups without signal, %")
    return Table(
        "All or nothing, fraction or both",
        ["aggregate", *(each for name in columns for each in (name, "mean"))],
        rows,
        f"By code, in the last {WINDOW} steps, seed by seed; ± is Student's 95 % interval over "
        "seeds. GRPO with critic 2 behind all gates; a group whose rewards are all equal teaches "
        "it nothing.",
    )


def _ablation_chart(ablation: Mapping[str, Mapping[int, Mapping[str, Any]]], key: str) -> Chart:
    lines = [Line(aggregate, _points(policies, key)) for aggregate, policies in ablation.items()]
    x, y = _axes(lines, TRUTHS[key])
    title = f"Share of {TRUTHS[key]}, by the aggregate that rewards the policy"
    return Chart(f"aggregates-{key.replace('_', '-')}", title, line_chart(lines, x, y))


def _points(policies: Mapping[int, Mapping[str, Any]], key: str) -> list[Point]:
    """Average a number over the steps of a window, and over seeds."""
    steps = min(len(policy["steps"]) for policy in policies.values())
    points = []
    for start in range(0, max(1, steps - WINDOW + 1), WINDOW):
        values = [
            mean(step[key] for step in policy["steps"][start : start + WINDOW])
            for policy in policies.values()
        ]
        points.append(Point(start + WINDOW / 2, mean(values), min(values), max(values)))
    return points


def _axes(lines: Sequence[Line], share_of: str) -> tuple[Axis, Axis]:
    points = [point for line in lines for point in line.points]
    low, last = min(point.low or 0.0 for point in points), max(float(p.x) for p in points)
    steps = (0, last + WINDOW / 2)
    x = Axis("step (points: means of ten, over seeds, lowest to highest)", bounds=steps)
    return x, Axis(f"share of {share_of}", percent=True, bounds=(max(0.0, low - 0.05), 1.0))


def _policy_chart(name: str, title: str, policies: Mapping[int, Mapping[str, Any]]) -> Chart:
    named = (("reward, by the critic", "reward"), ("truth, by code", "truth"))
    lines = [Line(means, _points(policies, key)) for means, key in named]
    return Chart(name, title, line_chart(lines, *_axes(lines, "constraints met")))


def _seconds(out: Path) -> Table:
    """Lay out how long the stages took."""
    took: dict[str, list[tuple[float, float]]] = {}
    main: list[dict[str, float]] = []
    seeds = len(list(out.glob("seed-*/seconds.json")))
    for path in [out / "seconds.json", *sorted(out.glob("seed-*/seconds.json"))]:
        if not path.exists():
            continue
        known: dict[str, tuple[float, float]] = {}
        for result, spent in json.loads(path.read_text(encoding="utf-8")).items():
            stage = _stage(result)
            if path.parent == out or any(part in result for part in MAIN_PATH):
                share = 1 if path.parent == out else seeds
                main.append({name: value / share for name, value in spent.items()})
            wall, cpu = known.get(stage, (0.0, 0.0))
            known[stage] = wall + spent["wall"], cpu + spent["cpu"]
        for stage, seconds in known.items():
            took.setdefault(stage, []).append(seconds)
    rows = [
        [stage, f"{mean(wall for wall, _ in all_):.0f}", f"{mean(cpu for _, cpu in all_):.0f}"]
        for stage, all_ in took.items()
    ]
    if main:
        rows.append(["of these: all that critic 2 and the first policy need", *_total(main)])
    note = (
        "Means over seeds, one process with one thread for each. The machine was shared: what the "
        "work takes is the second column."
    )
    return Table("Seconds", ["stage", "by the clock", "of one processor core"], rows, note)


def _total(took: Sequence[Mapping[str, float]]) -> list[str]:
    return [f"{sum(seconds[clock] for seconds in took):.0f}" for clock in ("wall", "cpu")]


def _stage(result: str) -> str:
    """Name the stage that made a result."""
    if "/" not in result:
        names = dict.fromkeys(
            ("reading", "comparing", "concluding", "base"), "base model (all seeds)"
        )
        names["writer"] = "policy to begin with (all seeds)"
        return names.get(result, "policies" if result.startswith("policy") else "experts")
    folder, _, name = result.partition("/")
    if folder == "models":
        folder = "SFT" if name.endswith("-sft") else "DPO"
    return {
        "filtered": "filters",
        "parts": "split",
        "measured": "measuring",
        "sampled": "sampling",
        "quality": "measuring",
    }.get(folder, folder)
