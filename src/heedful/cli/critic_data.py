"""What the commands that make critique data print at the end."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from heedful.cli import terminal
from heedful.cli.running import INCOMPLETE, PROBLEMS_SHOWN

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def show(
    view: str, summary: Mapping[str, Any], output: Path | None, *, broken: int, quiet: bool
) -> int:
    """Print a summary, and the rows with which something is wrong on standard error.

    Args:
        view: one of :data:`heedful.critic.data.views.VIEWS`.
        summary: what came of the command.
        output: where it is.
        broken: how many rows something is wrong with.
        quiet: print nothing.

    Returns:
        The exit code.
    """
    if not quiet:
        from heedful.critic.data.views import VIEWS

        console = terminal.console()
        console.print(VIEWS[view](summary))
        if output is not None:
            console.print(f"  → {output}", style="dim", soft_wrap=True)
        for problem in summary.get("problems", ())[:PROBLEMS_SHOWN]:
            sys.stderr.write(f"line {problem['line']}: {problem['id']}: {problem['problem']}\n")
        if broken > PROBLEMS_SHOWN:
            sys.stderr.write(f"… and {broken - PROBLEMS_SHOWN:,} more rows\n")
    return INCOMPLETE if broken else 0
