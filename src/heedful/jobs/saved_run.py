"""A finished run in Python: read-only, its verdicts as tables, its look in a notebook."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from pydantic_core import from_json

from heedful.core.closing import Closing
from heedful.core.errors import RunError, UsageError
from heedful.core.nouns import Sample
from heedful.core.outputs import atomically
from heedful.core.text import spreadsheet_cell
from heedful.data.formats import Row, named
from heedful.engine.integrity import refuse_incomplete, salvaged
from heedful.engine.reader import SUMMARY, Reader
from heedful.jobs.results import Scored, judged_by, scored_entry

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from heedful.data.formats import Format
    from heedful.engine.schema import Entry, UsageRecord
    from heedful.models import Price
    from heedful.reporting.chart import Chart

__all__ = ["SavedRun"]

By = Literal["judgment", "sample"]

ROWS_SHOWN = 20
"""Rows that a notebook shows."""

TEXT_SHOWN = 200
"""Characters of a text that a notebook shows."""


NOT_THE_JUDGE = (
    "store",
    "input",
    "format",
    "task",
    "limit",
    "sample",
    "reasoning",
    "exclude_generation_failures",
    "scoring",
    "seed",
)
"""The keys of a run's configuration that do not describe its judge."""

READ_BY = {
    "evaluate": "report",
    "bench criticbench build": "bench criticbench run",
    "bench criticbench run": "bench criticbench report",
    "bench realcritic run": "bench realcritic report",
}
"""The command that reads the runs of a command; ``heedful view`` shows all others."""

T = TypeVar("T")


class VerdictTables:
    """What an evaluation and a saved run have in common: their verdicts and rates, as tables."""

    def _numbers(self) -> dict[str, Any]:
        """Return the summary."""
        raise NotImplementedError

    def _scored(self) -> Iterator[Scored]:
        """Yield the rows with their verdicts, in input order."""
        raise NotImplementedError

    def table(self, by: By = "judgment") -> Iterator[dict[str, Any]]:
        """Yield flat rows, all with the same columns.

        Args:
            by: ``judgment``: a row for each, with its constraint; ``sample``: a row for each, with
                the number of its verdicts.

        Raises:
            UsageError: ``by`` is something else.
        """
        makers: dict[str, Callable[[Scored], Iterator[dict[str, Any]]]] = {
            "judgment": _by_judgment,
            "sample": _by_sample,
        }
        if by not in makers:
            raise UsageError(f"by is {by!r}", hint="give 'judgment' or 'sample'")
        tags = sorted({tag for row in self._scored() if row.sample for tag in row.sample.tags})
        for row in self._scored():
            own = {} if row.sample is None else row.sample.tags
            for cells in makers[by](row):
                yield cells | {f"tags.{tag}": own.get(tag) for tag in tags}

    def to_pandas(self, by: By = "judgment") -> Any:
        """Return :meth:`table` as a ``pandas.DataFrame``.

        Raises:
            UsageError: pandas isn't installed.
        """
        try:
            import pandas as pd
        except ModuleNotFoundError as error:
            raise UsageError("to_pandas needs pandas", hint="pip install pandas") from error
        return pd.DataFrame(list(self.table(by)))

    def to_csv(self, path: str | os.PathLike[str], by: By = "judgment") -> None:
        """Write :meth:`table` as CSV; text that a spreadsheet would compute begins with ``'``."""
        import csv

        with atomically(Path(path)) as file:
            writer = csv.writer(file)
            for number, row in enumerate(self.table(by)):
                if number == 0:
                    writer.writerow(row)
                writer.writerow(map(spreadsheet_cell, row.values()))

    def rates(self) -> dict[str, dict[str, Any]]:
        """Return the rates by the names that are printed, as in ``summary.json``.

        >>> from heedful import evaluate
        >>> rows = [{"prompt": "Greet.", "checklist": ["No commas."], "response": "Hi, you!"}]
        >>> evaluate(rows).rates()["responses fully met"]["value"]
        0.0
        """
        from heedful.reporting.metric_names import label

        return {
            label(family, name): rate
            for family, rates in self._numbers()["metrics"].items()
            for name, rate in rates.items()
        }

    def plot(self, by: str | None = None) -> Chart:
        """Draw the rates with their intervals: a notebook shows the chart.

        Args:
            by: ``type``, ``priority``, ``verifier`` or a tag: a rate for each group; by default all
                metrics.

        Returns:
            The chart; ``.image("png")`` gives its bytes, ``.json()`` the Vega-Lite document.

        Raises:
            UsageError: there are no such groups.
        """
        from heedful.jobs.evaluate_tables import rates_chart

        return rates_chart(self._numbers(), by)

    def _sentence(self) -> str:
        from heedful.jobs.evaluate_tables import sentence

        return sentence(self._numbers())

    def _html(self) -> str:
        """Show the rates and the first rows; all that it says is escaped."""
        from html import escape  # its table of entities takes 2 ms to load

        from heedful.reporting.table import Table

        summary = self._numbers()
        names = ("id", "constraint", "status", "explanation", "judge")
        first = (cells for row in self._scored() for cells in _by_judgment(row))
        rows = [[_short(cells[name]) for name in names] for cells in islice(first, ROWS_SHOWN)]
        left = summary["constraints"] - len(rows)
        more = f"<p>{left:,} more verdicts</p>" if left > 0 else ""
        return (
            f"<p><b>{escape(self._sentence())}</b><br>judge {escape(judged_by(summary))}, "
            f"{escape(summary['scoring'])} scoring</p>{Table('', names, rows).html()}{more}"
        )


class SavedRun(VerdictTables, Closing):
    """A run opened read-only; nothing in its directory is changed.

    Opening takes any run, also one under way; :meth:`open` refuses what a reader cannot use.
    Whatever reads a damaged store or summary raises :class:`~heedful.RunError`.
    Iterating yields the rows of its input, so that they can be judged again without the files;
    :meth:`table` and :meth:`to_pandas` give the verdicts.

    Attributes:
        directory: the run's directory.
        config: the configuration that its outputs depend on.
        about: how its numbers came about, as at the head of its summary.
        settings: what it was made with and may be resumed without.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        salvage: bool = False,
        marks_damaged: bool = False,
    ) -> None:
        """Open a run."""
        self.directory = Path(directory)
        self._salvage = salvage
        self._reader = Reader(self.directory, salvage=salvage, marks_damaged=marks_damaged)
        try:
            self.config: Mapping[str, Any] = self._mapping("config")
            self.about: Mapping[str, Any] = self._mapping("about")
            self.settings: Mapping[str, Any] = self._mapping("settings")
        except RunError:
            self.close()
            raise

    def __reduce__(self) -> tuple[type[Self], tuple[Path]]:
        """Have it opened again where it is sent to."""
        return type(self), (self.directory,)

    @classmethod
    def open(
        cls,
        directory: str | os.PathLike[str],
        *,
        commands: tuple[str, ...] = ("evaluate",),
        finished: bool = True,
        salvage: bool = False,
    ) -> Self:
        """Open a run that a certain command made, and look whether it is whole.

        Args:
            directory: the run's directory.
            commands: the commands whose runs are taken, such as ``bench realcritic run``.
            finished: refuse a run whose command has not come to its end.
            salvage: read all that is whole of a damaged run, instead of refusing it.

        Raises:
            RunError: there is no such run, or it is damaged, unfinished or of another command.
        """
        run = cls(directory, salvage=salvage)
        try:
            if not salvage:
                run._reader.refuse_damaged()
                refuse_incomplete(run._reader)
            run.require(*commands, finished=finished)
        except RunError:
            run.close()
            raise
        return run

    def require(self, *commands: str, finished: bool = True) -> None:
        """Refuse a run of another command, and one that is not finished."""
        where = str(self.directory)
        if self._salvage and not self.config:
            return  # that is lost too
        if not self.config:
            raise RunError(
                "this run was stopped before it began",
                where=where,
                hint="re-run the command that created it",
            )
        if self.command not in commands:
            wanted = " or ".join(f"heedful {command}" for command in commands)
            raise RunError(
                f"this is a run of heedful {self.command}, not of {wanted}",
                where=where,
                hint=f"heedful {READ_BY.get(self.command, 'view')} reads it; "
                f"here, name a run of {wanted}",
            )
        if finished and not self.finished:
            raise RunError(
                f"this run is not finished, or its {SUMMARY} was removed",
                where=where,
                hint="give the command that made it again: it goes on where it stopped, and "
                "writes the file",
            )

    def close(self) -> None:
        """Close the run's store."""
        self._reader.close()

    @property
    def command(self) -> str:
        """The command that made it, without ``heedful``; ``unknown`` where it does not say."""
        command = str(self.config.get("command", "evaluate" if self.judged else "unknown"))
        return f"bench {command}" if command.startswith("criticbench ") else command

    @property
    def judged(self) -> bool:
        """Whether it judged responses."""
        return "judge" in self.config

    @property
    def judge(self) -> dict[str, Any]:
        """The configuration of its judge."""
        return {key: value for key, value in self.config.items() if key not in NOT_THE_JUDGE}

    @property
    def format(self) -> Format | None:
        """The format that its input was in; ``None`` for samples made in Python."""
        name = self.config.get("format")
        with suppress(UsageError):  # the run is readable without the plugin that read its input
            return named(name) if name else None
        return None

    @property
    def finished(self) -> bool:
        """Whether its command has come to its end, and written a summary."""
        return (self.directory / SUMMARY).is_file()

    @property
    def sessions(self) -> list[dict[str, Any]]:
        """When it was worked on, see :mod:`heedful.engine.sessions`."""
        sessions: list[dict[str, Any]] = self._reader.meta("sessions") or []
        return sessions

    @property
    def expected_rows(self) -> int | None:
        """How many rows its input has, about; ``None`` where that was not known at the start."""
        total = self._reader.meta("total")
        return total if isinstance(total, int) else None

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The numbers that it came to, as in its ``summary.json``."""
        path = self.directory / SUMMARY
        summary: Any = None
        try:
            summary = json.loads(path.read_text(encoding="utf-8"))
            foreign = self._is_foreign(summary)
            problem = "the summary is damaged, of another version of heedful, or of another run"
        except FileNotFoundError:
            foreign, problem = True, f"this run is not finished, or its {SUMMARY} was removed"
        except (OSError, ValueError, RecursionError) as error:
            foreign, problem = True, f"the summary cannot be read: {error}"
        if foreign:
            raise RunError(
                problem,
                where=str(path),
                hint="run the command that made it again: it rewrites the file without a call",
            )
        result: dict[str, Any] = summary
        return result

    def _is_foreign(self, summary: Any) -> bool:
        if not isinstance(summary, dict) or not isinstance(summary.get("rows"), dict):
            return True
        return any(summary.get(key) != value for key, value in self.about.items())

    def entries(self, since: int = 0) -> Iterator[Entry]:
        """Yield its rows as stored, from a place on, in input order, in constant memory."""
        return self._whole_entries() if self._salvage else self._reader.entries(since)

    def _whole_entries(self) -> Iterator[Entry]:
        rows: Any = None
        with suppress(RunError):
            rows = self.summary["rows"]["read"]
        yield from salvaged(self._reader, rows)

    def entry(self, position: int) -> Entry:
        """Return the row at a place in the input, as stored."""
        try:
            return self._reader.entry(position)
        except StopIteration:
            where = str(self.directory)
            raise RunError(f"there is no row {position + 1:,}", where=where) from None

    def rows(self, parse: Callable[[Entry], T]) -> Iterator[T]:
        """Yield what a function makes of its rows, in input order, in constant memory."""
        return (self.parsed(parse, entry) for entry in self.entries())

    def row(self, position: int, parse: Callable[[Entry], T]) -> T:
        """Return what a function makes of the row at a place in the input."""
        return self.parsed(parse, self.entry(position))

    def parsed(self, parse: Callable[[Entry], T], entry: Entry) -> T:
        """Return what a function makes of a row."""
        try:
            return parse(entry)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            reason, *_ = str(error).split("\n")
            raise self._damaged(f"row {entry.position + 1:,} cannot be read: {reason}") from error

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows of its input in order, those that could not be read among them."""
        return self.rows(_input)

    def usage_records(self) -> Iterator[UsageRecord]:
        """Yield the usage of its calls, summed up by caller and model."""
        return self._reader.usage_records()

    def cost(self, prices: Mapping[str, Price] | None = None) -> dict[str, Any] | None:
        """Sum up the cost of its calls; ``None`` where there were none.

        Args:
            prices: dollars by model; heedful's own table by default.
        """
        from heedful.engine.cost import CostSummary

        costs = CostSummary(self.usage_records(), prices)
        return costs.result() if costs else None

    def answers(self) -> Iterator[dict[str, Any]]:
        """Yield the answers of models that it holds, in constant memory."""
        for text in self._reader.answers():
            yield from_json(text)

    def query(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query on its store."""
        return self._reader.query(sql, *values)

    @property
    def identity(self) -> list[Any]:
        """A value that changes when other rows, or the same made otherwise, take its place."""
        file = self._reader.path.stat().st_ino
        retries = self._reader.meta("retries")
        return [str(self.directory.resolve()), file, self.config, retries, self.settings]

    def _mapping(self, key: str) -> Mapping[str, Any]:
        try:
            return _Recorded(self._reader.meta(key) or {}, self.directory)
        except RunError:
            if not self._salvage:
                raise
            return _Recorded({}, self.directory)

    def _damaged(self, what: str) -> RunError:
        hint = "the file is damaged, or of another version of heedful"
        return RunError(what, where=str(self._reader.path), hint=hint)

    def _numbers(self) -> dict[str, Any]:
        self.require("evaluate")
        return self.summary

    def _scored(self) -> Iterator[Scored]:
        self.require("evaluate", finished=False)
        return self.rows(scored_entry)

    def __repr__(self) -> str:
        """Sum it up in a sentence, or say why there is none."""
        try:
            said = self._sentence()
        except RunError as error:
            said = error.what
        return f"<SavedRun {self.directory}: {said}>"

    def _repr_html_(self) -> str | None:
        """Show it as an evaluation is shown; one without numbers as its text."""
        try:
            return self._html()
        except RunError:
            return None


class _Recorded(dict[str, Any]):
    """An object of a run's store; a key that is not there is an error of the run."""

    def __init__(self, values: Mapping[str, Any], directory: Path) -> None:
        super().__init__(values)
        self._directory = directory

    def __missing__(self, key: str) -> Any:
        raise RunError(
            f"the run does not say its {key}: it was written by another version of heedful",
            where=str(self._directory),
            hint="open it with the heedful that wrote it",
        )


def _input(entry: Entry) -> Row:
    if entry.problem is not None or entry.input is None:
        return Row(entry.line, id=entry.id, problem=entry.problem or "not read")
    sample = Sample.model_validate_json(entry.input)
    return Row(entry.line, sample, sample.id)


def _short(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= TEXT_SHOWN else f"{text[:TEXT_SHOWN]}…"


def _texts(row: Scored) -> dict[str, str | None]:
    turns = () if row.sample is None else row.sample.conversation
    prompts = [turn.content for turn in turns if turn.role == "user"]
    return {
        "prompt": prompts[-1] if prompts else None,
        "response": None if row.sample is None else row.sample.response,
    }


def _by_judgment(row: Scored) -> Iterator[dict[str, Any]]:
    for verdict in row.verdicts:
        yield {"id": row.id, **verdict._asdict(), **_texts(row)}


def _by_sample(row: Scored) -> Iterator[dict[str, Any]]:
    met = [verdict.met for verdict in row.verdicts]
    yield {
        "id": row.id,
        "constraints": len(met),
        "met": met.count(True),
        "unmet": met.count(False),
        "undecided": met.count(None),
        "fully_met": False if False in met else None if None in met or not met else True,
        "problem": row.problem,
        **_texts(row),
    }
