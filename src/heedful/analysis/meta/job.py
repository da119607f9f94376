"""Meta-evaluation: judge labelled rows, and say how far each judge is to be trusted.

``labelled file → judges (runs) → entries → measures, pairs → summary``
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from heedful.analysis.meta.bench import Bench
from heedful.analysis.meta.labels import (
    JudgeEntry,
    Labelled,
    RecordedCritiques,
    collect,
    verdicts_of_code,
    without_labels,
)
from heedful.analysis.meta.measures import (
    against_annotators,
    alpha,
    compared,
    measures,
    paired,
    recorded_choices,
    tournament,
)
from heedful.analysis.meta.options import BY, MetaOptions
from heedful.core.errors import InputError, UsageError
from heedful.core.text import amount
from heedful.core.version import __version__
from heedful.engine.dry_run import end_dry_run, is_dry_run
from heedful.engine.runner import finish
from heedful.jobs.results import scored_entry
from heedful.jobs.saved_run import SavedRun
from heedful.judges import make_judge
from heedful.judges.base import CODE

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Sample, Scoring
    from heedful.engine.inputs import Data
    from heedful.judges import Judge
    from heedful.judges.base import AnyJudge

    Name = str | os.PathLike[str]


def judge_accuracy(
    data: Data,
    *,
    judge: AnyJudge | Sequence[AnyJudge] | None = None,
    runs: Sequence[Name] = (),
    scoring: Scoring = "strict",
    seed: int = 0,
    **options: Unpack[MetaOptions],
) -> dict[str, Any]:
    """Measure judges against known verdicts.

    >>> from heedful import Constraint, Recording, Sample, judge_accuracy
    >>> verdicts = ({"status": "met"}, {"status": "met"})
    >>> sample = Sample(
    ...     id="1",
    ...     checklist=(Constraint(text="A poem."), Constraint(text="No rhymes.")),
    ...     labels=(True, False),
    ...     recording=Recording(prompt="native", verdicts=verdicts),
    ... )
    >>> judge_accuracy([sample])["judges"][0]["pooled"]["cells"]
    {'tp': 1, 'fp': 1, 'fn': 0, 'tn': 0}

    Args:
        data: a file in any format that heedful reads, or samples. Their labels are their
            ``labels``; where there are none, the majority of their ``annotations``; where there
            are neither, the critique that the file holds (IF-Critic's expert).
        judge: one or more judges: names as :func:`heedful.evaluate` takes them, or judges of your
            own. ``recorded`` reads what the file holds beside the labels. By default that, or none
            where there are ``runs``.
        runs: directories of runs of :func:`heedful.evaluate` on the same rows; their verdicts are
            read.
        scoring: ``strict`` leaves out what was not decided; ``faithful`` takes it as met, as
            IF-RewardBench's code does.
        seed: of the randomization tests.
        options: see :class:`~heedful.analysis.meta.options.MetaOptions`.

    Returns:
        The summary, ready for JSON; docs/judge_accuracy.md describes it.

    Raises:
        InputError: a file or run is missing, or holds no labels.
        UsageError: a name is unknown, or options do not go together.
    """
    work = judge_accuracy_async(data, judge=judge, runs=runs, scoring=scoring, seed=seed, **options)
    return finish(work)


async def judge_accuracy_async(
    data: Data,
    *,
    judge: AnyJudge | Sequence[AnyJudge] | None = None,
    runs: Sequence[Name] = (),
    scoring: Scoring = "strict",
    seed: int = 0,
    **options: Unpack[MetaOptions],
) -> dict[str, Any]:
    """Do what :func:`judge_accuracy` does, inside a running event loop."""
    bench = Bench(data, options, scoring=scoring, seed=seed)
    by = bench.options["by"]
    judges = _judges(judge, scoring, seed, default="" if runs else "recorded")
    if bench.options["truth"] is None:
        judges = [without_labels(each) for each in judges]
    labelled = await known_verdicts(bench, [each.name for each in judges])
    choices = recorded_choices(bench.samples(), scoring)
    ranked = tournament(labelled, scoring)
    if ranked is not None and judge is None:
        judges = []  # the comparisons are what the file has of a judge
    elif choices is not None and not any(target.labels for target in labelled.targets.values()):
        judges = []  # there is no checklist to judge
    elif choices is None:
        check_labels(labelled, bench.where, judges)
    _check_tag(by, labelled)
    # What needs no call comes first: a run that is not there should not cost the others.
    saved = [from_run(Path(run), labelled) for run in runs]
    earlier = _earlier(bench.options["since"], judges, labelled)
    if is_dry_run():
        end_dry_run([bench.planned(who) for who in judges])
    judged = [await asked(who, labelled, bench) for who in judges]
    _tell_apart(judged + saved)
    summary = _summary(judged + saved, labelled, bench, by)
    if choices is not None:
        summary["choices"] = choices
    if ranked is not None:
        summary["elo"] = {"name": "Elo of the comparisons", "ranking": ranked}
    if earlier is not None:
        since = compared(judged[0][0], earlier, labelled, seed)
        summary["since"] = {"run": str(bench.options["since"]), **since}
    return summary


async def asked(
    judge: Judge, labelled: Labelled, bench: Bench, samples: Sequence[Sample] | None = None
) -> list[JudgeEntry]:
    """Have a judge judge all rows, or some, and collect its verdicts."""
    result = await bench.judged(judge, samples)
    cost = result.summary.get("cost")
    entries = collect(judge.name, result, labelled, judge.config, cost=cost)
    entries[0].run = None if result.directory is None else str(result.directory)
    return entries


def _earlier(run: Name | None, judges: Sequence[Judge], labelled: Labelled) -> JudgeEntry | None:
    """Read the verdicts that a judge gave earlier; another judge's would show no drift."""
    if run is None:
        return None
    if len(judges) != 1:
        raise UsageError("--since is for one judge", hint="name the one that RUN was judged by")
    with SavedRun.open(run) as saved:
        before, now = saved.judge, json.loads(json.dumps(dict(judges[0].config)))
    if any(before.get(name) != value for name, value in now.items()):
        raise UsageError(
            f"it was judged by {before['judge']}, or asked otherwise than {judges[0].name} is now",
            where=str(run),
            hint="give the flags that it was judged with",
        )
    return from_run(Path(run), labelled)[0]


def _judges(
    given: AnyJudge | Sequence[AnyJudge] | None, scoring: Scoring, seed: int, default: str
) -> list[Judge]:
    """Make the judges."""
    if given is None:
        given = default or []
    several = given if isinstance(given, list | tuple) else [given]
    judges = cast("Sequence[AnyJudge]", several)
    return [make_judge(judge, scoring=scoring, seed=seed) for judge in judges]


def _check_tag(by: str, labelled: Labelled) -> None:
    """Refuse to average by a tag that no row has."""
    targets = labelled.targets.values()
    if by != BY and targets and all(target.group is None for target in targets):
        raise UsageError(f"no row has the tag {by!r}", hint="average by a tag of the rows")


async def known_verdicts(bench: Bench, judges: Sequence[str]) -> Labelled:
    """Read the labels of all rows, or have code give them."""
    names, by = bench.options["truth"], bench.options["by"]
    if names is None:
        return Labelled.of(bench.rows, by)
    for name in judges:
        if set(CODE) & set(name.split(",")):
            raise UsageError(
                f"the judge {name} is code, and code's verdicts are the labels",
                hint="measure a judge that asks a model: --judge checklist",
            )
    return Labelled.of(bench.rows, by, await verdicts_of_code(names, bench.rows))


def check_labels(labelled: Labelled, where: str, judges: Sequence[Judge]) -> None:
    """Refuse rows that say nothing of any judge."""
    if not labelled.targets:
        raise InputError(
            f"no labels in {amount(labelled.read, 'row')}",
            where=where,
            hint="give each row labels, or a critique to take as the truth",
        )
    if any(map(_reads, judges)) and labelled.circular == len(labelled.targets):
        raise InputError(
            "the recorded verdicts are the labels here, and the file holds no others to measure",
            where=where,
            hint="give the rows labels, or measure another judge than recorded",
        )


def _reads(judge: Judge) -> bool:
    """Check whether a judge reads recorded verdicts."""
    return isinstance(judge, RecordedCritiques) or any(map(_reads, getattr(judge, "judges", ())))


def _tell_apart(groups: Sequence[Sequence[JudgeEntry]]) -> None:
    """Number the entries that would share a name."""
    seen: dict[str, int] = {}
    for group in groups:
        for entry in group:
            seen[entry.name] = seen.get(entry.name, 0) + 1
            if seen[entry.name] > 1:
                entry.name = f"{entry.name} ({seen[entry.name]})"


def _summary(
    groups: Sequence[Sequence[JudgeEntry]], labelled: Labelled, bench: Bench, by: str
) -> dict[str, Any]:
    entries = [entry for group in groups for entry in group]
    measured = [measures(entry, labelled, bench.scoring, bench.seed) for entry in entries]
    measured.sort(key=lambda judge: _rank(judge["pooled"]["mean_f1"]["value"]))
    summary: dict[str, Any] = {
        "heedful": __version__,
        "input": bench.where or None,
        "format": bench.source.format.name if bench.source and bench.source.format else None,
        "scoring": bench.scoring,
        "seed": bench.seed,
        "by": by,
        "rows": {"read": labelled.read, "failed": labelled.failed},
        "labels": labelled.counts(),
        "judges": measured,
        "pairs": paired(entries, labelled, bench.seed),
    }
    pairs = against_annotators(entries, labelled)
    if pairs is not None:
        summary["against_annotators"] = pairs
    alphas = _alphas(groups, labelled)
    if alphas:
        summary["alpha"] = alphas
    return {**summary, "problems": labelled.problems, "notes": _notes(groups, labelled)}


def _rank(value: float | None) -> float:
    """Order by the value, highest first; what has none comes last."""
    return 1.0 if value is None else -value


def _alphas(
    groups: Sequence[Sequence[JudgeEntry]], labelled: Labelled
) -> dict[str, dict[str, Any]]:
    """Compute how far judges agree among themselves, and how far annotators do."""
    alphas = {}
    targets = labelled.targets.values()
    if len(groups) > 1:
        heads = [{t.id: states[0] for t, states in group[0].rows(labelled)} for group in groups]
        rows = ((target, [head[target.id] for head in heads]) for target in targets)
        alphas["judges"] = alpha(rows)
    annotated = [target for target in targets if len(target.annotations) > 1]
    if annotated:
        annotations = ((target, list(target.annotations.values())) for target in annotated)
        alphas["annotators"] = alpha(annotations)
    return alphas


def _notes(groups: Sequence[Sequence[JudgeEntry]], labelled: Labelled) -> list[str]:
    notes = list(labelled.notes)
    unlabelled = labelled.read - len(labelled.targets)
    if unlabelled:
        notes.append(f"left out, as they have no labels: {amount(unlabelled, 'row')}")
    if labelled.circular and any(group[0].judge == "recorded" for group in groups):
        notes.append(
            "rows whose only recorded critique is their label, so that it is not measured: "
            f"{labelled.circular}"
        )
    notes += [
        f"{group[0].name}: rows of the run with another checklist than the labels, which count as "
        f"missing: {group[0].strangers}"
        for group in groups
        if group[0].strangers
    ]
    return notes


def from_run(directory: Path, labelled: Labelled) -> list[JudgeEntry]:
    """Collect the verdicts of a saved run, finished or not."""
    with SavedRun.open(directory, finished=False) as run:
        config = run.judge
        if labelled.recorded and _reads_labels(config):
            raise InputError(
                "the run's judge read the recorded verdicts, and they are the labels here",
                where=str(directory),
                hint="leave the run out; --judge recorded measures what lies beside the labels",
            )
        entries = collect(
            str(config["judge"]),
            run.rows(scored_entry),
            labelled,
            config,
            # A run that was interrupted has no summary to say what it cost.
            cost=run.summary.get("cost") if run.finished else None,
        )
    entries[0].run = str(directory)
    if not entries[0].verdicts:
        strangers = entries[0].strangers
        what = f"the checklist differs from that of the labels in {amount(strangers, 'row')}"
        raise InputError(
            what if strangers else "no row has the id of a labelled row",
            where=str(directory),
            hint="compare runs on the labelled file",
        )
    return entries


def _reads_labels(config: Mapping[str, Any]) -> bool:
    """Check whether a judge read the recorded critiques that may be labels here."""
    if config.get("judge") == "recorded" and "critiques" not in config:
        return True
    return any(map(_reads_labels, config.get("judges", ())))
