"""Filtering the experts' critiques into one critique of each response, to be learned from.

Every row goes through the stages by itself, durably. Answers are cached, so that a stage can
be left out, moved or changed without repeating other requests.

The funnel says what enters and leaves each stage, and why the rest was dropped. It is counted from
the rows as they were written, so that it can be made again at any time.
"""

from __future__ import annotations

from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from heedful.core import taxonomy
from heedful.core.nouns import Sample
from heedful.core.outputs import atomically, write_json
from heedful.core.text import amount
from heedful.critic.data import stages, verification
from heedful.critic.data.experts import SAMPLED
from heedful.critic.data.options import FilterSettings
from heedful.critic.data.stages import READ, WRITE, Drop, FilterItem
from heedful.data.formats import native
from heedful.engine.options import split_options
from heedful.jobs.rows import Addition, Recipe, RowsJob, Task, check_rows_output, read_and_written
from heedful.judges import prompts
from heedful.reporting.document import Document
from heedful.reporting.notation import cost_line, percent
from heedful.reporting.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from heedful.critic.data.stages import Stage
    from heedful.engine.inputs import Data
    from heedful.engine.options import DataOptions
    from heedful.jobs.rows import Generated, Generation
    from heedful.models.base import Model

UNTYPED = "(no type)"
OTHER = "(other types)"
GROUPS_KEPT = 1000
"""Types counted separately: data with a type of its own in each row does not fill the memory."""

LEVELS = ("judgments", "constraints", "rows")


class Funnel:
    """Counts rows as they come; memory does not grow with them."""

    def __init__(self, order: Sequence[str], *, partial: bool) -> None:
        """Begin to count."""
        self._row_end = max if partial else min
        self._order = [READ, *order, WRITE]
        # how many judgments, constraints and rows end at which stage, by its position
        self._ends: dict[str, Counter[int]] = {level: Counter() for level in LEVELS}
        self._reasons: dict[str, Counter[str]] = {stage: Counter() for stage in self._order}
        self._by: dict[str, dict[str, Counter[int]]] = {"type": {}, "verdict": {}}
        self._confidence: Counter[str] = Counter()
        self._rules: Counter[str] = Counter()
        self._rows: Counter[str] = Counter(kept=0, dropped=0, failed=0)
        self._critiques: Counter[str] = Counter()

    def add(self, row: Generated) -> None:
        """Count a row; one with a problem went through no stage."""
        extra = row.sample.model_extra or {} if row.sample else {}
        outcome = extra.get("filtering")
        if row.problem is not None or row.sample is None or not outcome:
            self._rows["failed"] += 1
            return
        self._rows["dropped" if "dropped" in outcome else "kept"] += 1
        requested, given = outcome["critiques"]["requested"], outcome["critiques"]["given"]
        self._critiques.update(requested=requested, given=given, short_rows=given < requested)
        ends = []
        for constraint in outcome["constraints"]:
            ends.append(
                max(self._judgment(constraint, judgment) for judgment in constraint["judgments"])
            )
            self._constraint(constraint)
        self._ends["constraints"].update(ends)
        self._ends["rows"][self._row_end(ends)] += 1

    def _judgment(self, constraint: Mapping[str, Any], judgment: Mapping[str, Any]) -> int:
        """Count one judgment; return how many stages it passed."""
        drop = judgment.get("dropped")
        end = len(self._order) if drop is None else self._order.index(drop["stage"])
        self._ends["judgments"][end] += 1
        if drop is not None:
            self._reasons[drop["stage"]][drop["reason"]] += 1
        kind = constraint.get("type") or UNTYPED
        # Before the rules changed it, a judgment was of the other verdict.
        first = judgment.get("was") or judgment["status"]
        for name, value in (("type", kind), ("verdict", first)):
            groups = self._by[name]
            key = value if value in groups or len(groups) < GROUPS_KEPT else OTHER
            groups.setdefault(key, Counter())[end] += 1
        if "was" in judgment:
            self._rules["revised"] += 1
            self._rules["changed"] += judgment["was"] != judgment["status"]
        return end

    def _constraint(self, constraint: Mapping[str, Any]) -> None:
        if "confidence" in constraint:
            self._confidence[f"{constraint['confidence']:.2f}"] += 1
        self._rules["counted"] += "counted" in constraint
        self._rules["uncounted"] += "uncounted" in constraint
        self._rules["constraints"] += 1

    def result(self) -> dict[str, Any]:
        """Sum up."""
        stages = []
        for at, stage in enumerate(self._order):
            flows = {level: _flow(ends, at) for level, ends in self._ends.items()}
            stages.append(
                {
                    "stage": stage,
                    "in": {level: flow["in"] for level, flow in flows.items()},
                    "out": {level: flow["out"] for level, flow in flows.items()},
                    "reasons": dict(self._reasons[stage].most_common()),
                }
            )
        by = {
            name: {
                value: {stage: _flow(ends, at) for at, stage in enumerate(self._order)}
                for value, ends in sorted(groups.items())
            }
            for name, groups in self._by.items()
        }
        names = ("constraints", "counted", "uncounted", "revised", "changed")
        return {
            "rows": dict(self._rows),
            "critiques": {
                name: self._critiques[name] for name in ("requested", "given", "short_rows")
            },
            "stages": stages,
            "by": by,
            "rules": {name: self._rules[name] for name in names},
            "confidence": dict(sorted(self._confidence.items())),
        }


def _flow(ends: Counter[int], at: int) -> dict[str, int]:
    """Count what enters and leaves the stage at a position."""
    entered = sum(count for end, count in ends.items() if end >= at)
    return {"in": entered, "out": entered - ends[at]}


TITLES = {
    "read": "reading",
    "cross": "cross-model verification",
    "rules": "rule-augmented verification",
    "judgment": "final judgment",
    "explanation": "final explanation",
    "write": "writing",
}

CHOICE = "explanation"
"""The stage that leaves one of many by design: what it drops says nothing of the data."""

GROUPS_SHOWN = 12
BAR = 20


def document(summary: Mapping[str, Any]) -> Document:
    """Lay out what came of filtering."""
    return Document("Funnel", [_headline(summary)], list(_tables(summary)), list(_notes(summary)))


def _headline(summary: Mapping[str, Any]) -> str:
    rows = summary["funnel"]["rows"]
    return (
        f"{amount(sum(rows.values()), 'row')}: {rows['kept']:,} kept, {rows['dropped']:,} dropped, "
        f"{rows['failed']:,} failed"
    )


def _tables(summary: Mapping[str, Any]) -> Iterator[Table]:
    funnel = summary["funnel"]
    yield from stage_tables(funnel)
    for dimension, groups in funnel["by"].items():
        if len(groups) > 1:
            yield _group_table(funnel, dimension, groups)
    if funnel["confidence"]:
        yield _confidence_table(funnel["confidence"])


def stage_tables(funnel: Mapping[str, Any]) -> list[Table]:
    """Lay out what each stage left, and why it dropped the rest."""
    tables = [_stage_table(funnel), _reason_table(funnel)]
    return [table for table in tables if table.rows]


def _stage_table(funnel: Mapping[str, Any]) -> Table:
    rows = []
    for stage in funnel["stages"]:
        before, after = stage["in"], stage["out"]
        if stage["stage"] in ("read", "write") and before == after:
            continue
        cells = [f"{before[level]:,} → {after[level]:,}" for level in LEVELS]
        cells.insert(1, _percent(after["judgments"], before["judgments"]))
        rows.append([TITLES[stage["stage"]], *cells])
    return Table(
        "What is left after each stage", ["stage", "judgments", "left, %", *LEVELS[1:]], rows
    )


def _reason_table(funnel: Mapping[str, Any]) -> Table:
    rows = [
        [f"{TITLES[stage['stage']]}: {reason}", f"{count:,}"]
        for stage in funnel["stages"]
        if stage["stage"] != CHOICE
        for reason, count in stage["reasons"].items()
    ]
    return Table("Judgments dropped", ["stage and reason", "judgments"], rows)


def _group_table(funnel: Mapping[str, Any], dimension: str, groups: Mapping[str, Any]) -> Table:
    """Lay out how many judgments of each group are left after each stage, the largest first."""
    stages = [
        stage["stage"]
        for stage in funnel["stages"]
        if stage["stage"] not in (CHOICE, "write")
        and (stage["stage"] != "read" or stage["reasons"])
    ]
    ranked = sorted(groups.items(), key=lambda item: -item[1]["read"]["in"])
    rows, note = [], ""
    for value, counts in ranked[:GROUPS_SHOWN]:
        first = counts["read"]["in"]
        left = [_percent(counts[stage]["out"], first) for stage in stages]
        rows.append([taxonomy.name(value, "en"), f"{first:,}", *left])
    if len(ranked) > GROUPS_SHOWN:
        note = f"{len(ranked) - GROUPS_SHOWN:,} more in funnel.json"
    return Table(f"Judgments left by {dimension}, %", [dimension, "in", *stages], rows, note)


def _confidence_table(histogram: Mapping[str, int]) -> Table:
    largest = max(histogram.values())
    rows = [
        [f"{share} {'█' * round(BAR * count / largest)}", f"{count:,}"]
        for share, count in histogram.items()
    ]
    return Table("Confidence of the majority", ["confidence", "constraints"], rows)


def _notes(summary: Mapping[str, Any]) -> Iterator[str]:
    funnel = summary["funnel"]
    critiques, rules = funnel["critiques"], funnel["rules"]
    if critiques["short_rows"]:
        missing = critiques["requested"] - critiques["given"]
        of = amount(critiques["requested"], "critique")
        yield f"{missing:,} of {of} missing, in {amount(critiques['short_rows'], 'row')}"
    if rules["revised"]:
        (before,) = (stage["in"] for stage in funnel["stages"] if stage["stage"] == "rules")
        yield (
            f"rules: {rules['counted']:,} of {amount(rules['constraints'], 'constraint')} counted, "
            f"{amount(rules['revised'], 'judgment')} revised, "
            f"{amount(rules['changed'], 'verdict')} changed: "
            f"{_percent(rules['changed'], before['judgments'])} % of the stage's, "
            f"{_percent(rules['changed'], rules['revised'])} % of those revised"
        )
    if rules["uncounted"]:
        constraints = amount(rules["uncounted"], "constraint")
        yield f"{constraints} not counted: the part it limits was not copied word for word"
    if "cost" in summary:
        yield f"cost: {cost_line(summary['cost'])}"


def _percent(part: int, whole: int) -> str:
    return percent(part / whole if whole else None, 1)


ASSUMED = (
    f"{verification.TOKENS} a judgment that is verified, {verification.COPIED_TOKENS} a constraint "
    "whose part of the response is copied; what follows from the answers, reasoning and repeated "
    "requests come on top"
)

OUTCOME = "filtering"
"""The field of a row with the outcome of each of its judgments."""


class Filtering:
    """The result of filtering, read from the run's store.

    Its ``summary`` says how the run went, with the ``funnel``.
    """

    def __init__(self, generation: Generation, order: Sequence[str], *, partial: bool) -> None:
        """Sum up the rows, in one pass."""
        self._generation = generation
        self.directory = generation.directory
        self.progress = generation.progress
        funnel = Funnel(order, partial=partial)
        for row in generation:
            funnel.add(row)
        self.summary: dict[str, Any] = {**generation.summary, "funnel": funnel.result()}

    def __iter__(self) -> Iterator[Generated]:
        """Yield the rows that were kept, in input order: the final critique is their recording."""
        return (row for row in self._generation if _kept(row))

    def dropped(self) -> Iterator[Generated]:
        """Yield all other rows, in input order: dropped by a stage, or with their ``problem``."""
        return (row for row in self._generation if not _kept(row))

    def write(self, path: Path) -> None:
        """Write the rows that were kept as JSON lines; the file appears when complete."""
        self._generation.write(path, self)

    def write_reports(self, directory: Path) -> None:
        """Write what became of the rest: ``dropped.jsonl``, ``funnel.json``, ``funnel.md``."""
        self._generation.write(directory / "dropped.jsonl", self.dropped())
        write_json(directory / "funnel.json", self.summary["funnel"])
        with atomically(directory / "funnel.md") as file:
            file.write(document(self.summary).markdown())


def _kept(row: Generated) -> bool:
    if row.problem is not None or row.sample is None:
        return False
    return "dropped" not in (row.sample.model_extra or {})[OUTCOME]


def filter_critiques(
    data: Data,
    *,
    verifiers: Sequence[Model] = (),
    expert: Model | None = None,
    extractor: Model | None = None,
    settings: FilterSettings | None = None,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[DataOptions],
) -> Filtering:
    """Filter sampled critiques into one critique of each response.

    A kept row is a sample whose ``recording`` has the final critique as its ``text``; its
    field ``filtering`` holds each judgment's outcome: whether it was dropped, by which stage, why.

    The requests of a stage depend on the answers in the one before, so a dry run counts the first
    stage with new requests.

    Args:
        data: what :func:`~heedful.critic.data.experts.sample_critiques` made.
        verifiers: the models that verify the judgments (stage ``cross``).
        expert: the model that revises them, best the one that made them (stage ``rules``).
        extractor: the model that copies out what is counted; the first verifier by default.
        settings: of the stages.
        output: where to write the kept rows, as JSON lines.
        options: how the data is read and the job is run, see
            :class:`~heedful.engine.options.DataOptions` and
            :class:`~heedful.engine.options.RunOptions`.

    Returns:
        The rows, and the funnel.

    Raises:
        InputError: the file is missing, empty or in no known format.
        RunError: the run's directory holds a run with other models or of another file.
        StopRunError: no further call can succeed, as with a wrong key.
        UsageError: an option makes no sense, or a stage lacks its model.
    """
    settings = settings or FilterSettings()
    reading, running = split_options(options)
    if output is not None:
        check_rows_output(Path(output), read_and_written(data, running))
    chosen = stages.without(settings.skip)
    first = next(iter(verifiers), None)
    makers: dict[str, Callable[[], Stage]] = {  # only stages that run need their models
        "cross": lambda: verification.CrossModelStage(verifiers, settings),
        "rules": lambda: verification.RulesStage(extractor or first, expert, settings),
        "judgment": lambda: stages.MajorityStage(settings),
        "explanation": lambda: stages.ExplanationStage(settings),
    }
    pipeline = [makers[name]() for name in chosen]
    job = RowsJob(data, _recipe(pipeline, partial=settings.partial), **reading)
    result = Filtering(job.run(**running), chosen, partial=settings.partial)
    if result.directory is not None:
        result.write_reports(result.directory)
    if output is not None:
        result.write(Path(output))
    return result


def _recipe(pipeline: Sequence[Stage], *, partial: bool) -> Recipe:
    """Describe the run."""
    order = [stage.name for stage in pipeline]

    async def work(sample: Sample) -> Addition:
        item = FilterItem.read(sample)
        for stage in pipeline:
            await stage.apply(item)
            if item.calls.failures:  # what is left of the evidence decides nothing
                reason = f"{stage.name}: {item.calls.failures[0]}"
                return Addition(problem=reason, expenses=tuple(item.calls.expenses))
        return _addition(item, [READ, *order, WRITE], partial=partial)

    def tasks(sample: Sample) -> Iterator[Task]:
        row = _without_problem(sample)
        yield Task(row, lambda: work(row))

    @asynccontextmanager
    async def resources() -> AsyncIterator[None]:
        try:
            yield
        finally:
            for stage in pipeline:
                if isinstance(stage, stages.ExplanationStage):
                    await stage.pool.close()

    settings = {"partial": partial, "stages": {stage.name: stage.config for stage in pipeline}}
    names = {model.name for stage in pipeline for model in stage.models}
    return Recipe(
        adds=OUTCOME,
        about={"models": sorted(names), **settings},
        config={"command": "critic filter"},
        assumptions=ASSUMED,
        tasks=tasks,
        settings=settings,
        resources=resources,
    )


def _without_problem(sample: Sample) -> Sample:
    """Drop the note on missing critiques; the funnel counts them."""
    extra = sample.model_extra or {}
    if SAMPLED not in extra or extra[SAMPLED] is not None:
        return sample
    fields = native.write(sample)
    return Sample.model_validate(
        {key: value for key, value in fields.items() if key not in (SAMPLED, "problem")}
    )


def _addition(item: FilterItem, order: Sequence[str], *, partial: bool) -> Addition:
    """Lay out the outcome of a row, with its final critique in the place of the sampled ones."""
    text = _written(item)
    lost = list(item.losses(order))
    outcome: dict[str, Any] = {
        "critiques": {"requested": item.requested, "given": item.given},
        "constraints": _constraints(item),
    }
    fields: dict[str, Any] = {OUTCOME: outcome}
    settled = item.settled()
    if text is None or (lost and not partial):
        # The first stage that cost a constraint is the reason: later ones saw what it left.
        _, drop = min(lost, key=lambda loss: order.index(loss[1].stage))
        outcome["dropped"] = drop.record() | {"constraints": [at + 1 for at, _ in lost]}
    else:
        fields["recording"] = {"prompt": item.prompt, "text": text}
        if lost:
            fields["checklist"] = [
                item.sample.checklist[position].model_dump(mode="json", exclude_defaults=True)
                for position in settled
            ]
            labels = item.sample.labels
            fields["labels"] = labels and [labels[position] for position in settled]
    return Addition(fields=fields, expenses=tuple(item.calls.expenses))


def _written(item: FilterItem) -> str | None:
    """Write the final critique on the constraints that are left; what cannot be read is dropped."""
    settled = item.settled()
    if not settled:
        return None
    prompt = prompts.make(item.prompt)
    constraints = [item.sample.checklist[position] for position in settled]
    judgments = [item.left(position)[0].judgment for position in settled]
    text = prompt.write(judgments, constraints)
    read = prompt.parse(text, constraints)
    if [judgment.status for judgment in read] == [judgment.status for judgment in judgments]:
        return text
    for position in settled:
        item.left(position)[0].drop = Drop(WRITE, "cannot be written so that it can be read")
    return None


def _constraints(item: FilterItem) -> list[dict[str, Any]]:
    """Lay out the outcome of the judgments on each constraint."""
    laid_out = []
    for position, candidates in enumerate(item.candidates):
        left = item.left(position)
        fields: dict[str, Any] = {
            "type": item.sample.checklist[position].type,
            "status": left[0].status.value if left else None,
            "sample_index": left[0].sample_index if left else None,
            "confidence": item.confidence[position],
            "counted": item.facts[position],
            "uncounted": position in item.uncounted or None,
            "judgments": [candidate.record() for candidate in candidates],
        }
        laid_out.append({name: value for name, value in fields.items() if value is not None})
    return laid_out
