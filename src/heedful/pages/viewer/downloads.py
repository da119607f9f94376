"""Lists of the viewer as files: CSV for a spreadsheet, JSON lines for a program."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from starlette.requests import Request

KINDS = {"csv": "text/csv", "jsonl": "application/x-ndjson"}
"""The downloads, by the end of the address."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a cell that a spreadsheet would compute."""


def known_kind(request: Request) -> str:
    """Return the kind that an address asks for."""
    kind = str(request.path_params["kind"])
    if kind not in KINDS:
        raise HTTPException(404, f"There are {' and '.join(KINDS)}.")
    return kind


def table_response(records: Sequence[Mapping[str, Any]], name: str) -> Response:
    """Give a short list as a file."""
    columns = list(dict.fromkeys(column for record in records for column in record))
    return file_response(records, columns, name)


def file_response(
    records: Iterable[Mapping[str, Any]], columns: Sequence[str], name: str
) -> Response:
    """Give a list as a file, row by row."""
    kind = name.rpartition(".")[2]
    body = _csv(records, columns) if kind == "csv" else _lines(records)
    quoted = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in name)
    headers = {"content-disposition": f'attachment; filename="{quoted}"'}
    return StreamingResponse(body, media_type=KINDS[kind], headers=headers)


def _lines(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    return (json.dumps(record, ensure_ascii=False, default=str) + "\n" for record in records)


def _csv(records: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    yield "\ufeff"  # else Excel takes UTF-8 for something else
    yield _row(columns)
    for record in records:
        yield _row([_cell(record.get(column)) for column in columns])


def _row(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()


def _cell(value: Any) -> str:
    """Write a value; text that a spreadsheet would take for a formula is kept from it."""
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA) else text
