"""A run opened read-only, whichever command made it: the input of all that reads runs."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
import weakref
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic_core import from_json

from heedful.core.closing import Closing, closed_on_error
from heedful.core.errors import RunError, UsageError
from heedful.core.nouns import Sample
from heedful.data.formats import Row, named
from heedful.engine.integrity import damaged_entry, refuse_incomplete, salvaged
from heedful.engine.lock import is_held
from heedful.engine.schema import refuse_damaged, refuse_version
from heedful.engine.store import NAME, Store

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from heedful.data.formats import Format
    from heedful.engine.schema import Entry, UsageRecord
    from heedful.models import Price

__all__ = ["SUMMARY", "SavedRun"]

LOG = f"{NAME}-wal"


class Reader(Store):
    """The rows of a run that is there, for reading only."""

    def __init__(
        self, directory: Path, *, salvage: bool = False, marks_damaged: bool = False
    ) -> None:
        self.path = directory / NAME
        self._salvage = salvage
        self._marks_damaged = marks_damaged
        if not self.path.is_file():
            raise RunError(
                "holds no run" if directory.is_dir() else "there is no such run",
                where=str(directory),
                hint="name the directory that --run named, the one with run.sqlite",
            )
        try:
            super().__init__(directory)
        except RunError as error:
            raise RunError(
                f"this run cannot be read: {error.__cause__ or error.what}",
                where=str(self.path),
                hint="the file is damaged, or may not be read",
            ) from error
        try:
            self._check()
        except RunError:
            self.close()
            raise

    def _check(self) -> None:
        ((tables,),) = self.query("SELECT count(*) FROM sqlite_master")
        if not tables:
            raise RunError(
                "holds no run: its store is empty",
                where=str(self.directory),
                hint="re-run the command that created it",
            )
        ((version,),) = self.query("PRAGMA user_version")
        refuse_version(version, self.path)

    def refuse_damaged(self) -> None:
        """Refuse a store whose structure is damaged; takes time linear in its size."""
        refuse_damaged(self.query, self.path)

    def _connect(self) -> sqlite3.Connection:
        log = self.path.with_name(LOG)
        path, mode = self.path, "mode=ro"
        held = log.is_file() and is_held(self.path.parent)
        if not held and not (log.is_file() and log.stat().st_size):
            # Nobody is writing. To open it as usual would make an empty log, which stays.
            mode = "immutable=1"
        elif not held:
            # Its writer was killed. SQLite would write beside the file to read the log.
            self._copy = _copied(self.path, _stamp(self.path), _stamp(log))
            path = self._copy.path
        db = sqlite3.connect(
            f"{path.absolute().as_uri()}?{mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
        with closed_on_error(db):
            db.execute("PRAGMA busy_timeout=5000")
            if self._salvage:
                db.execute("PRAGMA writable_schema=ON")  # or SQLite refuses a short file
            db.execute("SELECT count(*) FROM sqlite_master")  # is it a database?
        return db

    def _entry(self, columns: Sequence[Any]) -> Entry:
        try:
            return super()._entry(columns)
        except RunError:
            if not self._marks_damaged:
                raise
            return damaged_entry(columns[0])

    def _keep(self, key: bytes, value: str) -> None:
        """Keep nothing of another run: nothing is written."""

    def close(self) -> None:
        """Close the file."""
        self._db.close()


class _Copy:
    """A copy of a store with its log, in a temporary folder that goes with the last reference."""

    def __init__(self, path: Path) -> None:
        folder = Path(tempfile.mkdtemp(prefix="heedful-run-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        for name in (LOG, NAME):
            shutil.copyfile(path.with_name(name), folder / name)
        self.path = folder / NAME


@lru_cache(maxsize=2)
def _copied(path: Path, *_: tuple[int, int]) -> _Copy:
    """Copy a store once for all who open it in the same state."""
    return _Copy(path)


def _stamp(path: Path) -> tuple[int, int]:
    """Say which state of a file is meant."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


SUMMARY = "summary.json"
"""The file that a job writes when it is finished."""

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


class SavedRun(Closing):
    """A run opened read-only; nothing in its directory is changed.

    Opening takes any run, also one under way; :meth:`open` refuses what a reader cannot use.
    Whatever reads a damaged store or summary raises :class:`~heedful.RunError`.
    Iterating yields the rows of its input, so that they can be judged again without the files.

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
