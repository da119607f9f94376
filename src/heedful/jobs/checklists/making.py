"""Making a checklist for every sample of a source, durably."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from heedful.engine.options import refuse_unknown, split_options
from heedful.engine.purpose import CHECKLIST_TOKENS
from heedful.jobs.checklists.decomposer import Decomposer
from heedful.jobs.checklists.options import ChecklistOptions
from heedful.jobs.checklists.prompt import make
from heedful.jobs.generate import Recipe, RowsJob, Task, called, keep
from heedful.jobs.rows import Addition

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from heedful.core.nouns import Sample
    from heedful.engine.inputs import Data
    from heedful.jobs.checklists.decomposer import Decomposition
    from heedful.jobs.rows import Generation
    from heedful.models.base import Model, Sampling

ASSUMED = f"{CHECKLIST_TOKENS} a checklist; reasoning and repeated requests come on top"


def checklist(
    data: Data,
    *,
    model: str | Model,
    sampling: Sampling | None = None,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[ChecklistOptions],
) -> Generation:
    """Make a checklist for every sample that has none.

    A model lists the constraints of the instruction; each must stand word for word in a turn of
    the user or in the system prompt. One that does not is requested again once, and then left
    out. Labels and recorded verdicts on an earlier checklist are left out too. A row is a sample
    with its ``checklist``; its field ``decomposition`` says who made it and what was rejected.

    Args:
        data: a file in any format that heedful reads, or samples.
        model: lists the constraints: a model, or its name.
        sampling: temperature and so on; by default temperature 0.
        output: where to write the rows, as JSON lines.
        options: ``prompt``, ``prompt_file`` and ``overwrite``, see
            :class:`~heedful.jobs.checklists.options.ChecklistOptions`; how the data is read and the
            job is run, see :class:`~heedful.engine.options.DataOptions` and
            :class:`~heedful.engine.options.RunOptions`; for a model given by name, how it is
            called, see :class:`~heedful.models.options.CallOptions`: ``base_url``, ….

    Returns:
        The rows in input order, and the summary.

    Raises:
        InputError: the file is missing, empty or in no known format.
        RunError: the run's directory holds a run with another configuration.
        StopRunError: no further call can succeed, as with a wrong key, or the next may cost more
            than is left; the same call goes on from there.
        UsageError: an option makes no sense.
    """
    refuse_unknown(options, ChecklistOptions)
    prompt, file = options.pop("prompt", "plain"), options.pop("prompt_file", None)
    overwrite = options.pop("overwrite", False)
    if isinstance(prompt, str):
        prompt = make(prompt, prompt_file=None if file is None else Path(file))
    (writer,), sampling, rest = called([model], sampling, options)
    reading, running = split_options(rest)
    recipe = _recipe(Decomposer(writer, prompt, sampling), overwrite=overwrite)
    return RowsJob(data, recipe, output=output, **reading).run(**running)


def _recipe(decomposer: Decomposer, *, overwrite: bool) -> Recipe:
    def tasks(sample: Sample) -> Iterator[Task]:
        if sample.checklist and not overwrite:
            yield Task(sample, keep)
            return
        update = {"checklist": (), "labels": None, "recording": None}
        row = sample.model_copy(update=update)

        async def make() -> Addition:
            return _addition(await decomposer.decompose(row), decomposer)

        yield Task(row, make)

    config = {**decomposer.config, "overwrite": overwrite}
    about = {"models": [decomposer.model.name], "prompt": config["prompt"]}
    return Recipe("decomposition", about, {"command": "checklist", **config}, ASSUMED, tasks)


def _addition(result: Decomposition, decomposer: Decomposer) -> Addition:
    counts = {
        "constraints": len(result.checklist),
        "rejected": len(result.rejected),
        "duplicates": len(result.duplicates),
    }
    expenses = tuple(result.expenses)
    if result.problem is not None:
        return Addition(problem=result.problem, expenses=expenses, counts=counts)
    about: dict[str, Any] = {"model": decomposer.model.name, "prompt": decomposer.prompt.name}
    if result.rejected:
        about["rejected"] = result.rejected
    constraints = [
        constraint.model_dump(mode="json", exclude_defaults=True) for constraint in result.checklist
    ]
    return Addition(
        fields={"checklist": constraints, "decomposition": about},
        expenses=expenses,
        counts=counts,
    )
