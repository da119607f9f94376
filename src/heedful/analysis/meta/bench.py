"""The options of a meta-evaluation, and the rows that judges are put to work on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from heedful.core.errors import UsageError
from heedful.data.formats.memory import rows
from heedful.engine.dry_run import dry_run
from heedful.engine.inputs import default_run, open_data
from heedful.engine.options import CONCURRENCY, ignore, refuse_unknown
from heedful.jobs.evaluate import evaluate, evaluate_async

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from heedful.core.nouns import Sample, Scoring
    from heedful.core.reasoning import ReasoningMode
    from heedful.data.formats import Row
    from heedful.data.formats.memory import InMemory
    from heedful.engine.inputs import Data
    from heedful.engine.runner import Progress
    from heedful.jobs.evaluation import Evaluation
    from heedful.judges import Judge
    from heedful.models import Model, Price

    Name = str | os.PathLike[str]

BY = "task"
"""The tag that averages go by."""


class MetaOptions(TypedDict, total=False):
    """Further options of :func:`heedful.meta`.

    Attributes:
        responses: a file with the responses, joined on key or prompt, where the data has none.
        format: the format's name; detected from the file by default.
        reasoning: ``strip`` or ``keep`` that of responses; see :func:`heedful.evaluate`.
        by: the tag that averages per type go by; ``task`` by default.
        truth: take the verdicts of code as the labels: ``rules``, ``compiled``, or both with a
            comma.
        probes: judge again under these: ``repeat``, ``order``, ``length``.
        correct: runs on rows without labels, by one of the judges, whose rate of constraints met
            is to be corrected for that judge's errors.
        arbiter: a model that compares two judges' explanations.
        folder: where the judges' runs are stored; the same call again resumes them. Temporary by
            default.
        concurrency: how many rows may be judged at a time; 64 by default.
        retry_failed: in a folder, work again on the rows, and pairs of explanations, that failed or
            were left undecided.
        max_cost: dollars that may be spent on models, over all judges and all sessions.
        prices: dollars by model; heedful's own table by default.
        executor: where calls are made; see :class:`heedful.RunOptions`.
        on_progress: called with the progress after each row.
    """

    responses: Name | None
    format: str | None
    reasoning: ReasoningMode | None
    by: str
    truth: str | None
    probes: Sequence[str]
    correct: Sequence[Name]
    arbiter: Model | None
    folder: Name | None
    concurrency: int
    retry_failed: bool
    max_cost: float | None
    prices: Mapping[str, Price] | None
    executor: str
    on_progress: Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class MetaSettings:
    """The same, with the defaults; see :class:`MetaOptions`."""

    responses: Name | None = None
    format: str | None = None
    reasoning: ReasoningMode | None = None
    by: str = BY
    truth: str | None = None
    probes: Sequence[str] = ()
    correct: Sequence[Name] = ()
    arbiter: Model | None = None
    folder: Name | None = None
    concurrency: int = CONCURRENCY
    retry_failed: bool = False
    max_cost: float | None = None
    prices: Mapping[str, Price] | None = None
    executor: str = "local"
    on_progress: Callable[[Progress], None] = ignore


def settings(**options: Unpack[MetaOptions]) -> MetaSettings:
    """Fill in the defaults."""
    refuse_unknown(options, MetaOptions)
    return MetaSettings(**options)


class Bench:
    """The rows, and how judges are put to work on them."""

    def __init__(
        self,
        data: Data,
        options: MetaSettings,
        *,
        scoring: Scoring,
        seed: int,
    ) -> None:
        self.source = open_data(data, format=options.format, responses=options.responses)
        self.rows: Iterable[Row] = self.source or list(rows(cast("InMemory", data)))
        self.where = str(self.source.path) if self.source else ""
        self.scoring = scoring
        self.seed = seed
        self.folder = None if options.folder is None else Path(options.folder)
        if self.folder is not None and self.source is None:
            raise UsageError("a folder for runs goes with a file, not with samples")
        self.prices = options.prices
        self.executor = options.executor
        self.concurrency = options.concurrency
        self.retry_failed = options.retry_failed
        self.on_progress = options.on_progress
        self._named = (options.responses, options.format)
        self._reasoning = options.reasoning
        self._max_cost = options.max_cost
        self._spent = 0.0

    async def judged(self, judge: Judge) -> Evaluation:
        """Judge all rows; in a folder, go on where an earlier call stood."""
        result = await evaluate_async(
            **self._job(judge), concurrency=self.concurrency, max_cost=self.left()
        )
        self.spend(result.summary.get("cost"))
        return result

    def planned(self, judge: Judge) -> dict[str, Any]:
        """Say what judging all rows would take, without a call."""
        return dry_run(evaluate, **self._job(judge))

    def left(self) -> float | None:
        """Say how many dollars the next run may cost; ``None`` for any number."""
        # A run that has nothing to buy goes through even so.
        return None if self._max_cost is None else max(self._max_cost - self._spent, 1e-12)

    def spend(self, cost: Mapping[str, Any] | None) -> None:
        """Take what a run has cost, in all its sessions, from what the others may."""
        self._spent += (cost or {}).get("dollars") or 0.0

    def _job(self, judge: Judge) -> dict[str, Any]:
        responses, format_name = self._named
        data = self.source.path if self.source else self.rows
        run = None
        if self.folder is not None:
            read = [] if self._reasoning is None else [self._reasoning]
            options = (responses, format_name, self.scoring, self.seed, None, dict(judge.config))
            run = self.folder / default_run(cast("Path", data), *options, *read).name
        return {
            "data": data,
            "responses": responses if self.source else None,
            "format": format_name,
            "reasoning": self._reasoning,
            "judge": judge,
            "scoring": self.scoring,
            "seed": self.seed,
            "run": run,
            "retry_failed": self.retry_failed,
            "prices": self.prices,
            "executor": self.executor,
            "on_progress": self.on_progress,
        }

    def samples(self) -> Iterable[Sample]:
        """Go through the rows that can be read."""
        return (row.sample for row in self.rows if row.sample is not None)
