"""Running a job from the command line, once for all commands: its flags, and what is printed.

A command makes a function that only lacks the options of a run, and says how its result is shown;
:func:`carry_out` runs it, or counts what it would take, and returns the exit code.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from heedful.cli import terminal
from heedful.cli.flags import FlagGroup
from heedful.cli.terminal import LogOptions, logged
from heedful.core.errors import UsageError
from heedful.core.text import amount
from heedful.engine.options import ReadingOptions, RunOptions, taken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rich.console import RenderableType

    from heedful.engine.dry_run import Estimate
    from heedful.jobs.rows import Generation
    from heedful.reporting.document import Document

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
RUN = FlagGroup(
    "Run", (LogOptions, ConsoleOptions, RunOptions), {"concurrency", "on_progress", "progress"}
)
ALONE = RUN.but("workers")
"""For commands whose rows one process works on."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a command, as it is printed."""

    view: Callable[[], RenderableType]  # called only where the tables are printed
    written: Sequence[Path | str | None] = ()
    problems: Sequence[Mapping[str, Any]] = ()  # each with its file, line and id
    failed: int | None = None  # rows; as many as there are problems
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
        print_estimate(estimate, options.get("max_cost"))
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
    failed = len(outcome.problems) if outcome.failed is None else outcome.failed
    more = failed - min(len(outcome.problems), PROBLEMS_SHOWN)
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


def print_estimate(estimate: Estimate, max_cost: float | None = None) -> None:
    """Print what a run would take."""
    terminal.console().print(_estimated(estimate, max_cost).terminal())


def _estimated(estimate: Estimate, max_cost: float | None) -> Document:
    from heedful.reporting.document import Document
    from heedful.reporting.notation import price
    from heedful.reporting.table import Table

    judging = "judge" in estimate
    caller = "judge" if judging else "model"
    names = estimate["judge"] if judging else ", ".join(estimate.get("models", ()))
    lines = [_rows(estimate["rows"], "judged" if judging else "asked for")]
    lines += [f"{caller} {names}"] if names else []
    if not estimate["calls"] and not estimate["submitted"]:
        return Document("", [*lines, estimate.get("on_top") or "no call to a model is needed"])

    def cells(name: str, of: Mapping[str, Any]) -> tuple[str, ...]:
        counts = (of[name] for name in ("calls", "prompt_tokens", "completion_tokens"))
        return (name, *(f"{count:,}" for count in counts), price(of["dollars"]))

    rows = []
    for judge in estimate["judges"]:
        who, model = str(judge["judge"]), str(judge["model"])
        rows.append(cells(who if model in who else f"{who}: {model}", judge))
    if len(estimate["judges"]) > 1:
        rows.append(cells("all", estimate))
    table = Table("", (caller, "calls", "tokens in", "tokens out", "dollars"), rows)
    return Document("", lines, [table], _notes(estimate, max_cost))


def _rows(rows: Mapping[str, int], verb: str) -> str:
    counted = {"done before": "done", "unchanged": "unchanged", f"cannot be {verb}": "failed"}
    shown = [f"{rows[name]:,} {what}" for what, name in counted.items() if rows.get(name)]
    return ", ".join([amount(rows["read"], "row"), *shown])


def _notes(estimate: Estimate, max_cost: float | None) -> list[str]:
    """Say what the numbers rest on, and what comes on top."""
    from heedful.reporting.notation import percent, price

    dollars, spent = estimate["dollars"], estimate["spent"]
    notes = [f"Tokens in are estimated from the prompts; tokens out: {estimate['assumptions']}."]
    if estimate.get("on_top"):
        notes.append(estimate["on_top"])
    if estimate.get("images"):
        shown = amount(estimate["images"], "image")
        notes.append(f"tokens and dollars leave out {shown}: providers count them differently")
    if estimate["reused"]:
        notes.append(f"{amount(estimate['reused'], 'answer')} stored, or the same as another's")
    if estimate["submitted"]:
        notes.append(f"{amount(estimate['submitted'], 'request')} in batches already submitted")
    shared = estimate.get("prefix_tokens")
    if shared and estimate["prompt_tokens"]:
        share = percent(shared / estimate["prompt_tokens"], 0)
        notes.append(
            f"{share} % of tokens in begin as an earlier prompt does: a prefix cache would hold "
            "them (the dollars don't count on it)"
        )
    batched = estimate.get("batch_dollars")
    if batched:
        notes.append(f"with --executor batch: {price(batched)}, within a day")
    unpriced = {str(each["model"]) for each in estimate["judges"] if each["dollars"] is None}
    if unpriced:
        names = ", ".join(sorted(unpriced))
        notes.append(f"{names}: no price is known; give it with --prices FILE")
    if spent:
        notes.append(f"spent in this run so far: {price(spent)}")
    if max_cost is not None and dollars is not None and dollars + (spent or 0.0) > max_cost:
        notes.append(f"--max-cost {max_cost:g} would probably stop the run before it is done")
    return notes
