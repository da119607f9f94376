"""Sweep: judge labelled rows under several protocols, and set accuracy against cost.

``labelled file → arms (runs) → cascades of them (replayed) → frontier → chosen``

A cascade needs no call: both judges have judged all rows. Its threshold is chosen on one half of
the instructions and used on the other, and the other way round, so no row is judged with a
threshold that it had a part in.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from heedful.analysis.cascade import (
    NEVER,
    ReplayedRow,
    ReplayedVerdict,
    choose_threshold,
    halves,
)
from heedful.analysis.meta.bench import Bench, settings
from heedful.analysis.meta.entries import MISSING, JudgeEntry, Sums, collect
from heedful.analysis.meta.job import check_labels, known_verdicts
from heedful.analysis.meta.labels import MET, UNKNOWN, UNMET, without_labels
from heedful.analysis.meta.measures import confusion, coverage, rate_difference, settle
from heedful.core.errors import UsageError
from heedful.core.text import amount
from heedful.core.version import __version__
from heedful.engine.dry_run import end_dry_run, is_dry_run
from heedful.engine.runner import finish
from heedful.engine.saved_run import SavedRun
from heedful.jobs.results import scored_entry
from heedful.judges import make_judge
from heedful.metrics.agreement_intervals import rate_estimates
from heedful.models.options import CONNECTION
from heedful.reporting.chart import Chart
from heedful.reporting.document import Document
from heedful.reporting.notation import COVERAGE, INTERVAL, interval, percent, signed
from heedful.reporting.table import Table
from heedful.reporting.xy_charts import Axis, Line, Point, bounds_of, line_chart

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Unpack

    from heedful.analysis.meta.bench import MetaOptions, MetaSettings
    from heedful.analysis.meta.labels import Labelled, Target
    from heedful.engine.inputs import Data
    from heedful.jobs.results import Scored
    from heedful.judges import Judge, JudgeOptions
    from heedful.metrics.agreement import Confusion

    Name = str | os.PathLike[str]

__all__ = ["document", "protocols", "sweep"]

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
"""Protocols of a sweep: more are a mistake, or would make the best of them a matter of luck."""


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


@dataclass
class JudgedArm:
    """A protocol, as judged."""

    name: str
    entry: JudgeEntry = field(default_factory=lambda: JudgeEntry("", ""))
    settings: Mapping[str, Any] = field(default_factory=dict)
    confidences: dict[str, tuple[float, ...]] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    constraints: int = 0
    cost: dict[str, float | None] = field(default_factory=dict)
    cascade: dict[str, Any] | None = None

    def watched(self, rows: Iterable[Scored]) -> Iterator[Scored]:
        """Pass rows on, and note what an entry doesn't hold."""
        for row in rows:
            if row.sample is not None and row.critique is not None:
                judgments, expenses = row.critique.judgments, row.critique.expenses
                self.confidences[row.sample.id] = tuple(
                    1.0 if each.confidence is None else each.confidence for each in judgments
                )
                spent = sum(each.prompt_tokens + each.completion_tokens for each in expenses)
                self.tokens[row.sample.id] = spent
                self.constraints += len(judgments)
            yield row

    def verdicts(self, target: Target) -> list[tuple[str, float]]:
        """Return the verdicts on a row's constraints, each with its confidence."""
        number = len(target.labels)
        states = self.entry.verdicts.get(target.id, [""])[0].ljust(number, MISSING)
        known = self.confidences.get(target.id, ())[:number]
        return list(zip(states, (*known, *[0.0] * (number - len(known))), strict=True))

    def take(self, judge: str, rows: Iterable[Scored], labelled: Labelled, summary: Any) -> None:
        """Take in what came of a run."""
        self.entry = collect(judge, self.watched(rows), labelled, {})[0]
        cost = summary.get("cost") or dict.fromkeys(
            ("dollars", "prompt_tokens", "completion_tokens", "calls"), 0
        )
        parts = (cost["prompt_tokens"], cost["completion_tokens"])
        tokens = None if None in parts else sum(parts)
        amounts = {"dollars": cost["dollars"], "tokens": tokens, "calls": cost["calls"]}
        self.cost = {
            unit: None if value is None else value / max(1, self.constraints)
            for unit, value in amounts.items()
        }


class SweepMeasure(NamedTuple):
    """How protocols are measured: the same for all of them."""

    labelled: Labelled
    rate: str
    unit: str
    margin: float
    seed: int

    def accuracy(self, candidate: JudgedArm) -> dict[str, Any]:
        """Compute the share of labels that it got right; what is undecided isn't."""
        sums = Sums(4)
        for cluster, cells in self._cells(candidate):
            sums.add(cluster, cells)
        return {**rate_estimates(sums.counted(), [self.rate])[self.rate]}

    def cost(self, candidate: JudgedArm) -> float:
        """Return what a constraint costs."""
        return candidate.cost[self.unit] or 0.0

    def difference(self, first: JudgedArm, second: JudgedArm) -> dict[str, Any]:
        """Compare the accuracy of two protocols: first minus second."""
        sums = Sums(8)
        for (cluster, mine), (_, theirs) in zip(
            self._cells(first), self._cells(second), strict=True
        ):
            sums.add(cluster, (*mine, *theirs))
        balanced = ("recall_met", "recall_unmet")
        rates = balanced if self.rate == "balanced_accuracy" else (self.rate,)
        return rate_difference(sums.counted(), rates, self.seed)

    def _cells(self, candidate: JudgedArm) -> Iterator[tuple[int, Confusion]]:
        for target, (states, *_) in candidate.entry.rows(self.labelled):
            right = settle(target.labels, states, right=False)
            yield target.cluster, confusion(target.labels, right)


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
    chosen = settings(**options)
    _check(chosen, margin, [*arms, *runs])
    if chosen.truth is None:
        arms = [replace(arm, judge=without_labels(arm.judge)) for arm in arms]

    async def work() -> dict[str, Any]:
        bench = Bench(data, chosen, scoring="strict", seed=seed)
        labelled = await known_verdicts(bench, chosen, [arm.judge.name for arm in arms])
        check_labels(labelled, bench.where, [arm.judge for arm in arms])
        saved = [_replayed(Path(run), labelled) for run in runs]
        if is_dry_run():
            end_dry_run([_planned(arm, bench) for arm in arms])
        judged = [await _judged(arm, labelled, bench) for arm in arms]
        return _summary([*judged, *saved], labelled, bench, margin)

    return finish(work())


def _check(chosen: MetaSettings, margin: float, swept: Sequence[object]) -> None:
    """Refuse what makes no sense before anything is paid for."""
    if not 0 <= margin < 1:
        raise UsageError(f"the margin is {margin}", hint="give a share, such as 0.01 for a point")
    if chosen.probes or chosen.correct or chosen.arbiter is not None:
        raise UsageError("a sweep has no probes, corrections or arbiter", hint="leave them out")
    if not swept:
        raise UsageError("there is nothing to sweep", hint="give protocols, or runs")


def _planned(arm: SweepArm, bench: Bench) -> dict[str, Any]:
    planned = bench.planned(arm.judge)
    judges = [{**judge, "judge": arm.name} for judge in planned["judges"]]
    return {**planned, "judge": arm.name, "judges": judges}


async def _judged(arm: SweepArm, labelled: Labelled, bench: Bench) -> JudgedArm:
    candidate = JudgedArm(arm.name, settings=arm.settings)
    result = await bench.judged(arm.judge)
    candidate.take(arm.judge.name, result, labelled, result.summary)
    candidate.entry.run = None if result.directory is None else str(result.directory)
    return candidate


def _replayed(directory: Path, labelled: Labelled) -> JudgedArm:
    candidate = JudgedArm(str(directory))
    with SavedRun.open(directory) as run:
        candidate.take(str(run.judge["judge"]), run.rows(scored_entry), labelled, run.summary)
    candidate.entry.run = str(directory)
    return candidate


def _summary(
    judged: Sequence[JudgedArm], labelled: Labelled, bench: Bench, margin: float
) -> dict[str, Any]:
    both = labelled.count(MET) and labelled.count(UNMET)
    measure = SweepMeasure(
        labelled,
        "balanced_accuracy" if both else "accuracy",
        _unit(judged),
        margin,
        bench.seed,
    )
    values = {each.name: measure.accuracy(each)["value"] or 0.0 for each in judged}
    candidates = sorted(
        [*judged, *_cascades(judged, values, measure)],
        key=lambda each: (measure.cost(each), -(measure.accuracy(each)["value"] or 0.0)),
    )
    protocols, best = _protocols(candidates, measure)
    near = (
        each["name"]
        for each in protocols
        if each["name"] == best
        or ((between := each["difference"]["interval"]) and between[0] >= -margin)
    )
    chosen = next(near)
    return {
        "heedful": __version__,
        "input": bench.where or None,
        "rate": measure.rate,
        "unit": measure.unit,
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
    candidates: Sequence[JudgedArm], measure: SweepMeasure
) -> tuple[list[dict[str, Any]], str]:
    """Measure protocols, cheapest first, and name the best; of equals that is the cheapest."""
    accuracies = {each.name: measure.accuracy(each) for each in candidates}
    values = {name: accuracy["value"] or 0.0 for name, accuracy in accuracies.items()}
    best = max(candidates, key=lambda each: values[each.name])
    top, protocols = -1.0, []
    for each in candidates:
        frontier, top = values[each.name] > top, max(top, values[each.name])
        protocols.append(
            {
                "name": each.name,
                "settings": {key: _plain(value) for key, value in each.settings.items()},
                "run": each.entry.run,
                "cascade": each.cascade,
                "accuracy": accuracies[each.name],
                "coverage": coverage(each.entry, measure.labelled),
                "cost": measure.cost(each) * PER,
                "difference": measure.difference(each, best),
                "frontier": frontier,
            }
        )
    return protocols, best.name


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else str(value.name)


def _unit(judged: Sequence[JudgedArm]) -> str:
    for unit in UNITS:
        costs = [each.cost[unit] for each in judged]
        if None not in costs and any(costs):
            return unit
    return UNITS[-1]


def _cascades(
    judged: Sequence[JudgedArm], values: Mapping[str, float], measure: SweepMeasure
) -> Iterator[JudgedArm]:
    """Replay each protocol that knows how sure it is before each that is dearer and better."""
    for small in judged:
        # A protocol that is equally sure of everything has nothing to go by.
        if len({sure for row in small.confidences.values() for sure in row}) < 2:  # noqa: PLR2004
            continue
        for large in judged:
            better = values[large.name] > values[small.name]
            if better and measure.cost(large) > measure.cost(small):
                cascade = _cascade(small, large, measure)
                if measure.cost(cascade) < measure.cost(large):
                    yield cascade


def _cascade(small: JudgedArm, large: JudgedArm, measure: SweepMeasure) -> JudgedArm:
    """Replay a cascade, each half of the instructions under the threshold of the other."""
    targets = measure.labelled.targets.values()
    cases = [
        ReplayedRow(
            bytes([target.cluster % 2]) + target.cluster.to_bytes(8, "big"),
            tuple(
                ReplayedVerdict(label == MET, _met(a), sure, _met(b))
                for label, (a, sure), (b, _) in zip(
                    target.labels, small.verdicts(target), large.verdicts(target), strict=True
                )
                if label != UNKNOWN
            ),
            None,
        )
        for target in targets
    ]
    thresholds = [choose_threshold(half, measure.margin) for half in halves(cases)]
    name = f"{small.name} → {large.name}"
    whole = JudgedArm(name, JudgeEntry(name, name))
    going = asked = paid = total = 0
    for target in targets:
        threshold = thresholds[1 - target.cluster % 2]
        first = small.verdicts(target)
        on = [_met(verdict) is None or sure < threshold for verdict, sure in first]
        both = zip(on, first, large.verdicts(target), strict=True)
        states = "".join((b if goes else a)[0] for goes, a, b in both)
        whole.entry.verdicts[target.id] = [states]
        # A row is paid for whole, as its constraints share calls.
        tokens = large.tokens.get(target.id) or len(first)
        paid, total = paid + tokens * any(on), total + tokens
        going, asked = going + sum(on), asked + len(on)
    for unit in UNITS:
        mine, theirs = small.cost[unit], large.cost[unit]
        known = mine is not None and theirs is not None
        share = paid / max(1, total)
        whole.cost[unit] = (mine or 0.0) + share * (theirs or 0.0) if known else None
    threshold = choose_threshold(cases, measure.margin)
    whole.cascade = {
        "small": small.name,
        "large": large.name,
        "threshold": None if threshold == NEVER else threshold,
        "goes_on": going / max(1, asked),
    }
    return whole


def _met(letter: str) -> bool | None:
    return letter == MET if letter in (MET, UNMET) else None


RATES = {"balanced_accuracy": "balanced accuracy", "accuracy": "accuracy"}

LOGARITHMIC_FROM = 10
"""Ratio of the highest cost to the lowest from which on the chart's axis is logarithmic."""


def document(summary: Mapping[str, Any]) -> Document:
    """Lay out a sweep as a document."""
    labels = summary["labels"]
    headline = (
        f"{amount(len(summary['protocols']), 'protocol')} on "
        f"{amount(labels['met'] + labels['unmet'], 'labelled constraint')} of "
        f"{amount(labels['instructions'], 'instruction')}. "
        f"Labels: {', '.join(labels['from'])}."
    )
    chart = Chart("frontier", "Accuracy against cost", _chart(summary))
    return Document("Protocols", [headline, _chosen(summary)], [_table(summary), chart])


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
        "instructions whole. A → B: a cascade, replayed, whose threshold is chosen on the other "
        "half of the instructions. The best of many is in part lucky: measure it again on rows "
        "that it wasn't chosen on."
    )
    return Table("Accuracy against cost", columns, rows, note).filled()


def _cost(value: float, unit: str) -> str:
    return f"${value:,.4f}" if unit == "dollars" else f"{value:,.0f}"


def _chart(summary: Mapping[str, Any]) -> dict[str, Any]:
    points: dict[str, list[Point]] = {"frontier": [], "other": []}
    for each in summary["protocols"]:
        value, between = each["accuracy"]["value"], each["accuracy"]["interval"] or (None, None)
        if value is not None:
            kind = "frontier" if each["frontier"] else "other"
            points[kind].append(Point(each["cost"], value, *between))
    lines = [Line(name, own, joined=name == "frontier") for name, own in points.items() if own]
    costs = [each["cost"] for each in summary["protocols"]]
    wide = 0 < LOGARITHMIC_FROM * min(costs) <= max(costs)
    x = Axis(f"{summary['unit']} for {summary['per']:,} constraints", logarithmic=wide)
    rate = RATES[summary["rate"]]
    return line_chart(lines, x, Axis(rate, percent=True, bounds=bounds_of(lines)))
