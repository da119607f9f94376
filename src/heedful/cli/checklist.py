"""``heedful checklist``."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated

from cyclopts import Parameter

from heedful.cli import rows
from heedful.cli.connection import CallFlags, Names, connect, sampling
from heedful.cli.running import DataFlags, Outcome, RunFlags, carry_out, print_outcome
from heedful.core.errors import UsageError


@Parameter(name="*", group="Model")
@dataclass(frozen=True, kw_only=True)
class DecomposerFlags(CallFlags):
    """How a model is asked for checklists.

    Attributes:
        model: Who takes the instructions apart.
    """

    model: Names = field(default_factory=list)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DecompositionFlags:
    """What a model is asked for, and about which samples.

    Attributes:
        prompt: plain (with types and priorities) or if_critic (IF-Critic's published format).
        prompt_file: A file whose text replaces that of the prompt, with {{conversation}} in it.
        overwrite: Ask also where there is a checklist.
    """

    prompt: str = "plain"
    prompt_file: Path | None = None
    overwrite: Annotated[bool, Parameter(negative="")] = False


def checklist(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    compile: Annotated[bool, Parameter(negative="")] = False,  # noqa: A002 - the flag's name
    asking: DecompositionFlags = DecompositionFlags(),
    data: DataFlags = DataFlags(),  # noqa: B008 - immutable
    model_flags: DecomposerFlags = DecomposerFlags(),
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Make a checklist for every sample that has none, or compile the constraints of those there.

    Args:
        input: The file with the samples.
        output: Where the samples go with their checklists: JSON lines. Only a dry run and
            --compile need none.
        compile: Ask no model; show what each constraint of INPUT becomes as code, or why it does
            not. With -o, write the samples with these checks.
        asking: What a model is asked for, and about which samples.
        data: How the input is read.
        model_flags: How a model is asked.
        flags: How the job is run.

    Returns:
        The exit code.
    """
    from heedful.engine.inputs import default_run
    from heedful.jobs import checklists

    if compile:
        return _compile(input, output, data, quiet=flags.quiet)
    if len(model_flags.model) != 1:
        number = "no model" if not model_flags.model else f"{len(model_flags.model)} models"
        raise UsageError(f"there is {number} to ask", hint="name one with --model")
    (model,) = connect(model_flags)
    how = sampling(model_flags)
    contract = checklists.make(asking.prompt, prompt_file=asking.prompt_file)
    config = dict(checklists.Decomposer(model, contract, how).config)
    options = ("checklist", data.format, data.task, asking.overwrite, config)
    run = flags.run or default_run(input, None, *options)
    job = partial(
        checklists.checklist,
        input,
        model=model,
        prompt=contract,
        sampling=how,
        overwrite=asking.overwrite,
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
        outcome=partial(rows.outcome, output=output),
        output=output,
    )


def _compile(path: Path, output: Path | None, data: DataFlags, *, quiet: bool) -> int:
    """Show what each constraint becomes, and write the samples with their checks."""
    from heedful.data import formats
    from heedful.jobs.checklists import compiled

    source = formats.open_source(path, format=data.format, task=data.task)
    coverage = compiled.Coverage()
    for row in compiled.compiled_rows(source):
        coverage.add(row)
        if not quiet:
            sys.stdout.write("\n".join(compiled.lines(row)) + "\n")
    unread = [
        {"line": each.line, "id": each.id, "problem": each.problem}
        for each in source
        if each.sample is None
    ]
    if output is not None:
        compiled.write_samples(source, output)
    return print_outcome(
        Outcome(
            view=lambda: compiled.coverage_table(coverage).terminal(),
            written=(output,),
            problems=unread,
            failed=len(unread),
            complete=not unread,
        )
    )
