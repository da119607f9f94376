"""A run in Python: its verdicts as tables, its rates by name, its look in a notebook."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from heedful.core.errors import RunError, UsageError
from heedful.core.outputs import atomically
from heedful.core.text import spreadsheet_cell
from heedful.engine import saved_run
from heedful.jobs.results import Scored, judged_by, scored_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from heedful.jobs.evaluate import Evaluation
    from heedful.reporting.chart import Chart

By = Literal["judgment", "sample"]

ROWS_SHOWN = 20
"""Rows that a notebook shows."""

TEXT_SHOWN = 200
"""Characters of a text that a notebook shows."""


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

    def to_dataset(self, by: By = "judgment") -> Any:
        """Return :meth:`table` as a ``datasets.Dataset``; tags of several types become text.

        Raises:
            UsageError: datasets isn't installed.
        """
        try:
            from datasets import Dataset
        except ModuleNotFoundError as error:
            hint = "pip install 'heedful[hub]'"
            raise UsageError("to_dataset needs datasets", hint=hint) from error
        rows = list(self.table(by))
        for column in rows[0] if rows else ():
            if len({type(row[column]) for row in rows} - {type(None)}) > 1:
                for row in rows:
                    row[column] = None if row[column] is None else str(row[column])
        return Dataset.from_list(rows)

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


class SavedRun(VerdictTables, saved_run.SavedRun):
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


Run: TypeAlias = "str | os.PathLike[str] | Evaluation | saved_run.SavedRun"
"""A finished run: its directory, or what is in Python."""


@contextmanager
def directories(runs: Sequence[Run]) -> Iterator[list[str]]:
    """Give the directory of each run; those that have none are saved for as long as it takes."""
    with tempfile.TemporaryDirectory(prefix="heedful-") as folder:
        yield [
            _directory(run, Path(folder, f"evaluation {place}"))
            for place, run in enumerate(runs, 1)
        ]


def _directory(run: Run, place: Path) -> str:
    if isinstance(run, str | os.PathLike):
        return os.fspath(run)
    if run.directory is None:
        return os.fspath(run.save(place))
    return os.fspath(run.directory)


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
