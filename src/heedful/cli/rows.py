"""Running the commands that add something to samples or make data of them, and their results."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from heedful.cli.running import Outcome, carry_out, print_outcome
from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from rich.console import RenderableType

    from heedful.jobs.rows import Generation


def add_to_rows(
    function: Callable[..., Any],
    inputs: Sequence[Path],
    output: Path | None,
    options: dict[str, Any],
    models: Sequence[str],
    outcome: Callable[[Any, Path | None], Outcome] | None = None,
) -> int:
    """Run a job that adds something to the rows of a file, and print its result."""
    from heedful.cli.files import readable

    if output is None and "dry_run" not in options:
        raise UsageError("--output is missing", hint="name a .jsonl file for the rows")
    lay_out = outcome or _outcome
    return carry_out(
        partial(function, readable(inputs), output=output),
        options,
        models=models,
        outcome=lambda result: lay_out(result, output),
    )


def _outcome(result: Generation, output: Path | None) -> Outcome:
    from heedful.jobs.rows import view

    return rows_outcome(
        result.summary,
        lambda: view(result.summary),
        resumed=result.progress.resumed,
        hopeless=result.progress.hopeless,
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
    hopeless: int = 0,
) -> Outcome:
    """Lay out the result of a job over rows."""
    rows = summary["rows"]
    retry = f"--retry-failed requests again what failed (run {run})"
    return Outcome(
        view=view,
        written=written,
        problems=summary["problems"],
        failed=rows["failed"] + rows["unread"],
        names=names,
        resumed=resumed,
        hints=(retry,) if rows["failed"] > hopeless else (),
        complete=not (rows["failed"] or rows["unread"]),
    )


def show(
    view: str, summary: Mapping[str, Any], output: Path | None, *, broken: int, quiet: bool
) -> int:
    """Print a summary, and on standard error the rows with which something is wrong."""
    from heedful.critic.data.views import VIEWS

    return print_outcome(
        Outcome(
            view=lambda: VIEWS[view](summary).terminal(),
            written=(output,),
            problems=() if quiet else summary.get("problems", ()),
            failed=0 if quiet else broken,
            complete=not broken,
        ),
        quiet=quiet,
    )
