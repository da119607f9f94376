"""The report of a training: ``training.json``, ``training.md``, ``training.html``, its curves."""

from __future__ import annotations

import math
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from heedful.core.text import amount
from heedful.core.version import __version__
from heedful.reporting.chart import Chart
from heedful.reporting.document import Document
from heedful.reporting.notation import percent
from heedful.reporting.plots import Axis, Line, Point, line_chart
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.critic.training.folder import Folder
    from heedful.critic.training.held_out import HeldOut
    from heedful.critic.training.plan import TrainingPlan

EVALUATION = "held_out"
"""The key in the trainer's log under which the result of an evaluation stands."""

_PACKAGES = ("torch", "transformers", "trl", "accelerate", "peft", "tokenizers")
_CURVE = {
    "loss": "loss",
    "grad_norm": "gradient_norm",
    "learning_rate": "learning_rate",
    "mean_token_accuracy": "token_accuracy",
    "rewards/chosen": "reward_chosen",
    "rewards/rejected": "reward_rejected",
    "rewards/margins": "reward_margin",
    "rewards/accuracies": "reward_accuracy",
}
"""Values in the trainer's log that are reported of each step, with their names in the report."""

_MAX_POINTS = 100
"""Points of a curve at most; where there are more, each is the mean of several steps."""

RATES = ("f1_met", "f1_unmet", "mean_f1")
_SHOWN = {"f1_met": "positive F1", "f1_unmet": "negative F1", "mean_f1": "their mean"}


def collected(
    job: TrainingPlan,
    configuration: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]],
    *,
    held_out: dict[str, Any] | None,
    test: dict[str, Any] | None,
    best: Mapping[str, Any] | None,
    seconds: float,
) -> dict[str, Any]:
    """Put the report together."""
    curve = [
        {"step": log["step"], **{name: log[key] for key, name in _CURVE.items() if key in log}}
        for log in history
        if "loss" in log
    ]
    rows = job.rows
    last = curve[-1]["step"] if curve else 0
    return {
        "heedful": __version__,
        "stage": job.settings.stage,
        "task": rows.task,
        "prompt": job.settings.prompt,
        "model": job.model.name,
        "data": str(rows.path),
        "evaluation": job.held_out.where or None if job.held_out else None,
        "test_data": job.test.where or None if job.test else None,
        "rows": _rows(job, history),
        "problems": rows.left_out.problems,
        "checkpoint": {
            "step": best["step"] if best else last,
            "of": last,
            "because": "best mean F1, the undecided taken as wrong" if best else "last",
        },
        "held_out": held_out,
        "held_out_rows": _known_rows(job, job.held_out),
        "test": test,
        "test_rows": _known_rows(job, job.test),
        "evaluations": [
            {"step": log["step"], **_short(log[EVALUATION])} for log in history if EVALUATION in log
        ],
        "curve": curve,
        "seconds": seconds,
        "settings": job.settings.model_dump(mode="json"),
        "configuration": dict(configuration),
        "versions": _versions(),
    }


def _rows(job: TrainingPlan, history: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Count the rows, and those that the steps have come to."""
    rows = len(job.tokens.rows)
    passes = max((log.get("epoch", 0.0) for log in history), default=0.0)
    return {
        "read": job.rows.read,
        "usable": rows,
        "trained_on": min(rows, round(rows * passes)),
        "passes": passes,
        "left_out": dict(sorted(job.rows.left_out.reasons.items())),
    }


def write(report: Mapping[str, Any], folder: Folder) -> None:
    """Write the charts, the pages, and last the report itself."""
    document(report).write(folder.path, report, name=folder.report.stem)


def document(report: Mapping[str, Any]) -> Document:
    """Lay out the report."""
    stage = {"sft": "Fine-tuning", "dpo": "Preference training"}[report["stage"]]
    problems = [
        f"line {problem['line']}, {problem['id']}: {problem['problem']}"
        for problem in report["problems"]
    ]
    parts: list[Table | Chart] = [*_charts(report), *tables(report)]
    return Document(f"{stage} of {report['model']}", [summary(report)], parts, problems)


def summary(report: Mapping[str, Any]) -> str:
    """Summarise the training in a few sentences."""
    rows, kept, held_out = report["rows"], report["checkpoint"], report["held_out"]
    kind = "pair" if report["stage"] == "dpo" else "row"
    seen, usable = rows["trained_on"], rows["usable"]
    which = amount(usable, kind) if seen == usable else f"{seen:,} of {amount(usable, kind)}"
    said = [f"Trained on {which} ({rows['passes']:.1f} passes) in {_hours(report['seconds'])}."]
    out = sum(rows["left_out"].values())
    if out:
        why = ", ".join(f"{name} {count:,}" for name, count in rows["left_out"].items())
        said.append(f"{out:,} of {rows['read']:,} were left out ({why}).")
    said.append(f"Kept: step {kept['step']:,} of {kept['of']:,} ({kept['because']}).")
    for measured, name in ((report.get("test"), "test"), (held_out, "held-out")):
        if measured is None:
            continue
        met, unmet, mean = (percent(measured["pooled"][rate]["value"], 1) for rate in RATES)
        chose = ""
        if name == "held-out" and kept["because"] != "last":
            chose = " They chose the weights, so this is the best of several"
            chose += "." if report.get("test") else ": --test measures on others."
        said.append(
            f"On the {name} samples it has positive F1 {met}, negative F1 {unmet}, mean {mean}, "
            f"at a coverage of {percent(measured['coverage'], 1)} %, measured on the model as it "
            f"lies here.{chose}"
        )
    return " ".join(said)


def tables(report: Mapping[str, Any]) -> list[Table]:
    """Make the report's tables."""
    parts = []
    held_out = report["held_out"]
    if held_out is not None:
        evaluations, kept = report["evaluations"], report["checkpoint"]["step"]
        columns = ("step", *(_SHOWN[rate] for rate in RATES), "coverage %")
        rows = [
            [
                f"{measured['step']:,}" + (" (kept)" if measured["step"] == kept else ""),
                *(percent(measured[rate], 1) for rate in RATES),
                percent(measured["coverage"], 1),
            ]
            for measured in evaluations
        ]
        parts.append(Table("Held-out samples, step by step", columns, rows))
    parts += [*_by_type(report.get("test"), "test"), *_by_type(held_out, "held-out")]
    settings = {**report["settings"], **report["versions"]}
    rows = [[name, _written(value)] for name, value in settings.items() if value not in (None, [])]
    parts.append(Table("Settings and versions", ("what", "value"), rows, words=2))
    return parts


def _by_type(measured: Mapping[str, Any] | None, name: str) -> Iterator[Table]:
    kinds = measured["by_constraint_type"] if measured else {}
    rows = [
        [
            kind,
            *(percent(each[rate]["value"], 1) for rate in RATES),
            f"{each['verdicts']:,}",
            percent(each["coverage"], 1),
        ]
        for kind, each in kinds.items()
    ]
    columns = ("type", *(_SHOWN[rate] for rate in RATES), "verdicts", "coverage %")
    if rows:
        yield Table(f"By constraint type, {name} samples", columns, rows, "Of the model kept.")


def _known_rows(job: TrainingPlan, held_out: HeldOut | None) -> dict[str, Any] | None:
    if held_out is None:
        return None
    return {
        "judged": len(held_out.samples),
        "left_out": len(held_out.left_out),
        "also_trained_on": job.also_trained_on(held_out),
        "problems": held_out.left_out.problems[:20],
        "max_completion_tokens": job.limit,
    }


def _short(measured: Mapping[str, Any]) -> dict[str, Any]:
    pooled = measured["pooled"]
    return {
        **{rate: pooled[rate]["value"] for rate in RATES},
        "score": pooled["mean_f1"]["bounds"][0],
        "coverage": measured["coverage"],
        "verdicts": measured["verdicts"],
    }


def _charts(report: Mapping[str, Any]) -> Iterator[Chart]:
    curve, evaluations = report["curve"], report["evaluations"]
    if curve:
        yield _curve("loss", "Loss", [Line("loss", _thinned(curve, "loss"))])
        rewards = [
            Line(name, _thinned(curve, key))
            for key, name in (("reward_chosen", "chosen"), ("reward_rejected", "rejected"))
            if key in curve[0]
        ]
        if rewards:
            yield _curve("rewards", "Implicit reward", rewards)
    if evaluations:
        lines = [
            Line(
                _SHOWN[rate],
                [
                    Point(evaluation["step"], evaluation[rate])
                    for evaluation in evaluations
                    if evaluation[rate] is not None
                ],
            )
            for rate in RATES
        ]
        lines.append(
            Line(
                "coverage",
                [Point(evaluation["step"], evaluation["coverage"]) for evaluation in evaluations],
            )
        )
        y = Axis("on the held-out samples", percent=True, bounds=(0.0, 1.0))
        yield Chart("f1", "Held-out samples", line_chart(lines, Axis("step"), y))


def _curve(name: str, title: str, lines: Sequence[Line]) -> Chart:
    values = [point.y for line in lines for point in line.points]
    low, high = min(0.0, *values), max(values)
    y = Axis(title.lower(), bounds=(low, high if high > low else 1.0))
    return Chart(name, title, line_chart(lines, Axis("step"), y))


def _thinned(curve: Sequence[Mapping[str, Any]], key: str) -> list[Point]:
    """Make points of a curve, each the mean of as many steps as need be."""
    size = math.ceil(len(curve) / _MAX_POINTS)
    parts = [curve[start : start + size] for start in range(0, len(curve), size)]
    return [Point(part[-1]["step"], sum(step[key] for step in part) / len(part)) for part in parts]


def _versions() -> dict[str, str]:
    import torch

    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    return {**versions, "device": device}


def _hours(seconds: float) -> str:
    """Write a duration in the unit that fits."""
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"


def _written(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
