"""Running a job from the command line, once for all commands: its flags, and what is printed.

A command makes a function that only lacks the options of a run, and says how its result is shown;
:func:`carry_out` runs it, or counts what it would take, and returns the exit code.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from heedful.cli import terminal
from heedful.cli.flags import FlagGroup, taken
from heedful.cli.logs import LogOptions, logged
from heedful.core.text import amount
from heedful.engine.options import ReadingOptions, RunOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rich.console import RenderableType

T = TypeVar("T")

INCOMPLETE = 1
"""The exit code for: done, but some of the input is not in the numbers."""

FAILED = 3
"""The exit code where a rate is below its least, or a run is worse than another."""

PROBLEMS_SHOWN = 5


class TableOptions(TypedDict, total=False):
    """A table as input.

    Attributes:
        map: Columns of any table as fields: question=prompt,answer=response,rubric=checklist.
    """

    map: str


class ConsoleOptions(TypedDict, total=False):
    """What a command does and prints.

    Attributes:
        dry_run: Only count the calls, tokens and dollars that the run would take.
        quiet: Print no results and no progress.
    """

    dry_run: bool
    quiet: bool


DATA = FlagGroup("Data", (ReadingOptions,), {"exclude_generation_failures"})
WHOLE_DATA = DATA.but("limit", "sample", "reasoning")
DIVIDED = FlagGroup("Run", (LogOptions, ConsoleOptions, RunOptions), {"concurrency", "on_progress"})
RUN = DIVIDED.but("workers")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a command, as it is printed."""

    view: Callable[[], RenderableType]  # called only where the tables are printed
    written: Sequence[Path | str | None] = ()
    problems: Sequence[Mapping[str, Any]] = ()  # each with its file, line and id
    failed: int = 0  # rows
    names: Path | str | None = None  # the file that names all failed rows
    resumed: int = 0  # rows that an earlier session had finished
    hints: Sequence[str] = field(default=())  # how to go on, a line each
    next_step: str = ""  # the last line
    complete: bool = True  # whether the numbers cover all of the input
    failures: Sequence[str] = ()  # what the numbers fall short of, a line each


def carry_out(
    function: Callable[..., T],
    options: dict[str, Any],
    *,
    models: Sequence[str],
    outcome: Callable[[T], Outcome],
) -> int:
    """Run a job with the options that were given, and print its result; or only estimate it."""
    from heedful.engine.dry_run import dry_run
    from heedful.engine.options import ignore
    from heedful.engine.progress import Display

    shown = taken(options, ConsoleOptions)
    dry, quiet = shown.get("dry_run"), shown.get("quiet", False)
    display = Display()
    options["on_progress"] = ignore if quiet else display
    read_costs(options, models)
    started = time.monotonic()
    with logged(**taken(options, LogOptions)):
        try:
            if dry:
                estimate = dry_run(function, **options)
            else:
                result = function(**options)
        except KeyboardInterrupt as stop:
            if dry:
                raise
            raise KeyboardInterrupt("the same command resumes the run") from stop
        finally:
            display.clear()
    if dry:
        from heedful.cli.estimates import estimate_view

        terminal.console().print(estimate_view(estimate, options.get("max_cost")))
        return 0
    return print_outcome(outcome(result), seconds=time.monotonic() - started, quiet=quiet)


def read_costs(options: dict[str, Any], models: Iterable[str] = ()) -> None:
    """Read the file of prices, and refuse a limit on cost that could not be kept."""
    if "prices" not in options and "max_cost" not in options:
        return
    from heedful.engine.budget import check_limit, refuse_unpriced
    from heedful.models.pricing import PRICES, read_prices

    if "prices" in options:
        options["prices"] = read_prices(options["prices"])
    if "max_cost" in options:
        check_limit(options["max_cost"])
        refuse_unpriced(models, options.get("prices", PRICES))


def print_outcome(outcome: Outcome, *, seconds: float | None = None, quiet: bool = False) -> int:
    """Print the result of a command: tables and files, then failures on standard error."""
    if not quiet:
        console = terminal.console()
        console.print(outcome.view())
        if outcome.resumed:
            were = "was" if outcome.resumed == 1 else "were"
            console.print(f"  {amount(outcome.resumed, 'row')} {were} done before", style="dim")
        if seconds is not None:
            console.print(f"  {seconds:.1f} s", style="dim")
        for path in outcome.written:
            if path is not None:
                console.print(f"  → {path}", style="dim", soft_wrap=True)
        if outcome.next_step:
            console.print(f"\n  {outcome.next_step}", soft_wrap=True)
    said = [*_problems(outcome), *outcome.hints, *outcome.failures]
    if not outcome.complete and not said:  # an exit code needs its reason
        said = ["not all of the input is in the numbers"]
    terminal.say(*said)
    if outcome.failures:
        return FAILED
    return 0 if outcome.complete else INCOMPLETE


def _problems(outcome: Outcome) -> Iterator[str]:
    for problem in outcome.problems[:PROBLEMS_SHOWN]:
        yield f"{_place(problem)}{problem['problem']}"
    more = outcome.failed - min(len(outcome.problems), PROBLEMS_SHOWN)
    if more > 0:
        named = f"; {outcome.names} names each" if outcome.names is not None else ""
        yield f"… and {more:,} more{named}"


def _place(problem: Mapping[str, Any]) -> str:
    """Name the place of a problem, as far as it is known."""
    parts = []
    if "file" in problem:
        parts.append(f"{problem['file']}:{problem['line']}")
    elif "line" in problem:
        parts.append(f"line {problem['line']}")
    if "id" in problem:
        parts.append(str(problem["id"]))
    return "".join(f"{part}: " for part in parts)
