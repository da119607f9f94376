"""``heedful critic select``."""

from __future__ import annotations

from functools import partial
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from heedful.cli import rows
from heedful.cli.connection import CallFlags, connect_one, sampling
from heedful.cli.running import DataFlags, Outcome, Output, RunFlags, carry_out

if TYPE_CHECKING:
    from heedful.critic.data import SelectedInstructions


def select(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: Output = None,
    count: Annotated[int | None, Parameter(name=["--count", "-n"])] = None,
    seed: int = 0,
    data: DataFlags = DataFlags(),  # noqa: B008 - immutable
    model_flags: Annotated[CallFlags, Parameter(name="*", group="Model")] = CallFlags(),  # noqa: B008 - immutable
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Choose instructions, as many of each category and complexity as can be.

    The model classifies rows without the tags category and complexity.

    Args:
        input: The file with the instructions.
        output: Where those that are chosen go: JSON lines. Only a dry run needs none.
        count: How many are chosen. Default: all.
        seed: Of the random choice among those alike.
        data: How the input is read.
        model_flags: The model and how it is called.
        flags: How the job is run.
    """
    from heedful.critic import data as critic
    from heedful.engine.inputs import default_run

    model = connect_one(model_flags) if model_flags.model else None
    how = sampling(model_flags)
    config = dict(model.config) if model else None
    options = ("critic select", data.format, data.task, config, how)
    run = flags.run or default_run(input, None, *options)
    job = partial(
        critic.select,
        input,
        model=model,
        count=count,
        seed=seed,
        sampling=how,
        output=output,
        format=data.format,
        task=data.task,
    )

    return carry_out(
        job,
        flags,
        run=run,
        models=model_flags.model,
        concurrency=model_flags.max_concurrency,
        outcome=partial(_outcome, run=run, output=output),
        output=output,
    )


def _outcome(result: SelectedInstructions, run: Path, output: Path | None) -> Outcome:
    from heedful.critic.data.selection import document

    return rows.rows_outcome(
        result.summary,
        lambda: document(result.summary).terminal(),
        resumed=0,
        run=run,
        names=run / "summary.json",
        written=(output,),
    )
