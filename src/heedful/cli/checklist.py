"""``heedful checklist`` and ``heedful checklist lint``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from heedful.cli.connection import CallFlags, connect_one, sampling
from heedful.cli.rows import add_to_rows
from heedful.cli.running import (
    INCOMPLETE,
    DataFlags,
    Outcome,
    Output,
    PartFlags,
    Quiet,
    RunFlags,
    print_outcome,
)
from heedful.core.errors import UsageError
from heedful.core.text import amount, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heedful.data.formats import Row
    from heedful.jobs.checklists.linting import LintFinding


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


def lint(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: Output = None,
    golden: Path | None = None,
    errors_only: Annotated[bool, Parameter(negative="")] = False,
    quiet: Quiet = False,
    data: DataFlags = DataFlags(),  # noqa: B008 - immutable
) -> int:
    """Look for faults in checklists and rubrics, without a model.

    Args:
        input: The file with the checklists.
        output: Write the findings, one JSON object a line.
        golden: Write the golden examples as labelled rows, for heedful meta.
        errors_only: Leave out hints: points, code, coverage.
        quiet: Print only the last line.
        data: How the input is read.
    """
    from heedful.data.formats import open_source
    from heedful.data.formats.base import atomically, refuse_inputs
    from heedful.jobs.checklists import linting

    source = open_source(input, format=data.format, task=data.task)
    for path in (output, golden):
        if path is not None:
            refuse_inputs(path, source.files)
    findings = [each for each in linting.lint_rows(source) if each.is_error or not errors_only]
    if output is not None:
        with atomically(output) as file:
            for each in findings:
                file.write(json.dumps(each._asdict(), ensure_ascii=False) + "\n")
    if golden is not None:
        _write_golden(golden, source)
    if not quiet:
        for each in findings:
            place = f" {each.constraint}" if each.constraint else ""
            line = f"{each.sample}{place}: {each.kind}: {each.message}"
            sys.stdout.write(printable(line) + "\n")
    sys.stdout.write(_summary(findings) + "\n")
    return INCOMPLETE if any(each.is_error for each in findings) else 0


def _write_golden(path: Path, source: Iterable[Row]) -> None:
    from heedful.data.formats.base import atomically
    from heedful.jobs.checklists.linting import golden_rows

    with atomically(path) as file:
        for row in source:
            for record in golden_rows(row.sample) if row.sample is not None else ():
                file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _summary(findings: list[LintFinding]) -> str:
    errors = sum(each.is_error for each in findings)
    kinds = Counter(each.kind for each in findings)
    said = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    counted = f"{amount(errors, 'error')}, {amount(len(findings) - errors, 'hint')}"
    return f"{counted}{f' ({said})' if said else ''}"
