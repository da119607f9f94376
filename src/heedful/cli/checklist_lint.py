"""``heedful checklist lint``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from heedful.cli.running import INCOMPLETE, DataFlags, Output, Quiet
from heedful.core.text import amount, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heedful.data.formats import Row
    from heedful.jobs.checklists.linting import LintFinding


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
