"""Runs in which a model adds something to samples, and the file that comes of them.

Responding and making checklists are such runs. They share all but the request: each sample
becomes tasks, each task is done once, durably, and becomes one row of the output, in input order.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from heedful.core.errors import RowError, UsageError
from heedful.core.log import logger
from heedful.core.nouns import Sample
from heedful.core.version import __version__
from heedful.data.formats import native
from heedful.engine.inputs import OpenedData, encode, files
from heedful.engine.job import Job
from heedful.engine.runner import Item
from heedful.jobs.results import check_folder, check_run
from heedful.jobs.rows import UNCHANGED, Addition, Generation, is_failed, summarise
from heedful.judges.prompts.base import lacks_instruction
from heedful.models.named import connect
from heedful.models.options import CONNECTION, CallOptions
from heedful.models.options import sampling as make_sampling

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from typing import Unpack

    from heedful.engine.inputs import Data
    from heedful.engine.options import DataOptions, ReadingOptions, RunOptions
    from heedful.engine.runner import Progress
    from heedful.engine.store import Entry, Store
    from heedful.models import Model, Price, Sampling
    from heedful.models.base import AnyModel

__all__ = [
    "Recipe",
    "RowsJob",
    "Task",
    "check_rows_output",
    "keep",
    "read_and_written",
    "refuse_uninstructed",
]

STORE_VERSION = 2
"""Raised when a run made by an older heedful can no longer be resumed."""

TABLES = (".csv", ".tsv", ".parquet", ".xlsx")
"""Files that hold no JSON lines; a conversation or a checklist does not fit into a cell."""


@dataclass(frozen=True, slots=True)
class Task:
    """One row of the output, to be made."""

    sample: Sample
    make: Callable[[], Awaitable[Addition]]


@dataclass(frozen=True, slots=True)
class Recipe:
    """An addition to samples: what is added, and by which models."""

    adds: str  # the field that says how a row was made; null in a row that failed
    about: Mapping[str, Any]  # for the summary
    config: Mapping[str, Any]  # all that the output depends on, as JSON
    assumptions: str  # how long a dry run takes answers to be, in words
    tasks: Callable[[Sample], Iterable[Task]]
    settings: Mapping[str, Any] | None = None  # see Job.settings
    resources: Callable[[], AbstractAsyncContextManager[None]] = nullcontext


def called(
    models: AnyModel | Sequence[AnyModel],
    sampling: Sampling | None,
    options: Mapping[str, Any],
    *,
    temperature: float = 0.0,
) -> tuple[list[Model], Sampling | None, DataOptions]:
    """Connect to the models of a job, and part off the options that are not theirs."""
    calls = {name: each for name, each in options.items() if name in CallOptions.__annotations__}
    rest = {name: each for name, each in options.items() if name not in calls}
    own = calls.keys() - CONNECTION
    if own:
        if sampling is not None:
            raise UsageError(f"sampling and {min(own)} are both given", hint="give one of them")
        sampling = make_sampling(temperature, **cast("CallOptions", calls))
    if "max_concurrency" in calls:
        rest.setdefault("concurrency", calls["max_concurrency"])
    made = connect(models, **cast("CallOptions", calls))
    if not made:
        raise UsageError("no model is given", hint="give at least one")
    return made, sampling, cast("DataOptions", rest)


async def keep() -> Addition:
    """Leave a row as it is."""
    return Addition(counts={UNCHANGED: 1})


def read_and_written(data: object, running: RunOptions) -> list[str | os.PathLike[str]]:
    """List what an output must not replace: the input's file, and the run's directory."""
    run = running.get("run")
    return [*files(data), *([] if run is None else [run])]


class RowsJob(Job[Task, Generation]):
    """Add something to every sample of a data set: each sample becomes tasks, each task a row."""

    def __init__(
        self,
        data: Data,
        recipe: Recipe,
        *,
        output: str | os.PathLike[str] | None = None,
        **reading: Unpack[ReadingOptions],
    ) -> None:
        """Open the data."""
        self._recipe = recipe
        self._output = None if output is None else Path(output)
        self._data = OpenedData(data, reading)
        self.stem = self._data.stem
        self.about = {"heedful": __version__, **self._data.about, **recipe.about}
        self._unchanged = 0
        self.assumptions = recipe.assumptions

    def name_input(self) -> None:
        """Name rows in memory by their content, so that a run goes on with the same rows only."""
        self._data.name()

    @property
    def config(self) -> Mapping[str, Any]:
        """All that the rows depend on."""
        return {"store": STORE_VERSION, **self._data.config, **self._recipe.config}

    @property
    def settings(self) -> Mapping[str, Any] | None:
        """Further settings that the rows depend on."""
        return self._recipe.settings

    def resources(self, *, dry: bool) -> AbstractAsyncContextManager[None]:
        """Hold what the work needs."""
        del dry
        return self._recipe.resources()

    def rows(self) -> Iterator[Item[Task]]:
        """Give the tasks, and the rows that could not be read."""
        for item in self._data.items():
            if item.value is None or item.problem is not None:
                yield Item(line=item.line, id=item.id, value=None, problem=item.problem)
                continue
            for task in self._recipe.tasks(_without_failure(item.value, self._recipe.adds)):
                yield Item(line=item.line, id=task.sample.id, value=task)

    def encode(self, row: Task) -> str:
        """Write a task's sample as the store keeps it."""
        return encode(row.sample)

    async def work(self, row: Task) -> str:
        """Do one task; what it adds."""
        addition = await row.make()
        self._unchanged += addition.counts.get(UNCHANGED, 0)
        return addition.model_dump_json(exclude_defaults=True)

    def is_unfinished(self, entry: Entry) -> bool:
        """Tell whether a row failed."""
        return is_failed(entry)

    def check(self, run: Path | None) -> None:
        """Refuse an output that cannot be written, or that would replace what is read."""
        if self._output is not None:
            inputs = self._data.files if run is None else [*self._data.files, run]
            check_rows_output(self._output, inputs)
        check_run(run, self._data.files)

    def begin(self, store: Store) -> None:
        """Record how the rows come about."""
        store.set_meta("about", self.about)
        names = ", ".join(self._recipe.about["models"])
        logger.info("calling %s in %s", names, store.directory or "a temporary run")

    def about_dry_run(self) -> dict[str, Any]:
        """Name the models."""
        return {"models": self._recipe.about["models"]}

    def counts_dry_run(self) -> dict[str, int]:
        """Count the rows that would stay as they are."""
        return {UNCHANGED: self._unchanged}

    def result(
        self, store: Store, progress: Progress, prices: Mapping[str, Price] | None
    ) -> Generation:
        """Summarise, and write the rows."""
        summary = summarise(store, self.about, prices)
        generation = Generation(store, self._recipe.adds, summary, progress)
        if self._output is not None:
            generation.write(self._output)
        return generation


def check_rows_output(output: Path, inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse an output that cannot be written, or that would take the place of the input."""
    check_folder(output, inputs)
    if output.suffix.lower() in TABLES:
        raise UsageError(
            "rows are written as JSON lines only", where=str(output), hint="name a .jsonl file"
        )


def _without_failure(sample: Sample, adds: str) -> Sample:
    """Take away what an earlier output says of a failure; a user's own ``problem`` stays."""
    extra = sample.model_extra or {}
    if adds not in extra or extra[adds] is not None:
        return sample
    fields = native.write(sample)
    return Sample.model_validate(
        {key: value for key, value in fields.items() if key not in (adds, "problem")}
    )


def refuse_unanswerable(sample: Sample) -> None:
    """Refuse a sample whose conversation does not end on a turn to answer."""
    if not sample.conversation:
        raise RowError("the row has no conversation", hint="give it a prompt")
    if sample.conversation[-1].role in ("assistant", "model"):
        raise RowError(
            "the conversation ends on the assistant's turn", hint="end it on the turn to answer"
        )


def refuse_uninstructed(sample: Sample) -> None:
    """Refuse a sample that a critique or a checklist cannot be about."""
    refuse_unanswerable(sample)
    if lacks_instruction(sample):
        raise RowError("the row has no instruction", hint="its last user turn is empty")
