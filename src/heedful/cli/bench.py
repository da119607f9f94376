"""``heedful bench``: benchmarks of critics."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from heedful.bench.realcritic.run import Grading
from heedful.cli.flags import FlagGroup, Output, Quiet, Reasoning, takes
from heedful.cli.running import PROBLEMS_SHOWN, Outcome, print_outcome
from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful.bench.grading.grading import GradeCounts


@takes(FlagGroup("", (Grading,), {"timeout_s"}))
def grade(
    files: list[Path],
    /,
    *,
    output: Output = None,
    from_: Annotated[Literal["solution", "pred"], Parameter(name="--from")] = "solution",
    timeout: float = 5.0,
    reasoning: Reasoning = "strip",
    quiet: Quiet = False,
    **grading: Any,
) -> int:
    """Grade the solutions in RealCritic's files against their gold answers, without a model.

    Args:
        files: RealCritic's files, one a set: question, gt, reasoning, pred.
        output: Write each item's grade here, as JSON lines.
        from_: Grade the solution's text, or the answer that the file gives as pred.
        timeout: Seconds that comparing one answer may take; longer is undecided.
        reasoning: strip: look for answers after the reasoning. keep: in all of a solution.
        quiet: Print no table and no progress.
    """
    from heedful.bench.grading.grading import grade_files
    from heedful.engine.progress import Display

    if not files:
        raise UsageError("no file to grade", hint="name RealCritic's files, such as gsm8k.jsonl")
    started = time.monotonic()
    display = Display(say=lambda graded, now: _progress(graded, now - started))
    try:
        counts = asyncio.run(
            grade_files(
                files,
                output,
                reading=from_,
                timeout_s=timeout,
                reasoning=reasoning,
                **grading,
                on_progress=(lambda _: None) if quiet else display,
            )
        )
    finally:
        display.clear()
    seconds = time.monotonic() - started
    return print_outcome(_outcome(counts, output, seconds), quiet=quiet)


def _progress(graded: int, seconds: float) -> str:
    return f"{graded:,} graded, {graded / max(seconds, 1e-9):,.0f} a second"


def _outcome(counts: dict[str, GradeCounts], output: Path | None, seconds: float) -> Outcome:
    from rich.console import Group

    from heedful.bench.grading.grading import grading_table

    unread = sum(each.unread for each in counts.values())
    items = sum(each.items for each in counts.values())
    rate = f"  {_progress(items, seconds)}, in {seconds:.1f} s"
    return Outcome(
        view=lambda: Group(grading_table(counts).terminal(), *_reasons(counts), rate),
        written=[output],
        problems=[{"problem": problem} for each in counts.values() for problem in each.failures],
        failed=unread,
        complete=not unread and any(each.decided for each in counts.values()),
    )


def _reasons(counts: dict[str, GradeCounts]) -> Iterator[str]:
    """Yield why items are undecided, the most frequent reasons first."""
    reasons: Counter[str] = Counter()
    for each in counts.values():
        reasons.update(each.undecided)
    if reasons:
        yield f"  {reasons.total():,} undecided, neither correct nor wrong:"
    shown = reasons.most_common(PROBLEMS_SHOWN)
    for reason, count in shown:
        yield f"    {count:,}: {reason}"
    others = reasons.total() - sum(count for _, count in shown)
    if others:
        yield f"    {others:,}: other reasons"
