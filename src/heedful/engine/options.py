"""Options of a run: where it is kept, how fast it goes, at what price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from heedful.core.errors import UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from heedful.engine.runner import Progress
    from heedful.models import Price

__all__ = ["CONCURRENCY", "RunOptions", "ignore", "refuse_unknown"]

EXECUTORS = ("local", "processes", "ray", "batch")
"""Where the calls of a run are made, beside what plugins add."""

SENDING = ("processes", "ray")
"""Those that work on whole rows elsewhere, which only some jobs can."""

EXECUTOR_PLUGINS = "heedful.executors"

CONCURRENCY = 64
"""Rows worked on at a time, by default."""


class RunOptions(TypedDict, total=False):
    """How a job is run; every function and command that runs one takes these.

    Attributes:
        run: the run's directory; the same call again resumes it. By default a temporary one, which
            goes with the result.
        concurrency: how many rows may be in work at a time; 64 by default.
        retry_failed: work again on the rows of a named run that failed or were left undecided;
            what was decided is not requested again.
        reuse: the directory of another run, such as one of the same rows before some were added:
            answers to calls that it has made are taken from it, and not paid for again.
        max_cost: dollars that the run may spend on models, over all its sessions.
        prices: dollars by model; heedful's own table by default.
        on_progress: called with the progress after each row.
        executor: where rows are worked on: ``local``, in this process; for judging also
            ``processes``, several on this machine's cores, and ``ray``, the workers of a Ray
            cluster; ``batch``, with calls through the provider's batch endpoint: at half the price,
            within a day; or a plugin's name.
        prefix_cache: tokens that a dry run takes a server's prefix cache to hold; 400,000 by
            default.
    """

    run: str | os.PathLike[str] | None
    concurrency: int
    retry_failed: bool
    reuse: str | os.PathLike[str] | None
    max_cost: float | None
    prices: Mapping[str, Price] | None
    on_progress: Callable[[Progress], None]
    executor: str
    prefix_cache: int


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


def refuse_unusable_options(options: RunOptions, *, sendable: bool) -> None:
    """Refuse what no run of a job could have, before anything is read."""
    refuse_unknown(options)
    executor = executor_of(options)
    if executor in SENDING and not sendable:
        what = f"--executor {executor} is for judging: evaluate, rejudge and meta"
        raise UsageError(what, hint="use --executor local")
