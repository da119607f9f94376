"""A finished evaluation in Python: its rows, its verdicts as a table, its look in a notebook."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from heedful.core.errors import UsageError
from heedful.core.outputs import atomically, write_json
from heedful.core.text import spreadsheet_cell
from heedful.engine.runner import Progress
from heedful.engine.saved_run import SUMMARY, Reader
from heedful.engine.store import Store
from heedful.jobs.results import Scored, record, scored, scored_entry

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from heedful.core.nouns import Scoring
    from heedful.reporting.chart import Chart

__all__ = ["Evaluation"]

By = Literal["judgment", "sample"]

ROWS_SHOWN = 20
"""Rows that a notebook shows."""

TEXT_SHOWN = 200
"""Characters of a text that a notebook shows."""


class Evaluation:
    """A finished (or interrupted) evaluation, read from its store.

    It can be iterated, counted, indexed and sliced; each row is a
    :class:`~heedful.jobs.results.Scored`, whose ``verdicts`` name their constraints. A notebook
    shows the rates and the first rows.

    >>> from heedful import evaluate
    >>> rows = [{"prompt": "Greet.", "checklist": ["No commas."], "response": "Hi, you!"}]
    >>> evaluation = evaluate(rows)
    >>> len(evaluation)
    1
    >>> verdict = evaluation[0].verdicts[0]
    >>> verdict.constraint, verdict.met, verdict.explanation
    ('No commas.', False, '1 comma, asked for at most 0')

    Attributes:
        directory: the run's directory; ``None`` where it is a temporary file.
        summary: as in ``summary.json``.
        progress: how many rows were done, and how many of them in an earlier session.
    """

    def __init__(self, store: Store, summary: dict[str, Any], progress: Progress) -> None:
        self._store = store
        self.directory = store.directory
        self.summary = summary
        self.progress = progress

    def __iter__(self) -> Iterator[Scored]:
        """Yield the rows in input order, in constant memory."""
        return scored(self._store)

    def __len__(self) -> int:
        """Count the rows, those that could not be read among them."""
        return self._store.count()

    def __bool__(self) -> bool:
        """Be true, also without rows: it is a result."""
        return True

    @overload
    def __getitem__(self, place: int) -> Scored: ...

    @overload
    def __getitem__(self, place: slice) -> list[Scored]: ...

    def __getitem__(self, place: int | slice) -> Scored | list[Scored]:
        """Return the row at a place from 0, or those of a slice."""
        if not isinstance(place, int | slice):
            raise UsageError(
                f"the place of a row is {place!r:.60}",
                hint="give a number from 0; by its id: next(row for row in evaluation if "
                "row.sample.id == …)",
            )
        places = range(len(self))[place]
        if isinstance(places, int):
            return scored_entry(self._store.entry(places))
        return [scored_entry(self._store.entry(each)) for each in places]

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of ``results.jsonl``, in input order, in constant memory."""
        scoring: Scoring = self.summary["scoring"]
        return (record(row, scoring) for row in self)

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
        tags = sorted({tag for row in self if row.sample for tag in row.sample.tags})
        for row in self:
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
        from heedful.reporting.metric_names import WORDS, label

        return {
            WORDS.get((family, name)) or label(family, name): rate
            for family, rates in self.summary["metrics"].items()
            for name, rate in rates.items()
        }

    def __getattr__(self, name: str) -> dict[str, Any]:
        """Return a rate by its printed name with underscores, or its paper's: ``isr``."""
        if name.startswith("_") or name == "summary":  # asked for before there is any
            raise AttributeError(name)
        rates = {re.sub(r"\W+", "_", key.casefold()): rate for key, rate in self.rates().items()}
        known = ", ".join(rates)
        for family in self.summary["metrics"].values():
            rates = {**family, **rates}
        if name not in rates:
            raise AttributeError(f"the evaluation has no {name!r}; its rates: {known}", name=name)
        return rates[name]

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Save a run that is in a temporary file as a directory, as ``run=`` would have.

        Raises:
            RunError: the directory holds a run.
        """
        folder = Path(directory)
        self._store.save(folder)
        write_json(folder / SUMMARY, self.summary)
        return folder

    def __reduce__(self) -> tuple[Any, ...]:
        """Be pickled with all its rows."""
        state = self._store.snapshot(), self.summary, self.progress.done, self.progress.resumed
        return _restored, (self.directory, *state)

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
        from heedful.jobs.evaluate_chart import rates_chart

        return rates_chart(self.summary, by)

    def __repr__(self) -> str:
        """Sum it up in a sentence."""
        from heedful.jobs.evaluate_tables import sentence

        return f"<Evaluation: {sentence(self.summary)}>"

    def _repr_html_(self) -> str:
        """Show the rates and the first rows in a notebook; all that it says is escaped."""
        from html import escape  # its table of entities takes 2 ms to load

        from heedful.jobs.evaluate_tables import sentence

        rows = [cells for row in self[:ROWS_SHOWN] for cells in _by_judgment(row)][:ROWS_SHOWN]
        names = ("id", "constraint", "status", "explanation", "judge")
        head = "".join(f"<th>{name}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(cells[name])}</td>" for name in names) + "</tr>"
            for cells in rows
        )
        left = self.summary["constraints"] - len(rows)
        more = f"<p>{left:,} more verdicts</p>" if left > 0 else ""
        return (
            f"<p><b>{escape(sentence(self.summary))}</b><br>judge {escape(self.summary['judge'])}, "
            f"{escape(self.summary['scoring'])} scoring</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
        )


def _restored(
    directory: Path | None, snapshot: bytes | None, summary: dict[str, Any], done: int, resumed: int
) -> Evaluation:
    """Make an evaluation of what pickling wrote."""
    store = Store.restored(snapshot) if snapshot is not None else Reader(cast("Path", directory))
    return Evaluation(store, summary, Progress(done=done, resumed=resumed))


def _cell(value: object) -> str:
    from html import escape

    text = "" if value is None else str(value)
    return escape(text if len(text) <= TEXT_SHOWN else f"{text[:TEXT_SHOWN]}…")


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
