"""The options of a meta-evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from heedful.engine.options import CONCURRENCY, ignore

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from heedful.core.reasoning import ReasoningMode
    from heedful.engine.runner import Progress
    from heedful.models import Price

    Name = str | os.PathLike[str]

BY = "task"
"""The tag that averages go by."""


class MetaOptions(TypedDict, total=False):
    """Further options of :func:`heedful.judge_accuracy`.

    Attributes:
        responses: A file with the responses, joined on key or prompt, where the data has none.
        format: The format of the data; detected from the file by default.
        reasoning: strip or keep the reasoning before a response's answer, as in evaluate.
        by: The tag that averages per type go by. Default: task.
        truth: Take the verdicts of code as the labels: rules, compiled, or both with a comma.
        since: An earlier run of the same judge on the labelled rows: judge them again, and say
            whether the judge has changed.
        folder: Where the judges' runs are kept; the same command again goes on there. Default:
            heedful-runs for a command; a temporary one for a call.
        concurrency: how many rows may be judged at a time; 64 by default.
        retry_failed: Work again on the rows that failed or were left undecided, and only those.
        max_cost: dollars that may be spent on models, over all judges and all sessions.
        prices: dollars by model; heedful's own table by default.
        executor: where calls are made; see :class:`heedful.RunOptions`.
        workers: how many processes; see there.
        on_progress: called with the progress after each row.
    """

    responses: str | os.PathLike[str] | None
    format: str | None
    reasoning: ReasoningMode | None
    by: str
    truth: str | None
    since: Name | None
    folder: str | os.PathLike[str] | None
    concurrency: int
    retry_failed: bool
    max_cost: float | None
    prices: Mapping[str, Price] | None
    executor: str
    workers: int | None
    on_progress: Callable[[Progress], None]


DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(MetaOptions.__annotations__),
    "by": BY,
    "concurrency": CONCURRENCY,
    "retry_failed": False,
    "executor": "local",
    "workers": None,
    "on_progress": ignore,
}
