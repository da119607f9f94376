"""What the commands that add something to samples print at their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.cli.running import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from rich.console import RenderableType

    from heedful.jobs.rows import Generation


def outcome(result: Generation, output: Path | None) -> Outcome:
    """Say what came of a job that made rows."""
    from heedful.jobs.rows_tables import view

    return rows_outcome(
        result.summary,
        lambda: view(result.summary),
        resumed=result.progress.resumed,
        run=result.directory,
        names=output,
        written=(output,),
    )


def rows_outcome(
    summary: Mapping[str, Any],
    view: Callable[[], RenderableType],
    *,
    resumed: int,
    run: Path | None,
    names: Path | None,
    written: tuple[Path | None, ...],
) -> Outcome:
    """Say what came of rows, from their summary.

    Args:
        summary: of the run.
        view: what is printed.
        resumed: rows that an earlier session had finished.
        run: the run's directory.
        names: the file that names all rows that failed.
        written: the files.
    """
    rows = summary["rows"]
    retry = f"--retry-failed asks again for what failed (run {run})"
    return Outcome(
        view=view,
        written=written,
        problems=summary["problems"],
        failed=rows["failed"] + rows["unread"],
        names=names,
        resumed=resumed,
        hints=(retry,) if rows["failed"] else (),
        complete=not (rows["failed"] or rows["unread"]),
    )
