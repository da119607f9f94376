"""Align a judge with people: find where it errs, try what may mend it, and prove what is chosen.

``labels → choose | prove → disagreements → proposals → halving on choose → proof → protocol file``
"""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from heedful.analysis.align import proposals
from heedful.analysis.align.document import document
from heedful.analysis.align.options import Trying
from heedful.analysis.align.trials import BALANCED, Paired, Trials, cells, halve, tokens_of
from heedful.analysis.calibration import read_labels, text_print
from heedful.analysis.meta.bench import Bench
from heedful.analysis.meta.labels import MET, UNMET
from heedful.core.errors import InputError, UsageError
from heedful.core.version import __version__
from heedful.engine.dry_run import end_dry_run, is_dry_run
from heedful.engine.options import taken
from heedful.jobs.results import scored_entry
from heedful.jobs.saved_run import SavedRun
from heedful.judges.making import as_protocol, make_judge
from heedful.judges.options import WITH_MODEL, JudgeOptions
from heedful.judges.protocol import ALL, OPTIONS, AskingProtocol
from heedful.models.options import CallOptions

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from heedful.analysis.align.options import AlignOptions
    from heedful.analysis.align.proposals import Change, VerdictGroup
    from heedful.analysis.align.trials import LabelledPart
    from heedful.analysis.meta.labels import JudgeEntry
    from heedful.analysis.meta.options import MetaOptions
    from heedful.data.formats import Row
    from heedful.engine.inputs import Data
    from heedful.judges import Judge
    from heedful.models.base import AnyModel

    Name = str | os.PathLike[str]

RUNGS = (1 / 3, 1.0)
"""Ends of the parts of choose: all candidates are tried on the first, the better ones on both."""

ALIKE = 0.01
"""Of candidates whose gains differ by less the cheapest is chosen."""


@dataclass
class _Alignment:
    """The trials of one judge's candidates."""

    trials: Trials
    present: AskingProtocol
    calls: Mapping[str, Any]  # how models are reached
    before: list[JudgeEntry] = field(default_factory=list)  # on the rungs
    tried: dict[str, list[JudgeEntry]] = field(default_factory=dict)

    def judge(self, change: Change | None = None) -> Judge:
        """Make the present judge, or one that is asked otherwise."""
        protocol = self.present if change is None else change.on(self.present)
        options = cast("JudgeOptions", {"protocol": protocol, **self.calls})
        return make_judge(None, seed=self.trials.bench.seed, **options)

    def is_possible(self, change: Change) -> bool:
        """Check whether the judge can be asked so: not every prompt can leave explanations out."""
        try:
            self.judge(change)
        except UsageError:
            return False
        return True

    def compared(self, change: Change, rung: int) -> Paired:
        """Try a change on a part; nothing is compared where it can't be paid for."""
        part = self.trials.rungs[rung]
        judge = self.judge(change)
        if not self._affordable(judge, part):
            return Paired()
        entry = self.trials.judged(judge, part)
        self.tried.setdefault(change.name, []).append(entry)
        sides = (entry, self.before[rung])
        mine, theirs = (cells(side, part.labelled, change.examples) for side in sides)
        return mine.beside(theirs)

    def _affordable(self, judge: Judge, part: LabelledPart) -> bool:
        """Check whether a trial leaves enough for the proof, of this judge and the present one."""
        bench, prove = self.trials.bench, self.trials.prove.samples
        if bench.left is None:
            return True
        planned = (
            bench.planned(judge, part.samples),
            bench.planned(judge, prove),
            bench.planned(self.judge(), prove),
        )
        return sum(each["dollars"] or 0.0 for each in planned) <= bench.left

    def counted(self) -> dict[str, Any]:
        """Count what judging took."""
        tried = [entry for entries in self.tried.values() for entry in entries]
        costs = [entry.cost for entry in (*self.before, *tried) if entry.cost is not None]
        dollars = [cost["dollars"] for cost in costs]
        return {
            "judging": sum(cost["calls"] for cost in costs),
            "dollars": None if None in dollars else sum(dollars),
        }

    def cost(self, change: Change) -> float:
        """Return the tokens of a change for a criterion, added up over the parts."""
        entries = self.tried.get(change.name, ())
        return sum(tokens_of(entry) or 0.0 for entry in entries)


def align(
    data: Data,
    *,
    labels: Name | None = None,
    judge: str | None = None,
    output: Name | None = None,
    seed: int = 0,
    **options: Unpack[AlignOptions],
) -> dict[str, Any]:
    """Choose how a judge is asked by people's labels, and prove it on labels that didn't choose.

    Args:
        data: the directory of a finished evaluation, or a file or samples with responses.
        labels: rows with ``labels``, as the viewer and ``heedful calibrate --draw`` write them.
            By default the data's own, or those beside the run.
        judge: the present judge by name, as for :func:`heedful.evaluate`.
        output: a folder for the protocol, the changed checklist as a diff, and the page.
        seed: of the division into choose and prove.
        options: see :class:`Trying`, :class:`~heedful.judges.options.JudgeOptions` (``model``, …)
            and :class:`~heedful.analysis.meta.options.MetaOptions` (``max_cost``, …).

    Returns:
        The summary, ready for JSON; docs/judge_accuracy.md describes it.

    Raises:
        InputError: a file is missing, or labels aren't of the data.
        UsageError: no model is named, or options do not go together.
    """
    given: dict[str, Any] = {**options}
    trying = taken(given, Trying)
    work = _prepared(data, labels, judge, seed, given)
    models = trying.get("alternatives", ())
    if is_dry_run():
        planned, on_top = _planned(work, models)
        end_dry_run(planned, on_top=on_top)
    work.before = [work.trials.judged(work.judge(), part) for part in work.trials.rungs]
    groups = proposals.grouped(work.trials.rungs, work.before)
    causes = None if output is None else Path(output) / CAUSES_FILE
    ranked = _ranked(work, _changes(work, groups, trying, _overruled(causes)))
    chosen = _chosen(work, ranked)
    summary = _summary(work, groups, ranked)
    if chosen is not None:
        summary |= _proven(work, chosen, groups)
    summary["calls"] = work.counted()
    if output is not None:
        _write(Path(output), summary, work, chosen)
        asked = [json.dumps(each, ensure_ascii=False) for group in groups for each in group.asked]
        (Path(output) / CAUSES_FILE).write_text("".join(f"{x}\n" for x in asked), "utf-8")
    return summary


def _prepared(
    data: Data, labels: Name | None, judge: str | None, seed: int, given: dict[str, Any]
) -> _Alignment:
    """Read the labels, and how the present judge is asked."""
    own = taken(given, JudgeOptions)
    base = as_protocol(own.pop("protocol", None))
    asked = {**base.options, **{name: own.pop(name) for name in OPTIONS if name in own}}
    if "prompt_file" in own:
        hint = "give its text with --prompt: a protocol file holds it"
        raise UsageError("a prompt file isn't part of a protocol", hint=hint)
    if not asked.get("model"):
        raise UsageError("the judge has no model", hint="name one: --model, or model= in Python")
    names = judge or base.judge or WITH_MODEL
    present = AskingProtocol(names, asked, base.criteria, base.notes)
    first = make_judge(None, seed=seed, **cast("JudgeOptions", {"protocol": present, **own}))
    rows = labelled_rows(data, labels, given)
    bench = Bench(rows, cast("MetaOptions", given), scoring="strict", seed=seed)
    return _Alignment(Trials.of(bench, [first], RUNGS), present, own)


def _changes(
    work: _Alignment,
    groups: Sequence[VerdictGroup],
    trying: Mapping[str, Any],
    people: Mapping[tuple[str, int], str],
) -> list[Change]:
    """Propose what may be better."""
    models = work.present.options["model"]
    writer = trying.get("proposer") or (models[0] if isinstance(models, list | tuple) else models)
    calls = {name: each for name, each in work.calls.items() if name in CallOptions.__annotations__}
    bench, rungs = work.trials.bench, work.trials.rungs
    settings = proposals.settings(work.present, rungs, trying.get("alternatives", ()))
    changes = [*filter(work.is_possible, settings)]
    changes += proposals.proposed(groups, bench, writer, calls, people)
    if trying.get("optimize"):
        from heedful.analysis.align.gepa import rewritten

        size = trying["optimize"]
        changes += rewritten(work.trials, work.judge, work.present, size, writer, calls)
    return changes


CAUSES_FILE = "causes.jsonl"


def _overruled(path: Path | None) -> dict[tuple[str, int], str]:
    """Read the causes that people gave in the file of an earlier run."""
    if path is None or not path.exists():
        return {}
    people = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            cause, place = row["people"], (row["id"], row["constraint"])
            known = None if cause is None else proposals.CAUSES[cause]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            hint = f'"people" is null or one of {", ".join(proposals.CAUSES)}'
            raise InputError("no cause can be read", where=f"{path}:{number}", hint=hint) from error
        if known:
            people[place] = cause
    return people


def _summary(
    work: _Alignment, groups: Sequence[VerdictGroup], ranked: Sequence[Ranked]
) -> dict[str, Any]:
    labelled, bench = work.trials.labelled, work.trials.bench
    return {
        "heedful": __version__,
        "input": bench.where or None,
        "seed": bench.seed,
        "rate": "balanced_accuracy" if work.trials.rates == BALANCED else work.trials.rates[0],
        "labels": labelled.counts(),
        "parts": work.trials.counts(),
        "rows": {"read": labelled.read, "failed": labelled.failed},
        "present": work.present.record(),
        "groups": [_group_record(group) for group in groups],
        "candidates": [_candidate(work, *each) for each in ranked],
        "chosen": None,
        "proof": None,
        "problems": labelled.problems,
    }


def labelled_rows(data: Data, labels: Name | None, options: dict[str, Any]) -> Any:
    """Return the data with people's labels: a file as it is, or samples."""
    path = Path(data) if isinstance(data, str | Path) else None
    run = path if path is not None and (path / "run.sqlite").exists() else None
    if run is None and labels is None:
        return data
    if run is not None:
        with SavedRun.open(run) as saved:
            samples = [row.sample for row in saved.rows(scored_entry) if row.sample]
    else:
        rows: Sequence[Row] = list(
            Bench(data, cast("MetaOptions", options), scoring="strict", seed=0).rows
        )
        samples = [row.sample for row in rows if row.sample]
    if run is not None and labels is None:
        labels = run.resolve().with_name(f"{run.resolve().name}.labels.jsonl")
        if not labels.exists():
            if any(sample.labels for sample in samples):
                return samples
            hint = "label some of its rows in heedful view, or give --labels FILE"
            raise InputError("the run has no labels in or beside it", where=str(labels), hint=hint)
    known = read_labels(cast("Name", labels))
    prints = {sample.id: text_print(sample) for sample in samples}
    strange = [name for name, row in known.items() if prints.get(name) != text_print(row)]
    if strange:
        raise InputError(
            f"the labels of {strange[0]!r} are of another response or checklist than the data's",
            where=str(labels),
            hint="label the rows of this data",
        )
    for name in ("format", "responses"):
        options.pop(name, None)
    return list(known.values())


def _planned(work: _Alignment, models: Sequence[AnyModel]) -> tuple[list[dict[str, Any]], str]:
    """Estimate the present judge on all rows, and the settings on the first part of choose."""
    trials, bench = work.trials, work.trials.bench
    parts = (*trials.rungs, trials.prove)
    planned = [bench.planned(work.judge(), part.samples) for part in parts]
    first = trials.rungs[0]
    changes = filter(work.is_possible, proposals.settings(work.present, trials.rungs, models))
    planned += [bench.planned(work.judge(change), first.samples) for change in changes]
    on_top = (
        f"on top come {proposals.MOST_GROUPS} proposals at most, up to three candidates of each, "
        "the better candidates on all rows that choose, and the one chosen on the others"
    )
    return planned, on_top


Ranked = tuple["Change", Paired, float]


def _ranked(work: _Alignment, changes: Sequence[Change]) -> list[Ranked]:
    """Try the changes alone, then together those that brought something."""
    gain, rungs = work.trials.gain, len(work.trials.rungs)
    ranked = halve(changes, work.compared, gain, rungs)
    best: dict[tuple[str, ...], Change] = {}
    for change, _, gained in ranked:
        if gained > 0 and len(work.tried.get(change.name, ())) == rungs:
            best.setdefault(change.replaces, change)
    several = list(best.values())
    # Where words are mended, slips are left: votes may only show their worth then.
    votes = [change for change in changes if change.replaces == proposals.OF_VOTES]
    more = [] if proposals.OF_VOTES in best else votes
    joint = {len(some): some for some in (several[:2], several, [*several, *more])}
    for change in (proposals.together(some) for size, some in joint.items() if size > 1):
        seen = Paired()
        for rung in range(rungs):
            seen += work.compared(change, rung)
        ranked.append((change, seen, gain(seen)))
    return sorted(ranked, key=lambda each: (-len(work.tried.get(each[0].name, ())), -each[2]))


def _chosen(work: _Alignment, ranked: Sequence[Ranked]) -> Change | None:
    """Choose the best, or of those nearly as good the cheapest; none where none is better."""
    rungs = len(work.trials.rungs)
    whole = [
        (change, gained)
        for change, _, gained in ranked
        if gained > 0 and len(work.tried.get(change.name, ())) == rungs
    ]
    if not whole:
        return None
    most = max(gained for _, gained in whole)
    close = [change for change, gained in whole if gained >= most - ALIKE]
    return min(close, key=work.cost)


def _proven(work: _Alignment, chosen: Change, groups: Sequence[VerdictGroup]) -> dict[str, Any]:
    """Judge the rows that didn't choose, by the present protocol and by the chosen one."""
    trials = work.trials
    before = trials.judged(work.judge(), trials.prove)
    after = trials.judged(work.judge(chosen), trials.prove)
    work.before.append(before)
    work.tried[chosen.name].append(after)
    errors = {
        name: _errors(entry, trials.prove, groups)
        for name, entry in (("before", before), ("after", after))
    }
    by_group = [
        {"kind": group.kind, "name": group.name, "errors": [b, a]}
        for group, b, a in zip(groups, errors["before"], errors["after"], strict=True)
        if b or a
    ]
    return {
        "proof": {**trials.proof(before, after), "by_group": by_group},
        "chosen": chosen.name,
        "protocol": chosen.on(work.present).record(),
    }


def _errors(entry: JudgeEntry, part: LabelledPart, groups: Sequence[VerdictGroup]) -> list[int]:
    """Count the verdicts that differ from labels, by group of choose."""
    places = {(group.kind, group.name): at for at, group in enumerate(groups)}
    counts = [0] * len(groups)
    for sample in part.samples:
        labels = part.labelled.targets[sample.id].labels
        states = entry.verdicts.get(sample.id, [labels])[0]
        for constraint, label, state in zip(sample.checklist, labels, states, strict=True):
            keys = (("criterion", constraint.text), ("type", constraint.type or ALL))
            at = next((places[key] for key in keys if key in places), None)
            if at is not None and label in (MET, UNMET) and state != label:
                counts[at] += 1
    return counts


def _candidate(work: _Alignment, change: Change, seen: Paired, gained: float) -> dict[str, Any]:
    tried = len(work.tried.get(change.name, ()))
    return {
        "name": change.name,
        "gain_on_choose": gained if seen else None,
        "tried_on": sum(seen.values()),
        "rungs": tried,
        "tokens": work.cost(change) / tried if tried else None,
    }


def _group_record(group: VerdictGroup) -> dict[str, Any]:
    return {
        "kind": group.kind,
        "name": group.name,
        "verdicts": len(group.cases),
        "disagreements": len(group.wrong),
        "causes": dict(group.causes),
        "doubted_labels": group.doubted,
    }


def _write(folder: Path, summary: dict[str, Any], work: _Alignment, chosen: Change | None) -> None:
    """Write the protocol, the changed checklist and the page; note which rows were proven on."""
    folder.mkdir(parents=True, exist_ok=True)
    gained = summary["proof"] is not None and summary["proof"]["shown"] == "gain"
    taken = chosen.on(work.present) if chosen is not None and gained else work.present
    about = {"gain": summary["proof"] and summary["proof"]["difference"], "shown": gained}
    taken.save(folder / "protocol.json", about)
    (folder / "checklist.diff").write_text(checklist_diff(taken), encoding="utf-8")
    if chosen is not None:
        summary["proofs"] = _proofs(folder / "proofs.jsonl", work.trials.prove, summary["protocol"])
    document(summary).write(folder, summary, name="align")


def checklist_diff(protocol: AskingProtocol) -> str:
    """Write what the judge is shown in the place of criteria as a diff, to be reviewed."""
    lines: list[str] = []
    for old, new in protocol.criteria.items():
        pair = old.splitlines(), new.splitlines()
        lines += difflib.unified_diff(*pair, "criterion", "as the judge is shown it", lineterm="")
    for kind, note in protocol.notes.items():
        about = "every criterion" if kind == ALL else f"criteria of type {kind}"
        lines += [f"--- {about}", "+++ as the judge is shown it"]
        lines += [f"+{line}" for line in note.splitlines()]
    return "".join(f"{line}\n" for line in lines)


def _proofs(path: Path, prove: LabelledPart, protocol: Mapping[str, Any]) -> int:
    """Count the protocols proven on these rows: the interval holds for the first of them."""
    ids = "\0".join(sorted(sample.id for sample in prove.samples))
    key = blake2b(ids.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    line = json.dumps([key, protocol], sort_keys=True)
    known = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    if line not in known:
        known.append(line)
        path.write_text("".join(f"{each}\n" for each in known), encoding="utf-8")
    return sum(each.startswith(f'["{key}"') for each in known)
