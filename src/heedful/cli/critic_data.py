"""Printing the results of the commands that make critique data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.cli.running import Outcome, print_outcome

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def show(
    view: str, summary: Mapping[str, Any], output: Path | None, *, broken: int, quiet: bool
) -> int:
    """Print a summary, and the rows with which something is wrong on standard error.

    Args:
        view: one of :data:`heedful.critic.data.views.VIEWS`.
        summary: of the command.
        output: the file that was written.
        broken: how many rows something is wrong with.
        quiet: print no summary.

    Returns:
        The exit code.
    """
    from heedful.critic.data.views import VIEWS

    outcome = Outcome(
        view=lambda: VIEWS[view](summary),
        written=[output],
        problems=summary.get("problems", ()),
        failed=broken,
        complete=not broken,
    )
    return print_outcome(outcome, quiet=quiet)
