"""Results of a run that adds to samples: its rows, the output, the summary."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ConfigDict

from heedful.core.errors import RowError, UsageError
from heedful.core.log import logger
from heedful.core.nouns import Expense, Sample
from heedful.core.outputs import atomically, write_json
from heedful.core.text import amount
from heedful.core.version import __version__
from heedful.data.formats import native
from heedful.engine.cost import CostSummary
from heedful.engine.inputs import OpenedData, encode, files
from heedful.engine.job import Job
from heedful.engine.reader import SUMMARY
from heedful.engine.runner import Item
from heedful.jobs.results import PROBLEMS_LISTED, check_folder, check_run
from heedful.judges.prompts.base import lacks_instruction
from heedful.models.named import connect
from heedful.models.options import CONNECTION, CallOptions
from heedful.models.options import sampling as make_sampling
from heedful.reporting.notation import cost_line

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Unpack

    from rich.text import Text

    from heedful.engine.inputs import Data
    from heedful.engine.options import DataOptions, ReadingOptions, RunOptions
    from heedful.engine.runner import Progress
    from heedful.engine.store import Entry, Store
    from heedful.models import Model, Price, Sampling
    from heedful.models.base import AnyModel


UNCHANGED = "unchanged"
"""Counts rows that already have what the run adds."""


class Addition(BaseModel):
    """Result of one task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fields: dict[str, Any] = {}
    expenses: tuple[Expense, ...] = ()
    counts: dict[str, int] = {}  # what the summary adds up
    problem: str | None = None  # why nothing is set, although calls were paid


@dataclass(frozen=True, slots=True)
class Generated:
    """One row of the output.

    Attributes:
        line: line in the input file, from 1.
        id: the row's id, ``line-N`` where it has none.
        sample: the sample with what was added; ``None`` where the row could not be read.
        problem: why nothing was added.
    """

    line: int
    id: str
    sample: Sample | None
    problem: str | None


class Generation:
    """A finished run, read from its store.

    Attributes:
        directory: the run's directory; ``None`` where it is a temporary file.
        summary: as in ``summary.json``.
        progress: how many rows were done, and how many of them in an earlier session.
    """

    def __init__(
        self, store: Store, adds: str, summary: dict[str, Any], progress: Progress
    ) -> None:
        self._store = store
        self._adds = adds
        self.directory = store.directory
        self.summary = summary
        self.progress = progress

    def __iter__(self) -> Iterator[Generated]:
        """Yield the rows in input order, in constant memory."""
        return (row for row, _ in _rows(self._store))

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of the output in input order, in constant memory."""
        return (_record(row, self._adds) for row in self)

    def write(self, path: Path, rows: Iterable[Generated] | None = None) -> None:
        """Write the rows as JSON lines in heedful's own format; the file appears when complete.

        Args:
            path: the file.
            rows: only these of its rows. Default: all.

        Raises:
            UsageError: it cannot be written.
        """
        with atomically(path) as file:
            for row in self if rows is None else rows:
                line = json.dumps(_record(row, self._adds), ensure_ascii=False)
                file.write(f"{line}\n")


def is_failed(entry: Entry) -> bool:
    """Tell whether a row failed."""
    if entry.failure is not None:
        return True
    return entry.output is not None and bool(Addition.model_validate_json(entry.output).problem)


def generated_entry(entry: Entry) -> tuple[Generated, Addition | None]:
    """Read the result of one row, with what was added to it."""
    key = entry.id or f"line-{entry.line}"
    if entry.problem is not None or entry.input is None:
        return Generated(entry.line, key, None, entry.problem or "not read"), None
    sample = Sample.model_validate_json(entry.input)
    if entry.output is None:
        return Generated(entry.line, key, sample, entry.failure or "not requested yet"), None
    addition = Addition.model_validate_json(entry.output)
    if addition.fields:
        sample = Sample.model_validate(native.write(sample) | addition.fields)
    return Generated(entry.line, key, sample, addition.problem), addition


def _rows(store: Store) -> Iterator[tuple[Generated, Addition | None]]:
    """Yield a run's rows in input order, with what was added to each, in constant memory."""
    return map(generated_entry, store.entries())


def _record(row: Generated, adds: str) -> dict[str, Any]:
    if row.sample is None:
        return {"id": row.id, "line": row.line, "problem": row.problem}
    fields = native.write(row.sample)
    if row.problem is None:
        return fields
    return {"id": row.id, "problem": row.problem} | fields | {"problem": row.problem, adds: None}


def summarise(
    store: Store, about: Mapping[str, Any], prices: Mapping[str, Price] | None
) -> dict[str, Any]:
    """Sum up a run, and write that into its directory."""
    counts: Counter[str] = Counter()
    rows: Counter[str] = Counter(completed=0, unchanged=0, failed=0, unread=0)
    problems: list[dict[str, Any]] = []
    account = CostSummary(store.usage_records(), prices)
    for row, addition in _rows(store):
        if addition is not None:
            counts.update(addition.counts)
            account.add(addition.expenses)
        if row.problem is not None:
            rows["failed" if row.sample else "unread"] += 1
            if len(problems) < PROBLEMS_LISTED:
                problems.append({"line": row.line, "id": row.id, "problem": row.problem})
        else:
            rows["completed"] += 1
    rows[UNCHANGED] = counts.pop(UNCHANGED, 0)
    rows["completed"] -= rows[UNCHANGED]
    result = {**about, "rows": dict(rows), "counts": dict(counts), "problems": problems}
    if account:
        result["cost"] = account.result()
    adaptations = store.meta("adaptations")
    if adaptations:
        result["adaptations"] = adaptations
    if store.directory is not None:
        write_json(store.directory / SUMMARY, result)
    return result


COUNTS = {
    "cut_off": "cut off at the limit of tokens",
    "empty": "empty",
    "ties": "answers that tie both responses",
    "unread_choice": "answers that can't be read",
    "rejected": "listed by the model but not in the instruction: left out",
    "duplicates": "listed again: left out",
    "undecided_critiques": "leave a constraint undecided",
}
"""Counts that a run which makes rows may have."""


def view(summary: Mapping[str, Any]) -> Text:
    """Lay out a summary for a terminal."""
    from rich.text import Text

    rows, counts = summary["rows"], summary["counts"]
    text = Text()
    text.append(f"\n  {amount(sum(rows.values()), 'row')}: ")
    text.append(f"{rows['completed']:,} completed", style="green")
    if rows["unchanged"]:
        text.append(f", {rows['unchanged']:,} unchanged")
    if rows["failed"]:
        text.append(", ")
        text.append(f"{rows['failed']:,} failed", style="bold red")
    if rows["unread"]:
        text.append(", ")
        text.append(f"{rows['unread']:,} could not be read", style="bold red")
    if "columns" in summary:
        text.append(f"\n  {summary['columns']}", style="dim")
    for line, style in _counted(counts):
        text.append(f"\n  {line}", style=style)
    if "cost" in summary:
        text.append(f"\n  {cost_line(summary['cost'])}")
    for line in summary.get("adaptations", ()):
        text.append(f"\n  sent differently than requested: {line}", style="yellow")
    return text


def _counted(counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield a line for each count, and its style."""
    for name in ("constraint", "critique"):
        if f"{name}s" in counts:
            yield amount(counts[f"{name}s"], name), ""
    for name, meaning in COUNTS.items():
        if counts.get(name):
            yield f"{counts[name]:,} {meaning}", "yellow"


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

    divisible = True

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

    def rows(self) -> Iterator[Item[Task]]:
        """Give the tasks, and the rows that could not be read."""
        for item in self._data.items():
            if item.value is None or item.problem is not None:
                yield Item(line=item.line, id=item.id, value=None, problem=item.problem)
                continue
            for task in self._recipe.tasks(without_failure(item.value, self._recipe.adds)):
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


def without_failure(sample: Sample, adds: str) -> Sample:
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
