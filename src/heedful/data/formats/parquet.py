"""Parquet files, row by row, as data sets are exported; needs ``heedful[parquet]``."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from heedful.core.errors import InputError
from heedful.data.formats.raw import UNPACKED, Record, plain, refuse_bomb

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAGIC = b"PAR1"
"""First bytes of a Parquet file."""

_BATCH = 16
"""Rows that are held at a time: a value that the file holds once is unpacked for each of them."""


def rows(path: Path) -> Iterator[Record]:
    """Read a file's rows, numbered from 1; values that JSON doesn't have, as dates, become text."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise InputError(
            f"this is a Parquet file, and pyarrow, which reads it, cannot be imported ({error})",
            where=str(path),
            hint="pip install 'heedful[parquet]', or export it as JSON Lines",
        ) from error
    try:
        with pq.ParquetFile(path) as file:
            for group in map(file.metadata.row_group, range(file.num_row_groups)):
                for column in map(group.column, range(group.num_columns)):
                    refuse_bomb(path, column.total_compressed_size, column.total_uncompressed_size)
            batches = map(_read, file.iter_batches(_BATCH))
            for number, (row, problem) in enumerate(chain.from_iterable(batches), start=1):
                yield Record(number, row, problem)
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"the Parquet file cannot be read: {error}", where=str(path), hint="export it again"
        ) from error


def _read(batch: Any) -> Iterator[tuple[dict[str, Any], str | None]]:
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
        yield from chain.from_iterable(_read(batch.slice(at, 1)) for at in range(len(batch)))
