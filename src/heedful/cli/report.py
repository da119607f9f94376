"""``heedful report``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from heedful.cli.running import INCOMPLETE, RequiredOutput
from heedful.core.text import amount


def report(
    *runs: Annotated[Path, Parameter(name="RUN")],
    output: RequiredOutput = Path("report.html"),
    examples: int = 10,
    charts: bool = True,
) -> int:
    """Write a report on finished runs: one page of HTML that needs nothing but itself.

    Args:
        runs: Directories of finished runs; several stand side by side and are compared where they
            hold the same samples.
        output: The .html file.
        examples: How many samples with an unmet constraint are shown of each run; 0 for none.
        charts: Draw charts; without them the file is about a megabyte smaller.
    """
    from heedful.pages.report.report import report as write

    written = write(*runs, output=output, examples=examples, charts=charts)
    size = output.stat().st_size / 1000
    samples = amount(written.samples, "sample")
    sys.stdout.write(f"{amount(len(runs), 'run')}, {samples} → {output} ({size:,.0f} kB)\n")
    if written.unread:
        rows = amount(written.unread, "row")
        sys.stderr.write(f"{rows} could not be read or judged; the report lists them\n")
    return INCOMPLETE if written.unread else 0
