"""The end of the commands that make critique data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.cli.running import Outcome, print_outcome

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def show(
    view: str, summary: Mapping[str, Any], output: Path | None, *, broken: int, quiet: bool
) -> int:
    """Print a summary, and on standard error the rows with which something is wrong.

    Args:
        view: one of :data:`heedful.critic.data.views.VIEWS`.
        summary: the command's result.
        output: the file or folder that was written.
        broken: how many rows something is wrong with.
        quiet: print no summary.

    Returns:
        The exit code.
    """
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
