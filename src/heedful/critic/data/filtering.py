"""Filtering the experts' critiques into one critique of each response, to be learned from.

Every row goes through the stages by itself, durably. Answers are cached, so that a stage can
be left out, moved or changed without repeating other requests.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from heedful.core.nouns import Sample
from heedful.core.outputs import atomically, write_json
from heedful.critic.data import stages, verification
from heedful.critic.data.experts import SAMPLED
from heedful.critic.data.funnel import Funnel, document
from heedful.critic.data.options import FilterSettings
from heedful.critic.data.stages import READ, WRITE, Drop, FilterItem
from heedful.data.formats import native
from heedful.engine.options import split_options
from heedful.jobs.rows import Addition, Recipe, RowsJob, Task, check_rows_output, read_and_written
from heedful.judges import prompts

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from heedful.critic.data.stages import Stage
    from heedful.engine.inputs import Data
    from heedful.engine.options import DataOptions
    from heedful.jobs.rows import Generated, Generation
    from heedful.models.base import Model

ASSUMED = (
    f"{verification.TOKENS} a judgment that is verified; what follows from the answers, reasoning "
    "and repeated requests come on top"
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
    makers: dict[str, Callable[[], Stage]] = {  # only stages that run need their models
        "cross": lambda: verification.CrossModelStage(verifiers, settings),
        "rules": lambda: verification.RulesStage(expert, settings),
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

    settings = {"partial": partial, "stages": {stage.name: stage.config for stage in pipeline}}
    names = {model.name for stage in pipeline for model in stage.models}
    return Recipe(
        adds=OUTCOME,
        about={"models": sorted(names), **settings},
        config={"command": "critic filter"},
        assumptions=ASSUMED,
        tasks=tasks,
        settings=settings,
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
            "judgments": [candidate.record() for candidate in candidates],
        }
        laid_out.append({name: value for name, value in fields.items() if value is not None})
    return laid_out
