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


def rows(path: Path) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Read a file's rows; values that JSON does not have, such as dates, become text."""
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
                yield from _read(batch)
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"the Parquet file cannot be read: {error}", where=str(path), hint="export it again"
        ) from error


def _read(batch: Any) -> list[tuple[dict[str, Any], str | None]]:
    """Read rows together, or one by one where one of them cannot be read."""
    try:
        return [(_plain(row), None) for row in batch.to_pylist()]
    except (ValueError, OverflowError) as error:
        if len(batch) == 1:
            text = isinstance(error, UnicodeDecodeError)
            return [({}, f"{'invalid UTF-8' if text else 'an impossible value'}: {error}")]
    return [row for at in range(len(batch)) for row in _read(batch.slice(at, 1))]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    try:
        json.dumps(row)
    except TypeError:
        plain: dict[str, Any] = json.loads(json.dumps(row, default=str))
        return plain
    return row
