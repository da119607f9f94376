"""Finished runs for other tools: tables of judgments, JUnit reports, logs of Inspect AI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from heedful.core.errors import UsageError
from heedful.jobs.evaluate import directories
from heedful.jobs.results import check_folder
from heedful.jobs.saved_run import SavedRun

if TYPE_CHECKING:
    import os

    from heedful.jobs.evaluate import Run

__all__ = ["SUFFIXES", "export"]

SUFFIXES = (".csv", ".jsonl", ".parquet", ".xml", ".eval")
"""Formats that :func:`export` writes, by the suffix of the file."""


class Exported(NamedTuple):
    """Counts of what was written: judgments, and rows that could not be read and have none.

    Rows that are damaged count as not read.
    """

    judgments: int
    unread: int


def export(*runs: Run, output: str | os.PathLike[str], salvage: bool = False) -> Exported:
    """Write finished runs for other tools, in constant memory.

    Args:
        runs: directories of runs of :func:`heedful.evaluate`, or evaluations.
        output: a ``.csv``, ``.jsonl`` or ``.parquet`` file for the judgments, a row each; an
            ``.xml`` file for a JUnit report, a test case each; or an ``.eval`` file for one run as
            a log of Inspect AI.
        salvage: leave out rows that are damaged, instead of refusing their run.

    Returns:
        How much was written.

    Raises:
        RunError: a run is not there, not finished, or damaged.
        UsageError: no run is named, or several for a log, or the file cannot be written.
    """
    path = Path(output)
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            "runs aren't exported to this kind of file",
            where=str(path),
            hint=f"name a file with one of the suffixes {', '.join(SUFFIXES)}",
        )
    if not runs:
        raise UsageError("no run is named", hint="name the directory of a run, or several")
    with directories(runs) as places:
        check_folder(path, places)
        opened = [SavedRun.open(run, salvage=salvage) for run in places]
        if path.suffix.lower() == ".eval":
            return _export_log(opened, path)
        from heedful.analysis.export.tables import WRITERS, JudgmentTable

        table = JudgmentTable(opened)
        WRITERS[path.suffix.lower()](path, table)
        return Exported(table.judgments, table.unread)


def _export_log(runs: list[SavedRun], path: Path) -> Exported:
    from heedful.analysis.export.inspect_log import InspectLog

    if len(runs) > 1:
        raise UsageError(
            f"a log of Inspect holds one run, not {len(runs)}",
            where=str(path),
            hint="write a file for each",
        )
    log = InspectLog(runs[0])
    log.write(path)
    return Exported(log.judgments, log.unread)
