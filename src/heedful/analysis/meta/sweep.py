"""Sweep: judge labelled rows under several protocols, and set accuracy against cost.

``labelled file → arms (runs) → accuracy and cost → frontier → chosen``
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from heedful.analysis.meta.bench import Bench
from heedful.analysis.meta.job import asked, check_labels, from_run, known_verdicts
from heedful.analysis.meta.labels import MET, UNMET, Sums, without_labels
from heedful.analysis.meta.measures import confusion, coverage, rate_difference, settle
from heedful.core.errors import UsageError
from heedful.core.text import amount
from heedful.core.version import __version__
from heedful.engine.dry_run import end_dry_run, is_dry_run
from heedful.engine.runner import finish
from heedful.judges import make_judge
from heedful.metrics.agreement import rate_estimates
from heedful.models.options import CONNECTION
from heedful.reporting.document import Document
from heedful.reporting.notation import COVERAGE, INTERVAL, interval, percent, signed
from heedful.reporting.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Unpack

    from heedful.analysis.meta.labels import JudgeEntry, Labelled
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


PER = 1_000
"""Costs are given for as many constraints."""

UNITS = ("dollars", "tokens", "calls")
"""Units of cost, in order of preference."""


class JudgedArm(NamedTuple):
    """A protocol, as judged."""

    name: str
    settings: Mapping[str, Any]
    entry: JudgeEntry

    def cells(self, labelled: Labelled) -> Sums:
        """Count verdicts by label and instruction; what is undecided isn't right."""
        sums = Sums(4)
        for target, (states, *_) in self.entry.rows(labelled):
            right = settle(target.labels, states, right=False)
            sums.add(target.cluster, confusion(target.labels, right))
        return sums

    def cost(self, unit: str) -> float | None:
        """Return what a constraint cost; ``None`` where that isn't known."""
        paid = self.entry.cost
        if paid is None:
            return 0.0
        tokens = (paid["prompt_tokens"], paid["completion_tokens"])
        total = paid.get(unit) if unit != "tokens" else None if None in tokens else sum(tokens)
        return None if total is None else total / max(1, self.entry.constraints)


def sweep(
    data: Data,
    arms: Sequence[SweepArm] = (),
    *,
    runs: Sequence[Name] = (),
    margin: float = 0.01,
    seed: int = 0,
    **options: Unpack[MetaOptions],
) -> dict[str, Any]:
    """Judge labelled rows under several protocols, and choose one by accuracy and cost."""
    _check(options, margin, [*arms, *runs])
    if options.get("truth") is None:
        arms = [replace(arm, judge=without_labels(arm.judge)) for arm in arms]

    async def work() -> dict[str, Any]:
        bench = Bench(data, options, scoring="strict", seed=seed)
        labelled = await known_verdicts(bench, [arm.judge.name for arm in arms])
        check_labels(labelled, bench.where, [arm.judge for arm in arms])
        saved = [
            JudgedArm(str(run), {}, from_run(Path(run), labelled, finished=True)[0]) for run in runs
        ]
        if is_dry_run():
            end_dry_run([_planned(arm, bench) for arm in arms])
        judged = [
            JudgedArm(arm.name, arm.settings, (await asked(arm.judge, labelled, bench))[0])
            for arm in arms
        ]
        return _summary([*judged, *saved], labelled, bench, margin)

    return finish(work())


def _check(options: MetaOptions, margin: float, swept: Sequence[object]) -> None:
    """Refuse what makes no sense before anything is paid for."""
    if not 0 <= margin < 1:
        raise UsageError(f"the margin is {margin}", hint="give a share, such as 0.01 for a point")
    if options.get("probes"):
        raise UsageError("a sweep has no probes", hint="leave them out")
    if not swept:
        raise UsageError("there is nothing to sweep", hint="give protocols, or runs")


def _planned(arm: SweepArm, bench: Bench) -> dict[str, Any]:
    planned = bench.planned(arm.judge)
    judges = [{**judge, "judge": arm.name} for judge in planned["judges"]]
    return {**planned, "judge": arm.name, "judges": judges}


def _summary(
    judged: Sequence[JudgedArm], labelled: Labelled, bench: Bench, margin: float
) -> dict[str, Any]:
    both = labelled.count(MET) and labelled.count(UNMET)
    rate, unit = "balanced_accuracy" if both else "accuracy", _unit(judged)
    protocols, best = _protocols(judged, labelled, rate, unit, bench.seed)
    chosen = next(
        each["name"]
        for each in protocols
        if each["name"] == best
        or ((between := each["difference"]["interval"]) and between[0] >= -margin)
    )
    return {
        "heedful": __version__,
        "input": bench.where or None,
        "rate": rate,
        "unit": unit,
        "per": PER,
        "margin": margin,
        "seed": bench.seed,
        "rows": {"read": labelled.read, "failed": labelled.failed},
        "labels": labelled.counts(),
        "protocols": protocols,
        "best": best,
        "chosen": chosen,
        "problems": labelled.problems,
    }


def _protocols(
    judged: Sequence[JudgedArm], labelled: Labelled, rate: str, unit: str, seed: int
) -> tuple[list[dict[str, Any]], str]:
    """Measure protocols, cheapest first, and name the best; of equals that is the cheapest."""
    cells = {arm.name: arm.cells(labelled) for arm in judged}
    accuracies = {name: rate_estimates(of.counted(), [rate])[rate] for name, of in cells.items()}
    values = {name: accuracy["value"] or 0.0 for name, accuracy in accuracies.items()}
    arms = sorted(judged, key=lambda arm: (arm.cost(unit) or 0.0, -values[arm.name]))
    best = max(arms, key=lambda arm: values[arm.name]).name
    compared = ("recall_met", "recall_unmet") if rate == "balanced_accuracy" else (rate,)
    top, protocols = -1.0, []
    for arm in arms:
        frontier, top = values[arm.name] > top, max(top, values[arm.name])
        against_best = cells[arm.name].beside(cells[best])
        protocols.append(
            {
                "name": arm.name,
                "settings": {key: _plain(value) for key, value in arm.settings.items()},
                "run": arm.entry.run,
                "accuracy": accuracies[arm.name],
                "coverage": coverage(arm.entry, labelled),
                "cost": (arm.cost(unit) or 0.0) * PER,
                "difference": rate_difference(against_best, compared, seed),
                "frontier": frontier,
            }
        )
    return protocols, best


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else str(value.name)


def _unit(judged: Sequence[JudgedArm]) -> str:
    for unit in UNITS:
        costs = [arm.cost(unit) for arm in judged]
        if None not in costs and any(costs):
            return unit
    return UNITS[-1]


RATES = {"balanced_accuracy": "balanced accuracy", "accuracy": "accuracy"}


def document(summary: Mapping[str, Any]) -> Document:
    """Lay out a sweep as a document."""
    labels = summary["labels"]
    headline = (
        f"{amount(len(summary['protocols']), 'protocol')} on "
        f"{amount(labels['met'] + labels['unmet'], 'labelled constraint')} of "
        f"{amount(labels['instructions'], 'instruction')}. "
        f"Labels: {', '.join(labels['from'])}."
    )
    return Document("Protocols", [headline, _chosen(summary)], [_table(summary)])


def _chosen(summary: Mapping[str, Any]) -> str:
    margin = f"{100 * summary['margin']:g} points"
    best = f"Best: {summary['best']}."
    if summary["chosen"] == summary["best"]:
        return f"{best} No cheaper one is shown to lose less than {margin}."
    costs = {each["name"]: each["cost"] for each in summary["protocols"]}
    saved = percent(1 - costs[summary["chosen"]] / costs[summary["best"]], 1)
    return (
        f"{best} Chosen: {summary['chosen']}, the cheapest that is shown to lose less than "
        f"{margin}; it saves {saved} %."
    )


def _table(summary: Mapping[str, Any]) -> Table:
    unit = summary["unit"]
    rows = [
        (
            ("* " if each["frontier"] else "") + each["name"],
            percent(each["accuracy"]["value"], 1),
            interval(each["accuracy"]["interval"]),
            percent(each["coverage"], 1),
            _cost(each["cost"], unit),
            signed(each["difference"]["value"], 1) if each["name"] != summary["best"] else "",
            interval(each["difference"]["interval"], signed)
            if each["name"] != summary["best"]
            else "",
        )
        for each in summary["protocols"]
    ]
    columns = (
        "protocol",
        f"{RATES[summary['rate']]} %",
        INTERVAL,
        COVERAGE,
        f"{unit} for {summary['per']:,}",
        "Δ best",
        INTERVAL,
    )
    note = (
        f"{unit.capitalize()} for {summary['per']:,} constraints. *: on the frontier, nothing is "
        "at least as accurate for less. What stays undecided isn't right. Δ best: paired, with "
        "instructions whole. The best of many is in part lucky: measure it again on rows that it "
        "wasn't chosen on."
    )
    return Table("Accuracy against cost", columns, rows, note).filled()


def _cost(value: float, unit: str) -> str:
    return f"${value:,.4f}" if unit == "dollars" else f"{value:,.0f}"
