"""Sweep: judge labelled rows under several protocols, and set accuracy against cost.

``labelled file → arms (runs) → accuracy and cost on choose → chosen → proof on prove``
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from heedful.analysis.align.document import RATE_NAMES
from heedful.analysis.align.trials import (
    BALANCED,
    PER,
    Trials,
    cells,
    cost_of,
    mean_rate,
    unit_of,
)
from heedful.analysis.meta.bench import Bench
from heedful.analysis.meta.job import from_run
from heedful.analysis.meta.labels import without_labels
from heedful.analysis.meta.measures import coverage, rate_difference
from heedful.core.errors import UsageError
from heedful.core.text import amount
from heedful.core.version import __version__
from heedful.engine.dry_run import end_dry_run, is_dry_run
from heedful.judges import make_judge
from heedful.judges.protocol import plain
from heedful.models.options import CONNECTION
from heedful.reporting.document import Document
from heedful.reporting.notation import COVERAGE, INTERVAL, interval, percent, signed
from heedful.reporting.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from typing import Unpack

    from heedful.analysis.align.trials import LabelledPart
    from heedful.analysis.meta.labels import JudgeEntry
    from heedful.analysis.meta.options import MetaOptions
    from heedful.engine.inputs import Data
    from heedful.judges import Judge, JudgeOptions

    Name = str | os.PathLike[str]


AXES = (
    "judge",
    "model",
    "prompt",
    "explain",
    "measure",
    "per_call",
    "votes",
    "temperature",
    "reasks",
)
"""The settings that may be swept; but for the first they are options of a judge."""

LIKELIHOOD = "likelihood"
"""The judge that has a prompt of its own, and so is asked in one way only."""

_OF_LIKELIHOOD = ("judge", "model")

MOST = 64
"""Protocols of a sweep; the best of more would be a matter of luck."""


@dataclass(frozen=True, slots=True)
class SweepArm:
    """A protocol of a sweep."""

    name: str
    judge: Judge
    settings: Mapping[str, Any] = field(default_factory=dict)


def protocols(
    axes: Mapping[str, Sequence[Any]], *, judge: str = "checklist", **options: Any
) -> list[SweepArm]:
    """Make a judge for every combination of settings.

    >>> from heedful.models import ScriptedModel
    >>> arms = protocols({"per_call": [1, None], "votes": [1, 3]}, model=ScriptedModel("MET"))
    >>> [arm.name for arm in arms][:2]
    ['per_call=1 votes=1', 'per_call=1 votes=3']
    """
    for name, values in axes.items():
        if name not in AXES:
            raise UsageError(f"there is no setting {name!r}", hint=f"there are {', '.join(AXES)}")
        if not values:
            raise UsageError(f"{name} has no values", hint=f"write {name}=A,B")
    arms: dict[str, SweepArm] = {}
    for values in product(*axes.values()):
        settings = dict(zip(axes, values, strict=True))
        names = settings.get("judge", judge)
        common = options
        if names == LIKELIHOOD:
            settings = {key: each for key, each in settings.items() if key in _OF_LIKELIHOOD}
            kept = (*CONNECTION, "model", "body")
            common = {key: each for key, each in options.items() if key in kept}
        name = " ".join(f"{key}={_word(each)}" for key, each in settings.items()) or names
        if name not in arms:
            own = {key: each for key, each in settings.items() if key != "judge"}
            given = cast("JudgeOptions", {**common, **own})
            arms[name] = SweepArm(name, make_judge(names, **given), settings)
        if len(arms) > MOST:
            raise UsageError(f"there are more than {MOST} protocols", hint="sweep fewer settings")
    return list(arms.values())


def _word(value: Any) -> str:
    if value is None:
        return "all"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(getattr(value, "name", value))


class _JudgedArm(NamedTuple):
    """A protocol, as judged on choose, and how it judges another part."""

    name: str
    settings: Mapping[str, Any]
    entry: JudgeEntry
    on: Callable[[LabelledPart], JudgeEntry]


def sweep(
    data: Data,
    arms: Sequence[SweepArm] = (),
    *,
    runs: Sequence[Name] = (),
    margin: float = 0.01,
    seed: int = 0,
    **options: Unpack[MetaOptions],
) -> dict[str, Any]:
    """Judge labelled rows under several protocols, and choose one by accuracy and cost.

    Half of the instructions choose; on the others, the chosen one is measured, and compared with
    the one that was best.
    """
    if not 0 <= margin < 1:
        raise UsageError(f"the margin is {margin}", hint="give a share, such as 0.01 for a point")
    if not arms and not runs:
        raise UsageError("there is nothing to sweep", hint="give protocols, or runs")
    if options.get("truth") is None:
        arms = [replace(arm, judge=without_labels(arm.judge)) for arm in arms]
    bench = Bench(data, options, scoring="strict", seed=seed)
    trials = Trials.of(bench, [arm.judge for arm in arms])
    (choose,) = trials.rungs

    def saved(run: Name) -> _JudgedArm:
        def on(part: LabelledPart) -> JudgeEntry:
            return from_run(Path(run), part.labelled, finished=True)[0]

        return _JudgedArm(str(run), {}, on(choose), on)

    def judged(arm: SweepArm) -> _JudgedArm:
        def on(part: LabelledPart) -> JudgeEntry:
            return trials.judged(arm.judge, part)

        return _JudgedArm(arm.name, arm.settings, on(choose), on)

    finished = [*map(saved, runs)]
    if is_dry_run():
        proof = "the one chosen, and the best, judge the other half, too"
        end_dry_run([_planned(arm, bench, choose) for arm in arms], on_top=proof)
    return _summary([*map(judged, arms), *finished], trials, margin)


def _planned(arm: SweepArm, bench: Bench, part: LabelledPart) -> dict[str, Any]:
    planned = bench.planned(arm.judge, part.samples)
    judges = [{**judge, "judge": arm.name} for judge in planned["judges"]]
    return {**planned, "judge": arm.name, "judges": judges}


def _summary(judged: Sequence[_JudgedArm], trials: Trials, margin: float) -> dict[str, Any]:
    labelled, unit = trials.labelled, unit_of([arm.entry for arm in judged])
    protocols, best = _protocols(judged, trials, unit)
    chosen = next(
        each["name"]
        for each in protocols
        if each["name"] == best
        or ((between := each["difference"]["interval"]) and between[0] >= -margin)
    )
    arms = {arm.name: arm for arm in judged}
    after = arms[chosen].on(trials.prove)
    before = after if chosen == best else arms[best].on(trials.prove)
    return {
        "heedful": __version__,
        "input": trials.bench.where or None,
        "rate": "balanced_accuracy" if trials.rates == BALANCED else trials.rates[0],
        "unit": unit,
        "per": PER,
        "margin": margin,
        "seed": trials.bench.seed,
        "rows": {"read": labelled.read, "failed": labelled.failed},
        "labels": labelled.counts(),
        "parts": trials.counts(),
        "protocols": protocols,
        "best": best,
        "chosen": chosen,
        "proof": trials.proof(before, after),
        "problems": labelled.problems,
    }


def _protocols(
    judged: Sequence[_JudgedArm], trials: Trials, unit: str
) -> tuple[list[dict[str, Any]], str]:
    """Measure protocols, cheapest first, and name the best; of equals that is the cheapest."""
    (choose,) = trials.rungs
    counted = {arm.name: cells(arm.entry, choose.labelled) for arm in judged}
    accuracies = {name: mean_rate(of, trials.rates) for name, of in counted.items()}
    values = {name: accuracy["value"] or 0.0 for name, accuracy in accuracies.items()}
    costs = {arm.name: cost_of(arm.entry, unit) or 0.0 for arm in judged}
    arms = sorted(judged, key=lambda arm: (costs[arm.name], -values[arm.name]))
    best = max(arms, key=lambda arm: values[arm.name]).name
    top, protocols = -1.0, []
    for arm in arms:
        frontier, top = values[arm.name] > top, max(top, values[arm.name])
        against_best = counted[arm.name].beside(counted[best])
        protocols.append(
            {
                "name": arm.name,
                "settings": {name: plain(value) for name, value in arm.settings.items()},
                "run": arm.entry.run,
                "accuracy_on_choose": values[arm.name],
                "coverage": coverage(arm.entry, choose.labelled),
                "cost": costs[arm.name] * PER,
                "difference": rate_difference(against_best, trials.rates, trials.bench.seed),
                "frontier": frontier,
            }
        )
    return protocols, best


def document(summary: Mapping[str, Any]) -> Document:
    """Lay out a sweep as a document."""
    labels, parts = summary["labels"], summary["parts"]
    headline = (
        f"{amount(len(summary['protocols']), 'protocol')} on "
        f"{amount(labels['met'] + labels['unmet'], 'labelled constraint')}: "
        f"{parts['choose']['instructions']} instructions choose, "
        f"{parts['prove']['instructions']} measure the choice. "
        f"Labels: {', '.join(labels['from'])}."
    )
    return Document("Protocols", [headline, _chosen(summary), _proof(summary)], [_table(summary)])


def _chosen(summary: Mapping[str, Any]) -> str:
    margin = f"{100 * summary['margin']:.2f} points"
    best = f"Best: {summary['best']}."
    if summary["chosen"] == summary["best"]:
        return f"{best} No cheaper one is shown to lose less than {margin}."
    costs = {each["name"]: each["cost"] for each in summary["protocols"]}
    saved = percent(1 - costs[summary["chosen"]] / costs[summary["best"]], 1)
    return (
        f"{best} Chosen: {summary['chosen']}, the cheapest that is shown to lose less than "
        f"{margin}; it saves {saved} %."
    )


def _proof(summary: Mapping[str, Any]) -> str:
    proof = summary["proof"]
    own = proof["after"]["accuracy_compared"]
    said = (
        f"On the instructions that didn't choose: {RATE_NAMES[summary['rate']]} of "
        f"{summary['chosen']} {percent(own['value'], 1)} % ({interval(own['interval'])})"
    )
    if summary["chosen"] == summary["best"]:
        return f"{said}."
    difference = proof["difference"]
    return (
        f"{said}; against the best that is {signed(difference['value'], 1)} points "
        f"({interval(difference['interval'], signed)})."
    )


def _table(summary: Mapping[str, Any]) -> Table:
    unit = summary["unit"]
    rows = [
        (
            ("* " if each["frontier"] else "") + each["name"],
            signed(each["difference"]["value"], 1) if each["name"] != summary["best"] else "best",
            interval(each["difference"]["interval"], signed)
            if each["name"] != summary["best"]
            else "",
            percent(each["coverage"], 1),
            _cost(each["cost"], unit),
        )
        for each in summary["protocols"]
    ]
    columns = ("protocol", "Δ best", INTERVAL, COVERAGE, f"{unit} for {summary['per']:,}")
    note = (
        f"On the instructions that choose. Δ best: of {RATE_NAMES[summary['rate']]}, in points, "
        "paired, with instructions whole; the best of many is partly lucky, so its own accuracy "
        f"isn't given here. {unit.capitalize()} for {summary['per']:,} constraints. *: on the "
        "frontier, nothing is at least as accurate for less. What stays undecided isn't right."
    )
    return Table("Accuracy against cost", columns, rows, note).filled()


def _cost(value: float, unit: str) -> str:
    return f"${value:,.4f}" if unit == "dollars" else f"{value:,.0f}"
