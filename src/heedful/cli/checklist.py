"""``heedful checklist``."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

from heedful.cli.flags import MODEL, FlagGroup, Output, Switch, takes, the_model
from heedful.cli.running import (
    DATA,
    RUN,
    Outcome,
    add_to_rows,
    print_outcome,
)
from heedful.core.errors import UsageError
from heedful.core.text import printable
from heedful.jobs.checklists.prompt import ChecklistOptions


@takes(FlagGroup("", (ChecklistOptions,)), DATA, MODEL, RUN)
def checklist(
    input: list[Path],
    /,
    *,
    output: Output = None,
    compile: Switch = False,
    **options: Any,
) -> int:
    """Make checklists: a model lists the constraints of each instruction.

    Each constraint must stand word for word in the instruction, or it is asked for
    again and then left out. Samples that have a checklist keep it.

    heedful checklist prompts.jsonl --model gpt-4.1-mini -o checklists.jsonl

    Args:
        input: The file with the samples; several, a folder or a 'PATTERN*'.
        output: Where the samples go with their checklists: JSON lines. Only a dry run and
            --compile need none.
        compile: Turn the constraints of INPUT into checks, without a model. Show each as code, or
            why it has none; -o writes the samples with these checks.
    """
    from heedful.jobs import checklists

    if compile:
        if "model" in options:
            raise UsageError("--compile calls no model", hint="leave --model out")
        return _compile(input, output, options)
    name = the_model(options)
    job = partial(checklists.checklist, model=name)
    return add_to_rows(job, input, output, options, [name])


def _compile(paths: list[Path], output: Path | None, options: dict[str, Any]) -> int:
    """Show what each constraint becomes, and write the samples with their checks."""
    from heedful.cli.files import readable
    from heedful.engine.inputs import open_data
    from heedful.jobs.checklists import compiled

    for flag in ("limit", "sample", "reasoning"):
        if flag in options:
            raise UsageError(f"--{flag} is given without a model", hint="leave it out")
    files = readable(paths)
    source = open_data(files, format=options.get("format"), task=options.get("task")) or ()
    coverage = compiled.Coverage()
    for row in compiled.compiled_rows(source):
        coverage.add(row)
        if "quiet" not in options:
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
            complete=not unread,
        )
    )
