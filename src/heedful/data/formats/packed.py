"""Parquet and Arrow files (``heedful[parquet]``), Excel workbooks and logs of Inspect, by row."""

from __future__ import annotations

import json
import re
import zlib
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from zipfile import BadZipFile, ZipFile

from heedful.core.errors import InputError
from heedful.data.formats.raw import UNPACKED, Record, plain, refuse_bomb, refuse_twice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Kind: TypeAlias = Literal["parquet", "arrow", "xlsx", "eval"]

PARQUET = b"PAR1"
ARROW = (b"ARROW1", b"\xff\xff\xff\xff")
ZIP = b"PK\x03\x04"
"""First bytes of a Parquet file, of Arrow's, and of a workbook or a log, which are zip files."""

_SAMPLE = re.compile(r"samples/.+_epoch_\d+\.json")
"""A sample in a log of Inspect."""

_BATCH = 16
"""Rows that are held at a time: a value that the file holds once is unpacked for each of them."""


@contextmanager
def _read_by(package: str, extra: str, path: Path) -> Iterator[None]:
    """Explain whatever a package raises when it is imported and reads a file."""
    try:
        yield
    except InputError:
        raise
    except ImportError as error:
        raise InputError(
            f"{package}, which reads this file, cannot be imported ({error})",
            where=str(path),
            hint=f"pip install 'heedful[{extra}]', or export it as CSV or JSON Lines",
        ) from error
    except Exception as error:  # those of zip, XML and Arrow are many
        hint = "export it again, or as CSV or JSON Lines"
        raise InputError(f"the file cannot be read: {error}", where=str(path), hint=hint) from error


def parquet_rows(path: Path) -> Iterator[Record]:
    """Read a file's rows, numbered from 1; values that JSON doesn't have, as dates, become text."""
    with _read_by("pyarrow", "parquet", path):
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            for group in map(file.metadata.row_group, range(file.num_row_groups)):
                for column in map(group.column, range(group.num_columns)):
                    refuse_bomb(path, column.total_compressed_size, column.total_uncompressed_size)
            batches = map(_rows_of, file.iter_batches(_BATCH))
            for number, (row, problem) in enumerate(chain.from_iterable(batches), start=1):
                yield Record(number, row, problem)


def arrow_rows(path: Path) -> Iterator[Record]:
    """Read an Arrow file, such as those in a folder of ``save_to_disk``, or Arrow's stream."""
    with _read_by("pyarrow", "parquet", path):
        import pyarrow as pa

        with pa.memory_map(str(path)) as file:
            stream = file.read(len(ARROW[0])) != ARROW[0]
            file.seek(0)
            reader = pa.ipc.open_stream(file) if stream else pa.ipc.open_file(file)
            batches = reader if stream else map(reader.get_batch, range(reader.num_record_batches))
            parts = (
                batch.slice(at, _BATCH) for batch in batches for at in range(0, len(batch), _BATCH)
            )
            rows = chain.from_iterable(map(_rows_of, parts))
            for number, (row, problem) in enumerate(rows, start=1):
                yield Record(number, row, problem)


def _rows_of(batch: Any) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Read rows together, or one by one where one of them is too long or cannot be read."""
    problem = f"{batch.nbytes:,} bytes, more than {UNPACKED:,}"
    if batch.nbytes <= UNPACKED:
        try:
            yield from [(plain(row), None) for row in batch.to_pylist()]
        except UnicodeDecodeError as error:
            problem = f"invalid UTF-8: {error}"
        except (ValueError, OverflowError) as error:
            problem = f"an impossible value: {error}"
        else:
            return
    if len(batch) == 1:
        yield {}, problem
    else:
        yield from chain.from_iterable(_rows_of(batch.slice(at, 1)) for at in range(len(batch)))


def kind(path: Path, head: bytes, text: bytes) -> Kind | None:
    """Tell which of them a file is, by its first bytes."""
    if text.startswith(PARQUET):
        return "parquet"
    if head.startswith(ARROW):
        return "arrow"
    if head.startswith(ZIP):
        return "xlsx" if is_workbook(path) else "eval" if is_log(path) else None
    return None


def is_workbook(path: Path) -> bool:
    """Tell whether a zip file holds a workbook, whose parts are read whole."""
    try:
        with ZipFile(path) as archive:
            for part in archive.infolist():
                refuse_bomb(path, part.compress_size, part.file_size)
            return "xl/workbook.xml" in archive.namelist()
    except BadZipFile:
        return False


def is_log(path: Path) -> bool:
    """Tell whether a zip file is a log of Inspect AI."""
    try:
        with ZipFile(path) as archive:
            return any(_SAMPLE.fullmatch(name) for name in archive.namelist())
    except BadZipFile:
        return False


def log_rows(path: Path) -> Iterator[Record]:
    """Read a log's samples."""
    with suppress(ImportError):  # comes with Inspect; teaches zipfile how its logs are compressed
        import_module("zipfile_zstd")
    with ZipFile(path) as archive:
        parts = [part for part in archive.infolist() if _SAMPLE.fullmatch(part.filename)]
        for number, part in enumerate(parts, start=1):
            refuse_bomb(path, part.compress_size, part.file_size)
            try:
                row = json.loads(archive.read(part))
            except NotImplementedError as error:  # a compression that Python doesn't know
                hint = "pip install zipfile-zstd, or inspect log convert FILE --to json"
                raise InputError(f"the log: {error}", where=str(path), hint=hint) from error
            except (ValueError, RecursionError, BadZipFile, zlib.error) as error:
                yield Record(number, {}, f"{part.filename} is broken: {error}")
            else:
                yield Record(number, row)


def workbook_rows(path: Path) -> Iterator[Record]:
    """Read the first sheet row by row, its cells by the header.

    Empty cells are empty text, as in CSV; numbers and booleans stay what they are; values that
    JSON does not have, such as dates, become text.
    """
    with _read_by("openpyxl", "xlsx", path):
        from openpyxl import load_workbook

        # Given as a file, since by its name openpyxl would refuse it for another ending.
        with (
            path.open("rb") as file,
            closing(load_workbook(file, read_only=True, data_only=True)) as book,
        ):
            lines = enumerate(book.worksheets[0].iter_rows(values_only=True), start=1)
            first = next(lines, (0, ()))[1]
            header = ["" if cell is None else str(cell).strip() for cell in first]
            refuse_twice(path, header)
            for number, cells in lines:
                size = sum(len(cell) for cell in cells if isinstance(cell, str))
                if size > UNPACKED:
                    yield Record(number, {}, f"{size:,} characters, more than {UNPACKED:,}")
                elif any(cell is not None for cell in cells):
                    yield Record(number, plain(dict(_named(header, cells))))


def _named(header: Sequence[str], cells: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the cells by their columns' names; one outside the named columns goes by its number."""
    for number, (name, cell) in enumerate(zip_longest(header, cells), start=1):
        if name or cell is not None:
            yield name or f"column {number}", "" if cell is None else cell
