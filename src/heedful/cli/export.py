"""``heedful export``."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from heedful.cli.running import INCOMPLETE, Output
from heedful.core.errors import UsageError
from heedful.core.text import amount

if TYPE_CHECKING:
    from heedful.analysis.export import Exported


def export(
    *runs: Annotated[Path, Parameter(name="RUN")],
    output: Output = None,
    otel: Annotated[bool, Parameter(negative="")] = False,
    salvage: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Write finished runs for other tools.

    Args:
        runs: Directories of finished runs.
        output: A .csv, .jsonl or .parquet file for the judgments, a row each; a .eval file for one
            run as a log of Inspect AI; a .md file for the summary.
        otel: Send the verdicts as OpenTelemetry's gen_ai.evaluation.result events, to the collector
            that OTEL_EXPORTER_OTLP_ENDPOINT names.
        salvage: Leave out rows that are damaged, instead of refusing their run.
    """
    if (output is None) is not otel:
        raise UsageError(
            "runs are exported to a file or as events",
            hint="name a file with --output, or give --otel",
        )
    from heedful.analysis.export import SUFFIXES, emit_events
    from heedful.analysis.export import export as write

    if output is None:
        return _said(emit_events(*runs, salvage=salvage), "OpenTelemetry")
    if output.suffix.lower() == ".md":
        return _summaries(runs, output)
    if output.suffix.lower() not in SUFFIXES:
        raise UsageError(
            "the output is of an unknown kind",
            where=str(output),
            hint="name a .csv, .jsonl or .parquet file for the judgments, a .eval file for a log "
            "of Inspect AI, or a .md file for the summary",
        )
    return _said(write(*runs, output=output, salvage=salvage), str(output))


def _said(written: Exported, where: str) -> int:
    sys.stdout.write(f"{amount(written.judgments, 'judgment')} → {where}\n")
    if written.unread:
        have = "has" if written.unread == 1 else "have"
        rows = amount(written.unread, "row")
        sys.stderr.write(f"{rows} could not be read and {have} no judgments\n")
    return INCOMPLETE if written.unread else 0


def _summaries(runs: tuple[Path, ...], output: Path) -> int:
    from heedful.data.formats.base import atomically
    from heedful.engine.saved_run import SavedRun
    from heedful.jobs.evaluate_tables import document
    from heedful.jobs.results import check_folder

    check_folder(output, runs)
    if not runs:
        raise UsageError("no run is named", hint="name the directory of a run, or several")
    opened = [SavedRun.open(run) for run in runs]
    named = [(run.directory.resolve().name, run.summary) for run in opened]
    pages = [document(name, summary).markdown() for name, summary in named]
    with atomically(output) as file:
        file.write("\n".join(pages))
    sys.stdout.write(f"{amount(len(pages), 'summary', 'summaries')} → {output}\n")
    return 0
