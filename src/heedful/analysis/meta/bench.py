"""The rows that judges are measured on, and how the judges are put to work on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from heedful.core.errors import UsageError
from heedful.data.formats.memory import rows
from heedful.engine.dry_run import dry_run
from heedful.engine.inputs import default_run, open_data
from heedful.jobs.evaluate import evaluate, evaluate_async

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from heedful.analysis.meta.options import MetaSettings
    from heedful.core.nouns import Sample, Scoring
    from heedful.data.formats import Row
    from heedful.data.formats.memory import InMemory
    from heedful.engine.inputs import Data
    from heedful.jobs.evaluation import Evaluation
    from heedful.judges import Judge

    Name = str | os.PathLike[str]


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
