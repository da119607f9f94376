"""Running a job from the command line, once for all commands: its flags, and what is printed.

A command makes a function that only lacks the options of a run, and says how its result is shown;
:func:`carry_out` runs it, or counts what it would take, and returns the exit code.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from cyclopts import Parameter

from heedful.cli import terminal
from heedful.cli.logs import Logs
from heedful.core.errors import UsageError
from heedful.core.text import amount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from heedful.models import Price

T = TypeVar("T")

# Fields of flags that others inherit are read with the names of the heir's module, so they can't
# use these.
Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")]
Output = Annotated[Path | None, Parameter(name=["--output", "-o"])]
RequiredOutput = Annotated[Path, Parameter(name=["--output", "-o"])]
FormatName = Annotated[str | None, Parameter(name=["--format", "-f"])]

INCOMPLETE = 1
"""The exit code for: done, but some of the input is not in the numbers."""

FAILED = 3
"""The exit code where a rate is below its least, or a run is worse than another."""

PROBLEMS_SHOWN = 5


@Parameter(name="*", group="Data")
@dataclass(frozen=True, kw_only=True)
class FormatFlags:
    """The format of the input.

    Attributes:
        format: The format of INPUT; detected from the file by default.
        map: Columns of any table as fields: question=prompt,answer=response,rubric=checklist.
    """

    format: Annotated[str | None, Parameter(name=["--format", "-f"])] = None
    map: str | None = None

    def __post_init__(self) -> None:
        """Make the mapping the format, by which all that follows goes."""
        if self.map is None:
            return
        if self.format is not None:
            raise UsageError("--map and --format are both given", hint="leave out --format")
        object.__setattr__(self, "format", f"map:{self.map}")


@Parameter(name="*", group="Data")
@dataclass(frozen=True, kw_only=True)
class DataFlags(FormatFlags):
    """How the input is read.

    Attributes:
        task: Keep only this task's rows (AdvancedIF).
    """

    task: Annotated[str | None, Parameter(name=["--task", "-t"])] = None


@Parameter(name="*", group="Data")
@dataclass(frozen=True, kw_only=True)
class PartFlags(DataFlags):
    """Which rows of the input are taken.

    Attributes:
        limit: Take only the first N rows.
        sample: Take N rows at random, by --seed where the command has it.
        reasoning: strip: set the reasoning before a response's answer apart (the default, but for
            --scoring faithful). keep: leave it in the response.
    """

    limit: int | None = None
    sample: int | None = None
    reasoning: str | None = None

    def reading(self) -> dict[str, Any]:
        """Return the options that say how the input is read."""
        return {
            "format": self.format,
            "task": self.task,
            "limit": self.limit,
            "sample": self.sample,
            "reasoning": self.reasoning,
        }

    def part(self) -> list[str]:
        """Name what is read, as in the name of a run; nothing where all is by default."""
        named = {"limit": self.limit, "sample": self.sample, "reasoning": self.reasoning}
        return [f"{name} {number}" for name, number in named.items() if number is not None]


@Parameter(name="*", group="Run")
@dataclass(frozen=True, kw_only=True)
class CostFlags(Logs):
    """The limits on cost, and the output.

    Attributes:
        dry_run: Only count the calls, tokens and dollars that the run would take.
        max_cost: Stop before more dollars are spent than this, over all sessions of the run.
        prices: A file, {"MODEL": {"prompt": 1, "completion": 2}}, in dollars per million tokens.
        executor: Where rows are worked on: local, in this process; processes, in several on this
            machine, or ray, in the workers of a Ray cluster (both: evaluate, rejudge and meta);
            batch, with calls through the provider's batch endpoint, at half the price and within a
            day.
        quiet: Print no results and no progress.
    """

    dry_run: Annotated[bool, Parameter(negative="")] = False
    max_cost: float | None = None
    prices: Path | None = None
    executor: str = "local"
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False

    def price_table(self, models: Iterable[str]) -> Mapping[str, Price] | None:
        """Read the prices; ``None`` stands for heedful's own."""
        if self.prices is None and self.max_cost is None:
            return None
        from heedful.engine.budget import check_limit, refuse_unpriced
        from heedful.models.pricing import PRICES, read_prices

        prices = PRICES if self.prices is None else read_prices(self.prices)
        if self.max_cost is not None:
            check_limit(self.max_cost)
            refuse_unpriced(models, prices)
        return prices


@Parameter(name="*", group="Run")
@dataclass(frozen=True, kw_only=True)
class RunFlags(CostFlags):
    """How a job is run; the options of :class:`heedful.RunOptions`, but for the concurrency.

    Attributes:
        run: The run's directory; the same command resumes it. Default: heedful-runs/NAME.
        retry_failed: Work again on the rows that failed or were left undecided, and only those.
        reuse: Reuse the answers stored in another run, such as one over fewer rows.
        prefix_cache: Tokens that --dry-run takes the server's prefix cache to hold.
    """

    run: Path | None = None
    retry_failed: Annotated[bool, Parameter(negative="")] = False
    reuse: Annotated[Path | None, Parameter(name="--reuse")] = None
    prefix_cache: int = 400_000

    def options(self, models: Sequence[str]) -> dict[str, Any]:
        """Return the options of :class:`heedful.RunOptions` that the flags give."""
        return {
            "retry_failed": self.retry_failed,
            "reuse": self.reuse,
            "prefix_cache": self.prefix_cache,
            "executor": self.executor,
            "max_cost": self.max_cost,
            "prices": self.price_table(models),
        }


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a command, as it is printed.

    Attributes:
        view: makes the tables; called only where they are printed.
        written: the files, in the order in which they are named.
        problems: rows that failed: ``problem``, and its place: ``file``, ``line`` and ``id``.
        failed: how many rows failed.
        names: the file that names all of them.
        resumed: rows that an earlier session had finished.
        hints: how to go on, a line each.
        next_step: what a reader of the tables may want to do next; the last line.
        complete: whether the numbers cover all of the input.
        failures: what the numbers fall short of, a line each.
    """

    view: Callable[[], RenderableType]
    written: Sequence[Path | str | None] = ()
    problems: Sequence[Mapping[str, Any]] = ()
    failed: int = 0
    names: Path | str | None = None
    resumed: int = 0
    hints: Sequence[str] = field(default=())
    next_step: str = ""
    complete: bool = True
    failures: Sequence[str] = ()


def carry_out(
    function: Callable[..., T],
    flags: RunFlags,
    *,
    run: Path,
    models: Sequence[str],
    concurrency: int,
    outcome: Callable[[T], Outcome],
    output: Path | str | None = None,
) -> int:
    """Run a job and print its result, or only estimate it."""
    from heedful.engine.dry_run import dry_run
    from heedful.engine.options import ignore
    from heedful.engine.progress import Display

    if output is None and not flags.dry_run:
        raise UsageError("--output is missing", hint="name a .jsonl file for the rows")
    display = Display()
    options: dict[str, Any] = {
        "run": run,
        "concurrency": concurrency,
        "on_progress": ignore if flags.quiet else display,
        **flags.options(models),
    }
    started = time.monotonic()
    with flags.listening():
        try:
            if flags.dry_run:
                estimate = dry_run(function, **options)
            else:
                result = function(**options)
        except KeyboardInterrupt as stop:
            if flags.dry_run:
                raise
            raise KeyboardInterrupt(f"the same command resumes {run}") from stop
        finally:
            display.clear()
    if flags.dry_run:
        from heedful.reporting.estimates import estimate_view

        terminal.console().print(estimate_view(estimate, flags.max_cost))
        return 0
    return print_outcome(outcome(result), seconds=time.monotonic() - started, quiet=flags.quiet)


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
