"""Parquet files, row by row, as data sets are exported; needs ``heedful[parquet]``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from heedful.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAGIC = b"PAR1"
"""First bytes of a Parquet file."""

_BATCH = 256


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read a file's rows; values that JSON does not have, such as dates, become text.

    Raises:
        InputError: pyarrow cannot be imported, or the file is damaged.
    """
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
            for batch in file.iter_batches(_BATCH):
                yield from map(_plain, batch.to_pylist())
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"the Parquet file cannot be read: {error}", where=str(path), hint="export it again"
        ) from error


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    try:
        json.dumps(row)
    except TypeError:
        plain: dict[str, Any] = json.loads(json.dumps(row, default=str))
        return plain
    return row
