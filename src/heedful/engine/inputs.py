"""How data comes into a run: opened, named by its content, row by row."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from heedful.core import rubric
from heedful.core.errors import InputError, UsageError
from heedful.core.nouns import Sample
from heedful.engine.options import RunOptions, refuse_unknown
from heedful.engine.runner import Item

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from heedful.data.formats import Row, Source

__all__ = [
    "DataOptions",
    "ReadingOptions",
    "default_run",
    "encode",
    "fingerprint",
    "items",
    "open_data",
    "split_options",
    "unnamed",
]

COARSE_NS = 2_000_000_000
"""The coarsest clock of a file system, in nanoseconds: FAT's."""


class DataOptions(RunOptions, total=False):
    """Options of jobs over a data set: how it is read, and how the job is run.

    Attributes:
        format: the format's name; detected from the file by default.
        task: keep only this task's rows (AdvancedIF).
        exclude_generation_failures: leave out rows that say that no response was generated; they
            are neither judged nor counted.
    """

    format: str | None
    task: str | None
    exclude_generation_failures: bool


class ReadingOptions(TypedDict, total=False):
    """The part of :class:`DataOptions` that says how data is read."""

    format: str | None
    task: str | None
    exclude_generation_failures: bool


def split_options(options: DataOptions) -> tuple[ReadingOptions, RunOptions]:
    """Part the options of a job into how its data is read and how it is run.

    Raises:
        UsageError: there is no such option.
    """
    refuse_unknown(options, DataOptions)
    reading = {
        name: value for name, value in options.items() if name in ReadingOptions.__annotations__
    }
    running = {name: value for name, value in options.items() if name not in reading}
    return cast("ReadingOptions", reading), cast("RunOptions", running)


RUNS = Path("heedful-runs")
"""Where runs go that are not named."""


def default_run(
    data: str | os.PathLike[str], responses: str | os.PathLike[str] | None, *options: object
) -> Path:
    """Name a run that the user has not named, after the content of its input and its options.

    The same command on the same content finds the same run again; anything else makes another.
    """
    files = [Path(path) for path in (data, responses) if path is not None]
    # A file that is missing is refused with a better message when it is opened.
    contents = [fingerprint(path) for path in files if path.is_file()]
    return unnamed(files[0].stem, *contents, *map(str, options))


def unnamed(stem: str, *options: Any) -> Path:
    """Name a run that the user has not named, after all that tells it from others, as JSON."""
    digest = hashlib.blake2b(json.dumps(options).encode(), digest_size=4).hexdigest()
    return RUNS / f"{stem}-{digest}"


def open_data(
    data: str | os.PathLike[str] | Iterable[object],
    format_name: str | None,
    responses: str | os.PathLike[str] | None,
    task: str | None,
    *,
    exclude_generation_failures: bool = False,
) -> Source | None:
    """Open a file; samples in memory have no source.

    Raises:
        InputError: the file is missing, empty or in no known format.
        UsageError: samples are given with options that are a file's.
    """
    if not isinstance(data, str | os.PathLike):
        if responses or format_name or task or exclude_generation_failures:
            raise UsageError(
                "responses, format, task and exclude_generation_failures go with a file"
            )
        return None
    from heedful.data import formats

    return formats.open_source(
        Path(data),
        format=format_name,
        responses=None if responses is None else Path(responses),
        task=task,
        exclude_generation_failures=exclude_generation_failures,
    )


class Fingerprint(str):
    """A file's name by its content, which also knows how to see that the file has changed.

    Attributes:
        path: the file.
        status: as the operating system had it before it was read.
        taken_ns: when that was.
    """

    __slots__ = ("path", "status", "taken_ns")

    path: Path
    status: os.stat_result
    taken_ns: int

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
            return settled or _digest(self.path) == self
        except OSError:
            return False


def fingerprint(path: Path) -> Fingerprint:
    """Name a file by what is in it, so that a moved file is the same and a changed one is not."""
    try:
        taken_ns, status = time.time_ns(), path.stat()
        mark = Fingerprint(_digest(path))
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


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]


def _marks(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def items(source: Iterable[Row | Sample]) -> Iterator[Item[Sample]]:
    """Make rows or samples a run's items; a sample's line is its number, from 1.

    A sample whose rubric makes no sense is an item that cannot be read.
    """
    for number, row in enumerate(source, 1):
        if isinstance(row, Sample):
            reason = rubric.problem(row.checklist)
            value = row if reason is None else None
            yield Item(line=number, id=row.id, value=value, problem=reason)
        else:
            key = row.id if row.sample is None else row.sample.id
            yield Item(line=row.line, id=key, value=row.sample, problem=row.problem)


def encode(sample: Sample) -> str:
    """Encode a sample as it is stored."""
    return sample.model_dump_json(exclude_defaults=True)
