"""Dry runs: the calls and the cost of a job, counted without making a call.

Nothing is written. :class:`Job <heedful.engine.job.Job>` does the counting; the functions here
start it for any function that runs jobs.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, TypeVar

from heedful.core.errors import UsageError
from heedful.engine.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from heedful.engine.runner import Item

__all__ = ["Estimate", "dry_run", "end_dry_run", "is_dry_run"]

P = ParamSpec("P")
Row = TypeVar("Row")

COUNTED = (
    *("calls", "reused", "submitted"),
    *("prompt_tokens", "completion_tokens", "prefix_tokens", "images"),
)
PRICED = ("dollars", "batch_dollars", "spent")

Estimate = dict[str, Any]
"""The size of a run: ``rows`` (``read``; ``done`` before; ``failed``), then ``calls``,
``reused``, ``submitted`` (in batches under way), ``prompt_tokens``, ``completion_tokens`` and
``dollars`` (``None`` where a price is not known), in all and by ``judges``; ``batch_dollars``, with
``--executor batch``; ``prefix_tokens``, those of prompts that begin as an earlier prompt does,
which a server's prefix cache would hold; ``images``, whose tokens are in none of
these; ``spent``, the dollars that the run has cost so far; ``assumptions``: how long answers are
taken to be, in words; and ``on_top``, where there is more to come that cannot be counted yet: what,
in words."""

_dry: ContextVar[bool] = ContextVar("heedful_dry_run", default=False)
"""Whether jobs are to be counted rather than run."""


class EndOfDryRun(BaseException):
    """Ends a dry run with its estimate; it isn't an error, so nothing on the way may handle it."""

    def __init__(self, estimate: Estimate) -> None:
        super().__init__()
        self.estimate = estimate


def dry_run(function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> Estimate:
    """Count what a call would request and spend; no model is called and nothing is written.

    >>> from heedful import Message, Sample, dry_run, respond
    >>> from heedful.models import ScriptedModel
    >>> sample = Sample(id="1", conversation=(Message(role="user", content="Say hello."),))
    >>> dry_run(respond, [sample], models=ScriptedModel("Hello."))["calls"]
    1

    Args:
        function: one that runs a job, such as :func:`heedful.evaluate` or :func:`heedful.respond`.
        args: its arguments.
        kwargs: its arguments, ``run`` among them: what that run holds is not counted.

    Raises:
        UsageError: the function runs no job; what else the function raises.
    """
    token = _dry.set(True)
    try:
        function(*args, **kwargs)
    except EndOfDryRun as counted:
        return counted.estimate
    finally:
        _dry.reset(token)
    name = getattr(function, "__name__", str(function))
    raise UsageError(f"{name} has no dry run", hint="call it as it is")


def is_dry_run() -> bool:
    """Whether jobs are to be counted rather than run; for functions that run several."""
    return _dry.get()


def end_dry_run(estimates: Sequence[Estimate], *, on_top: str | None = None) -> NoReturn:
    """End a dry run with the sum over the jobs that a function would have run, if any."""
    nothing = {"assumptions": "", "rows": {"read": 0, "done": 0, "failed": 0}, "judges": []}
    total: Estimate = dict(estimates[0] if estimates else nothing)
    for name in (*COUNTED, *PRICED):
        values = [estimate[name] for estimate in estimates]
        total[name] = None if None in values else sum(values)
    names = [str(estimate["judge"]) for estimate in estimates if "judge" in estimate]
    if names:
        total["judge"] = ", ".join(names)
    total["judges"] = [judge for estimate in estimates for judge in estimate["judges"]]
    total["rows"] = {
        name: sum(estimate["rows"].get(name, 0) for estimate in estimates) for name in total["rows"]
    }
    if on_top is not None:
        total["on_top"] = on_top
    raise EndOfDryRun(total)


class RemainingRows(Generic[Row]):
    """The rows that a run is not done with; counts the others."""

    def __init__(self, rows: Iterable[Item[Row]], store: Store, again: Iterator[int]) -> None:
        self.done = 0
        self._rows = rows
        self._store = store
        self._again = again

    def __iter__(self) -> Iterator[Item[Row]]:
        done = self._store.done()
        next_done, next_again = next(done, None), next(self._again, None)
        for position, item in enumerate(self._rows):
            finished = position == next_done
            if finished:
                next_done = next(done, None)
            if position == next_again:
                finished = False
                next_again = next(self._again, None)
            self.done += finished
            if not finished:
                yield item


@contextmanager
def opened_for_dry_run(directory: Path | None, config: Mapping[str, Any]) -> Iterator[Store]:
    """Open a run read-only, or an empty temporary one where there is none."""
    path = None if directory is None else directory / "run.sqlite"
    if directory is None or path is None or not path.is_file() or not path.stat().st_size:
        with Store(None) as store:
            yield store
        return
    from heedful.engine.reader import Reader

    with Reader(directory) as store:
        if store.meta("config") is not None:  # it was stopped before it began
            store.configure(config)
        yield store
