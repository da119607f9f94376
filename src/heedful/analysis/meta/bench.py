"""The options of a meta-evaluation, and the rows that judges are put to work on."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from heedful.analysis.meta.options import DEFAULTS, MetaOptions
from heedful.data.formats.memory import rows
from heedful.engine.dry_run import dry_run
from heedful.engine.inputs import open_data
from heedful.engine.options import refuse_unknown
from heedful.jobs.evaluate import Evaluation, default_run, evaluate, evaluate_async

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from heedful.core.nouns import Sample, Scoring
    from heedful.data.formats import Row
    from heedful.data.formats.memory import InMemory
    from heedful.engine.inputs import Data
    from heedful.judges import Judge

    Name = str | os.PathLike[str]


class Bench:
    """The rows, and how judges are put to work on them."""

    def __init__(self, data: Data, options: MetaOptions, *, scoring: Scoring, seed: int) -> None:
        refuse_unknown(options, MetaOptions)
        self.options: dict[str, Any] = {**DEFAULTS, **options}
        self.source = open_data(
            data, format=self.options["format"], responses=self.options["responses"]
        )
        self.rows: Iterable[Row] = self.source or list(rows(cast("InMemory", data)))
        self.where = str(self.source.path) if self.source else ""
        self.scoring = scoring
        self.seed = seed
        folder = self.options["folder"]
        self.folder = None if folder is None else Path(folder)
        self._spent = 0.0

    async def judged(self, judge: Judge, samples: Sequence[Sample] | None = None) -> Evaluation:
        """Judge all rows, or some; in a folder, resume what an earlier call began."""
        options = {**self._job(judge, samples), **self.running()}
        result = await evaluate_async(**options)
        self.paid(result.summary)
        return result

    @property
    def left(self) -> float | None:
        """The dollars that are left; ``None`` where there is no limit."""
        most = self.options["max_cost"]
        # A run that has nothing to buy goes through even so.
        return None if most is None else max(most - self._spent, 1e-12)

    def running(self) -> dict[str, Any]:
        """Return how runs are carried out, within what is left to spend."""
        names = ("prices", "on_progress", "retry_failed", "concurrency")
        return {**{name: self.options[name] for name in names}, "max_cost": self.left}

    def paid(self, summary: Mapping[str, Any]) -> None:
        """Take into account what a run cost."""
        self._spent += (summary.get("cost") or {}).get("dollars") or 0.0

    def planned(self, judge: Judge, samples: Sequence[Sample] | None = None) -> dict[str, Any]:
        """Say what judging all rows, or some, would take, without a call."""
        return dry_run(evaluate, **self._job(judge, samples))

    def _job(self, judge: Judge, samples: Sequence[Sample] | None) -> dict[str, Any]:
        def options(*names: str) -> dict[str, Any]:
            return {name: self.options[name] for name in names}

        data: Any = self.source.path if self.source else self.rows
        reading = options("responses", "format", "reasoning")
        if samples is not None:  # they have been read
            data, reading = samples, options("reasoning")
        job: dict[str, Any] = {
            "data": data,
            **reading,
            "judge": judge,
            "scoring": self.scoring,
            "seed": self.seed,
        }
        run = None if self.folder is None else self.folder / self._run_name(job)
        running = options("retry_failed", "prices", "executor", "workers", "on_progress")
        return {**job, "run": run, **running}

    def _run_name(self, job: Mapping[str, Any]) -> str:
        """Name a run; to see whether a judge has changed, it's asked again each day."""
        name = default_run(**job).name
        today = datetime.now(tz=UTC).date().isoformat()
        return name if self.options["since"] is None else f"{name}-{today}"

    def samples(self) -> Iterable[Sample]:
        """Go through the rows that can be read."""
        return (row.sample for row in self.rows if row.sample is not None)
