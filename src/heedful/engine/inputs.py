"""Input of a run: opened, named by its content, read row by row."""

from __future__ import annotations

import hashlib
import json
import os
import random
import time
from collections.abc import Iterator, Mapping, Sized
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, cast, get_args

from heedful.core.errors import InputError, UsageError
from heedful.core.files import digest
from heedful.core.log import logger
from heedful.core.reasoning import ReasoningMode, answered
from heedful.engine.options import ReadingOptions, format_of, refuse_unknown
from heedful.engine.runner import Item

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from heedful.core.nouns import Sample
    from heedful.data.formats import Format, Row, Source
    from heedful.data.formats.memory import InMemory


__all__ = [
    "Data",
    "OpenedData",
    "encode",
    "fingerprint",
    "items",
    "open_data",
]

DATA_SUFFIXES = (".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow", ".xlsx")
"""The files of a folder that are read, compressed ones too."""

COARSE_NS = 2_000_000_000
"""The coarsest clock of a file system, in nanoseconds: FAT's."""


Data: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | InMemory"
"""Data of a job: a file in any format that heedful reads, several, or rows in memory.

A dataset of the Hugging Face hub, ``hf:OWNER/NAME:CONFIG@SPLIT``, counts as a file.

Rows in memory are samples, or dicts as in files: a list of them, a ``DataFrame``, a ``Dataset``; or
the samples of a finished run (:class:`~heedful.jobs.saved_run.SavedRun`).
"""


RUNS = Path("heedful-runs")
"""Where runs go that are not named."""


def unnamed(stem: str, *options: Any) -> Path:
    """Name a run that the user has not named, after all that tells it from others, as JSON."""
    ending = hashlib.blake2b(json.dumps(options).encode(), digest_size=4).hexdigest()
    return RUNS / f"{stem}-{ending}"


def open_data(
    data: object,
    *,
    format: str | None = None,  # noqa: A002 - the name users know
    task: str | None = None,
    responses: str | os.PathLike[str] | None = None,
    exclude_generation_failures: bool = False,
) -> Source | None:
    """Open a file, or several; rows in memory have no source."""
    paths = files(data)
    if not paths:
        from heedful.data.formats.memory import check_rows

        if any((task, responses, exclude_generation_failures)):
            raise UsageError("responses, task and exclude_generation_failures go with a file")
        check_rows(data)
        return None
    from heedful.data import formats

    seen: set[str] = set()
    for path in paths:
        real = os.path.realpath(path)  # not Path.resolve, which raises for a loop of links
        if real in seen:
            what, hint = "the file is given twice", "its rows would count twice; give it once"
            raise UsageError(what, where=str(path), hint=hint)
        seen.add(real)
    return formats.open_source(
        *paths,
        format=format,
        task=task,
        responses=responses,
        exclude_generation_failures=exclude_generation_failures,
    )


def read(data: Data, **reading: Unpack[ReadingOptions]) -> Iterator[Sample]:
    """Read the samples of a file in any format, or of rows in memory.

    >>> from heedful import read
    >>> [sample.checklist[0].text for sample in read([{"prompt": "Hi", "checklist": ["Short."]}])]
    ['Short.']

    Raises:
        InputError: a row can't be read; the message has its place.
    """
    refuse_unknown(reading, ReadingOptions)
    opened = OpenedData(data, reading)
    for item in opened.items():
        if item.value is None:
            where = f"{opened.files[0]}:{item.line}" if opened.files else f"row {item.line}"
            raise InputError(str(item.problem), where=where)
        yield item.value


def files(data: object) -> list[Path]:
    """List the files that data names: one path, or a list of paths; rows are none."""
    named = [data] if isinstance(data, str | os.PathLike) else data
    if not isinstance(named, list | tuple):
        return []
    if not all(isinstance(each, str | os.PathLike) for each in named):
        return []
    return [file for each in named for file in _in_folder(_file(each))]


def _in_folder(path: Path) -> list[Path]:
    """Return the files of a folder that have a suffix of data, by name; else the path itself."""
    if not path.is_dir() or (path / "run.sqlite").exists():
        return [path]
    if (path / "dataset_dict.json").is_file():  # a DatasetDict's save_to_disk
        splits = sorted(each.name for each in path.iterdir() if each.is_dir())
        hint = f"name one of its splits, as {path / splits[0]}" if splits else "it has no splits"
        what = f"this is a folder of splits: {', '.join(splits)}"
        raise InputError(what, where=str(path), hint=hint)
    saved = (path / "state.json").is_file()  # by save_to_disk, with files about the data set
    files = [
        file
        for file in sorted(path.iterdir())
        if file.is_file()
        and file.name.lower().removesuffix(".gz").endswith(DATA_SUFFIXES)
        and not (saved and file.suffix != ".arrow")
    ]
    if not files:
        hint = f"their names end in {', '.join(DATA_SUFFIXES)}; folders in it aren't read"
        raise InputError("the folder holds no data files", where=str(path), hint=hint)
    return files


def _file(named: str | os.PathLike[str]) -> Path:
    """Return a path, or the file that holds a dataset of the Hugging Face hub."""
    if not str(named):
        raise InputError("the path is empty", hint="name a file")
    if str(named).startswith("hf:"):
        from heedful.data.formats import hub

        if hub.is_named(named):
            return hub.fetched(str(named))
    return Path(named)


class Fingerprint(str):
    """A file's name by its content, which also knows how to see that the file has changed."""

    __slots__ = ("path", "status", "taken_ns")

    path: Path  # the file
    status: os.stat_result  # as the operating system had it before it was read
    taken_ns: int  # when that was

    def unchanged(self) -> bool:
        """Say whether the file is the one that was read: neither written, touched nor replaced.

        Content that is the same again is not enough: what was read in between may not have been.
        """
        try:
            status = self.path.stat()
            if _marks(status) != _marks(self.status):
                return False
            # Clocks of file systems are coarse: a file just written may change without a trace.
            settled = status.st_ctime_ns == self.status.st_ctime_ns < self.taken_ns - COARSE_NS
            return settled or digest(self.path) == self
        except OSError:
            return False


def fingerprint(path: Path) -> Fingerprint:
    """Name a file by what is in it, so that a moved file is the same and a changed one is not."""
    try:
        taken_ns, status = time.time_ns(), path.stat()
        mark = Fingerprint(digest(path))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    mark.path, mark.status, mark.taken_ns = path, status, taken_ns
    return mark


def fingerprints(config: Any) -> Iterator[Fingerprint]:
    """Yield the fingerprints of files in a run's configuration."""
    if isinstance(config, Fingerprint):
        yield config
    elif isinstance(config, Mapping):
        for value in config.values():
            yield from fingerprints(value)
    elif isinstance(config, list | tuple):
        for value in config:
            yield from fingerprints(value)


def _marks(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def items(source: InMemory, reasoning: ReasoningMode = "strip") -> Iterator[Item[Sample]]:
    """Make rows, of a file or in memory, a run's items; in memory, lines are numbers from 1."""
    from heedful.data.formats.memory import rows

    return (_item(row, reasoning) for row in rows(source))


def _item(row: Row, reasoning: ReasoningMode) -> Item[Sample]:
    sample = row.sample
    key = row.id if sample is None else sample.id
    if sample is not None and reasoning == "strip":
        sample = answered(sample)
    return Item(line=row.line, id=key, value=sample, problem=row.problem)


def _records(source: InMemory) -> Iterator[Iterator[Row]]:
    from heedful.data.formats.memory import rows

    return (turns for _, turns in groupby(rows(source), key=lambda row: (row.file, row.line)))


def content(rows: Iterable[Item[Sample]]) -> str:
    """Name rows in memory by what is in them, as :func:`fingerprint` does files."""
    named = hashlib.blake2b(digest_size=16)
    for row in rows:
        try:
            value = "" if row.value is None else encode(row.value)
        except ValueError:  # half a surrogate pair: no JSON, but content all the same
            value = repr(row.value)
        for part in (str(row.id), str(row.problem), value):
            whole = part.encode("utf-8", "backslashreplace")
            named.update(b"%d:" % len(whole))
            named.update(whole)
    return named.hexdigest()


def encode(sample: Sample) -> str:
    """Encode a sample as it is stored."""
    return sample.model_dump_json(exclude_defaults=True)


class OpenedData:
    """The rows of a job's data."""

    def __init__(
        self,
        data: Data,
        reading: ReadingOptions,
        *,
        responses: str | os.PathLike[str] | None = None,
        seed: int = 0,
    ) -> None:
        """Open the data; a sample of the rows is drawn by the seed."""
        task = reading.get("task")
        exclude = reading.get("exclude_generation_failures", False)
        source = open_data(
            data,
            format=format_of(reading),
            responses=responses,
            task=task,
            exclude_generation_failures=exclude,
        )
        self._limit, self._sample = _most(reading)
        self._seed = seed
        self._reasoning = reading.get("reasoning") or "strip"
        if self._reasoning not in get_args(ReasoningMode):
            raise UsageError(f"--reasoning is {self._reasoning!r:.40}", hint="give strip or keep")
        # all of them; a file's are read as they are needed
        self.rows: InMemory
        if source is not None:
            self.rows, said = source, source.said
        else:
            self.rows, said = _in_memory(cast("InMemory", data), format_of(reading))
        # the files that they come from; none for rows in memory
        self.files: list[Path] = list(source.files) if source else []
        self.format: Format | None = source.format if source else None  # the files' format
        chosen = {
            "limit": self._limit,
            "sample": self._sample,
            "seed": seed if self._sample else 0,
            "reasoning": self._reasoning,
            "exclude_generation_failures": exclude,
        }
        common: dict[str, Any] = {"format": self.format and self.format.name, "task": task}
        common |= {name: value for name, value in chosen.items() if value}
        names = [fingerprint(path) for path in self.files] if source else None
        # all that says which rows they are, for the configuration of a run
        self.config: dict[str, Any] = {"input": names, **common}
        # the same in words, for its summary
        self.about: dict[str, Any] = {"input": [str(path) for path in self.files] or None, **common}
        if said:
            self.about["columns"] = said
            logger.info(said)

    @property
    def stem(self) -> str:
        """The name of the first file without its endings."""
        return (self.files[0].absolute().name.partition(".")[0] if self.files else "") or "run"

    def total(self) -> int | None:
        """Count the rows that will be taken, where that costs next to nothing.

        Lines are counted, so it is about right: a blank line isn't a row.
        """
        from heedful.data.formats import Source

        count = None
        if isinstance(self.rows, Source):
            count = self.rows.count()
        elif isinstance(self.rows, Sized):
            count = len(self.rows)
        most = self._limit or self._sample
        return count if count is None or most is None else min(count, most)

    def name(self) -> None:
        """Name rows in memory by their content, so that a run resumes with the same rows only."""
        if self.config["input"] is None:
            self._keep_rows()
            self.config["input"] = [content(self.items())]

    def items(self, wanted: Callable[[int], bool] | None = None) -> Iterator[Item[Sample]]:
        """Give the samples, and the rows that could not be read, in their order.

        The turns of one record stay together. For a sample the source is read twice. Where a row is
        a line, those at other places than the ones wanted are not read, and empty.
        """
        from heedful.data.formats import Source

        if self._limit is None and self._sample is None:
            if isinstance(self.rows, Source):
                self.rows.wanted = wanted
            yield from items(self.rows, self._reasoning)
            return
        chosen: Container[int] = range(self._limit or 0)
        if self._sample is not None:
            self._keep_rows()
            total = sum(1 for _ in _records(self.rows))
            least = min(self._sample, total)
            chosen = frozenset(random.Random(self._seed).sample(range(total), least))
        for number, record in enumerate(_records(self.rows)):
            if number in chosen:
                yield from (_item(row, self._reasoning) for row in record)
            elif self._sample is None:
                return

    def _keep_rows(self) -> None:
        """Keep rows that can be read only once."""
        if isinstance(self.rows, Iterator):
            self.rows = list(self.rows)


def _in_memory(data: InMemory, name: str | None) -> tuple[InMemory, str]:
    """Return rows in memory, in the format that is named or detected, and what was taken for what.

    Rows whose format goes without saying are read as they are needed.
    """
    from heedful.data.formats.memory import opened, rows

    data, reading = opened(data, name)
    if reading is None or not (name or reading.said):
        return data, ""
    return list(rows(data, reading)), reading.said


def _most(reading: ReadingOptions) -> tuple[int | None, int | None]:
    """Read off the options how many rows are taken: the first, or at random."""
    limit, sample = reading.get("limit"), reading.get("sample")
    for name, number in (("limit", limit), ("sample", sample)):
        if number is not None and number < 1:
            raise UsageError(f"--{name} is {number}", hint="give at least 1")
    if limit is not None and sample is not None:
        raise UsageError("--limit and --sample are both given", hint="give one of them")
    return limit, sample
