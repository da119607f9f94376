"""``heedful checklist`` and ``heedful checklist lint``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.cli.flags import MODEL, FlagGroup, Output, Quiet, Switch, takes, the_model
from heedful.cli.running import (
    DATA,
    INCOMPLETE,
    RUN,
    WHOLE_DATA,
    Outcome,
    add_to_rows,
    print_outcome,
)
from heedful.core.errors import UsageError
from heedful.core.text import amount, printable
from heedful.jobs.checklists.prompt import ChecklistOptions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heedful.data.formats import Row
    from heedful.jobs.checklists.linting import LintFinding


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
            failed=len(unread),
            complete=not unread,
        )
    )


@takes(WHOLE_DATA)
def lint(
    input: Path,
    /,
    *,
    output: Output = None,
    golden: Path | None = None,
    errors_only: Switch = False,
    quiet: Quiet = False,
    **reading: Any,
) -> int:
    """Find mistakes in checklists and rubrics.

    Duplicates, contradictions, weights that make no sense and golden examples that
    come out wrong are errors; what asks for two things, is vague, or could be
    decided by code, and what of the instruction no constraint takes up, are hints.
    No model is called. heedful checklist lint is the same command.

    heedful checklist-lint rubrics.jsonl

    Args:
        input: The file with the checklists.
        output: Write the findings, one JSON object a line.
        golden: Write the golden examples as labelled rows, for heedful judge-accuracy.
        errors_only: Leave out hints: points, code, coverage.
        quiet: Print only the last line.
    """
    from heedful.core.outputs import atomically, refuse_inputs
    from heedful.data.formats import open_source
    from heedful.jobs.checklists import linting

    source = open_source(input, **reading)
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
    from heedful.core.outputs import atomically
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
