"""``heedful bench``: benchmarks of critics."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from heedful.cli import terminal
from heedful.cli.running import INCOMPLETE, PROBLEMS_SHOWN
from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections import Counter

    from heedful.bench.grading.grading import GradeCounts

TICK_SECONDS = 0.2


def grade(
    files: list[Path],
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    from_: Annotated[Literal["solution", "pred"], Parameter(name="--from")] = "solution",
    timeout: float = 5.0,
    workers: int | None = None,
    accept_choice_text: Annotated[bool, Parameter(negative="")] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
) -> int:
    """Grade the solutions in RealCritic's files against their gold answers, without a model.

    Args:
        files: RealCritic's files, one a set: question, gt, reasoning, pred.
        output: Write each item's grade here, as JSON lines.
        from_: Grade the solution's text, or the answer that the file gives as pred.
        timeout: Seconds that comparing one answer may take; longer is undecided.
        workers: Processes that compare; as many as there are cores unless given.
        accept_choice_text: Take a choice in words for its letter.
        quiet: Print no table and no progress.

    Returns:
        The exit code.
    """
    from heedful.bench.grading.grading import grade_files

    if not files:
        raise UsageError("no file to grade", hint="name RealCritic's files, such as gsm8k.jsonl")
    started = time.monotonic()
    progress = _Progress(started, shown=not quiet and sys.stderr.isatty())
    try:
        tallies = asyncio.run(
            grade_files(
                files,
                output,
                reading=from_,
                timeout_s=timeout,
                workers=workers,
                accept_choice_text=accept_choice_text,
                on_progress=progress,
            )
        )
    finally:
        progress.clear()
    if not quiet:
        _show(tallies, output, time.monotonic() - started)
    unread = sum(tally.unread for tally in tallies.values())
    return INCOMPLETE if unread or not any(tally.decided for tally in tallies.values()) else 0


class _Progress:
    """A line on standard error that says how far the grading is, where that is a terminal."""

    def __init__(self, started: float, *, shown: bool) -> None:
        self._started = self._ticked = started
        self._shown = shown

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if self._shown and now - self._ticked > TICK_SECONDS:
            self._ticked = now
            rate = done / (now - self._started)
            sys.stderr.write(f"\r  {done:,} graded, {rate:,.0f} a second\x1b[K")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")


def _show(tallies: dict[str, GradeCounts], output: Path | None, seconds: float) -> None:

    from heedful.bench.grading.tables import grading_table

    console = terminal.console()
    console.print(grading_table(tallies).terminal())
    undecided = _merged(tallies)
    if undecided:
        console.print(f"  {undecided.total():,} undecided, neither correct nor wrong:")
        for reason, count in undecided.most_common(PROBLEMS_SHOWN):
            console.print(f"    {count:,}: {reason}", style="yellow")
        if len(undecided) > PROBLEMS_SHOWN:
            more = sum(count for _, count in undecided.most_common()[PROBLEMS_SHOWN:])
            console.print(f"    {more:,}: other reasons", style="yellow")
    items = sum(tally.items for tally in tallies.values())
    console.print(f"  {seconds:.1f} s, {items / seconds:,.0f} items a second", style="dim")
    if output is not None:
        console.print(f"  → {output}", style="dim", soft_wrap=True)
    for tally in tallies.values():
        for trouble in tally.troubles[:PROBLEMS_SHOWN]:
            sys.stderr.write(f"{trouble}\n")
        if tally.unread > PROBLEMS_SHOWN:
            sys.stderr.write(
                f"… and {tally.unread - PROBLEMS_SHOWN:,} more rows that cannot be read\n"
            )


def _merged(tallies: dict[str, GradeCounts]) -> Counter[str]:
    from collections import Counter

    return sum((tally.undecided for tally in tallies.values()), Counter())
