"""``heedful checklist``."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated

from cyclopts import Parameter

from heedful.cli.connection import CallFlags, connect_one, sampling
from heedful.cli.rows import add_to_rows
from heedful.cli.running import Outcome, Output, PartFlags, RunFlags, print_outcome
from heedful.core.errors import UsageError
from heedful.core.text import printable


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DecompositionFlags:
    """How checklists are made, and for which samples.

    Attributes:
        prompt: plain (with types and priorities), rubric (questions in the model's words) or
            if_critic (IF-Critic's published format).
        prompt_file: A file whose text replaces that of the prompt, with {{conversation}} in it.
        overwrite: Also replace a checklist that is there.
    """

    prompt: str = "plain"
    prompt_file: Path | None = None
    overwrite: Annotated[bool, Parameter(negative="")] = False


def checklist(
    input: list[Path],  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: Output = None,
    compile: Annotated[bool, Parameter(negative="")] = False,  # noqa: A002 - the flag's name
    decomposition: DecompositionFlags = DecompositionFlags(),
    data: PartFlags = PartFlags(),  # noqa: B008 - immutable
    model_flags: Annotated[CallFlags, Parameter(name="*", group="Model")] = CallFlags(),  # noqa: B008 - immutable
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Make a checklist for every sample that has none, or compile the constraints of those there.

    Args:
        input: The file with the samples; several, a folder or a 'PATTERN*'.
        output: Where the samples go with their checklists: JSON lines. Only a dry run and
            --compile need none.
        compile: Turn the constraints of INPUT into checks, without a model. Show each as code, or
            why it has none; -o writes the samples with these checks.
        decomposition: How checklists are made, and for which samples.
        data: How the input is read.
        model_flags: The model and how it is called.
        flags: How the job is run.
    """
    from heedful.jobs import checklists

    if compile:
        if model_flags.model:
            raise UsageError("--compile calls no model", hint="leave --model out")
        return _compile(input, output, data, quiet=flags.quiet)
    model = connect_one(model_flags)
    how = sampling(model_flags)
    contract = checklists.make(decomposition.prompt, prompt_file=decomposition.prompt_file)
    config = dict(checklists.Decomposer(model, contract, how).config)
    name = ("checklist", data.format, data.task, decomposition.overwrite, config)
    job = partial(
        checklists.checklist,
        model=model,
        prompt=contract,
        sampling=how,
        overwrite=decomposition.overwrite,
    )
    return add_to_rows(
        job, input, output, name=name, data=data, model_flags=model_flags, flags=flags
    )


def _compile(paths: list[Path], output: Path | None, data: PartFlags, *, quiet: bool) -> int:
    """Show what each constraint becomes, and write the samples with their checks."""
    from heedful.cli.files import readable
    from heedful.engine.inputs import open_data
    from heedful.jobs.checklists import compiled

    if data.part():
        raise UsageError(f"--{data.part()[0]} is given without a model", hint="leave it out")
    source = open_data(readable(paths), format=data.format, task=data.task) or ()
    coverage = compiled.Coverage()
    for row in compiled.compiled_rows(source):
        coverage.add(row)
        if not quiet:
            sys.stdout.write(printable("\n".join(compiled.lines(row))) + "\n")
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
