"""Options of a run: how its data is read, where it is kept, how fast it goes, at what price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, cast

from heedful.core.errors import UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from heedful.core.reasoning import ReasoningMode
    from heedful.engine.runner import Progress
    from heedful.models import Price

__all__ = [
    "CONCURRENCY",
    "DataOptions",
    "ReadingOptions",
    "RunOptions",
    "ignore",
    "refuse_unknown",
    "split_options",
]

EXECUTORS = ("local", "processes", "ray", "batch")
"""Where the calls of a run are made, beside what plugins add."""

DIVIDING = ("processes", "ray")
"""Those that have parts of the rows worked on elsewhere, which only some jobs can."""

EXECUTOR_PLUGINS = "heedful.executors"

CONCURRENCY = 64
"""Rows worked on at a time, by default."""


class ReadingOptions(TypedDict, total=False):
    """How data is read.

    Attributes:
        format: The format of the data; detected from the file by default.
        map: Columns of any table as fields: question=prompt,answer=response,rubric=checklist.
        task: Keep only this task's rows (AdvancedIF).
        limit: Take only the first N rows; the turns of one record count as one.
        sample: Take N rows at random, by the seed of the job, where it has one.
        reasoning: strip: set the reasoning before a response's answer apart, in the field reasoning
            (the default, but for faithful scoring). keep: leave it in the response.
        exclude_generation_failures: Leave out rows that say that no response was generated
            (_generation_error, or a failed row of heedful respond). They are counted apart.
    """

    format: str | None
    map: str | Mapping[str, str] | None
    task: str | None
    limit: int | None
    sample: int | None
    reasoning: ReasoningMode | None
    exclude_generation_failures: bool


class RunOptions(TypedDict, total=False):
    """How a job is run; every function and command that runs one takes these.

    Attributes:
        run: The run's directory, which the same command or call resumes. Default:
            heedful-runs/NAME for a command; for a call a temporary one, which goes with the result.
        concurrency: how many rows may be in work at a time; 64 by default.
        retry_failed: Work again on the rows that failed or were left undecided, and only those.
        reuse: Reuse the answers stored in another run, such as one over fewer rows.
        max_cost: Stop before more dollars are spent than this, over all sessions of the run.
        prices: A file, {"MODEL": {"prompt": 1, "completion": 2}}, in dollars per million tokens.
            Default: heedful's own table.
        on_progress: called with the progress after each row.
        progress: whether standard error says how far it is; by default in a notebook.
        executor: Where rows are worked on: local, in this process; processes, in several on this
            machine, or ray, in tasks of a Ray cluster (not for critic filter and bench);
            batch, with calls through the provider's batch endpoint, at half the price and within a
            day; or a plugin's name. Default: local; on Linux processes, where a command has code
            judge 600 lines or more.
        workers: How many processes, or tasks on a Ray cluster, work on rows. Default: one for each
            core, at least two.
        prefix_cache: Tokens that a dry run takes the server's prefix cache to hold. Default:
            400,000.
    """

    run: str | os.PathLike[str] | None
    concurrency: int
    retry_failed: bool
    reuse: str | os.PathLike[str] | None
    max_cost: float | None
    prices: Mapping[str, Price] | None
    on_progress: Callable[[Progress], None]
    progress: bool
    executor: str
    workers: int | None
    prefix_cache: int


class DataOptions(ReadingOptions, RunOptions, total=False):
    """Options of jobs over a data set: how it is read, and how the job is run."""


def split_options(options: DataOptions) -> tuple[ReadingOptions, RunOptions]:
    """Part the options of a job into how its data is read and how it is run."""
    refuse_unknown(options, DataOptions)
    reading = {
        name: value for name, value in options.items() if name in ReadingOptions.__annotations__
    }
    running = {name: value for name, value in options.items() if name not in reading}
    return cast("ReadingOptions", reading), cast("RunOptions", running)


def taken(options: dict[str, Any], kind: type) -> dict[str, Any]:
    """Take the options of a type out of all that were given."""
    return {name: options.pop(name) for name in kind.__annotations__ if name in options}


def format_of(reading: ReadingOptions) -> str | None:
    """Return the name of the format that data is to be read in; a mapping is one, too."""
    columns = reading.get("map")
    if columns is None:
        return reading.get("format")
    if reading.get("format") is not None:
        raise UsageError("--map and --format are both given", hint="leave out --format")
    if not isinstance(columns, str):
        columns = ",".join(f"{column}={field}" for column, field in columns.items())
    return f"map:{columns}"


def ignore(progress: Progress) -> None:
    """Take note of no progress."""


def refuse_unknown(options: Mapping[str, Any], known: type = RunOptions) -> None:
    """Refuse an option that does not exist, as a function with named parameters would."""
    names = known.__annotations__
    for name in options:
        if name not in names:
            from difflib import get_close_matches

            near = get_close_matches(name, names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
            raise UsageError(f"there is no option {name!r}", hint=hint)


def executor_of(options: RunOptions) -> str:
    """Return the executor that a run is to have."""
    executor = options.get("executor", "local")
    if executor not in EXECUTORS:
        from heedful.core.plugins import names, unknown

        if executor not in names(EXECUTOR_PLUGINS, EXECUTORS):
            raise unknown("executor", executor, EXECUTORS, EXECUTOR_PLUGINS)
    return executor


def refuse_unusable_options(options: RunOptions, *, divisible: bool) -> None:
    """Refuse what no run of a job could have, before anything is read."""
    refuse_unknown(options)
    executor, workers = executor_of(options), options.get("workers")
    if workers is not None and workers < 1:
        raise UsageError(f"--workers is {workers}", hint="give at least 1")
    if executor in DIVIDING and not divisible:
        what = f"this command does not take --executor {executor}"
        raise UsageError(what, hint="use --executor local")
