"""The native format as CSV or an Excel sheet: one sample a row, cells of text or JSON.

Columns: ``id``; ``prompt``, ``instruction`` or ``conversation`` (JSON); ``response``;
``checklist`` or ``constraints`` (a JSON list, or one constraint a line of the cell);
``reference``; ``labels`` (a JSON list); ``tags`` (a JSON object). An empty cell means that the
row has no such field: CSV cannot tell an empty response from none, so it is none. Other columns
stay as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from heedful.data.formats import native
from heedful.data.formats.base import Format
from heedful.data.formats.columns import listed
from heedful.data.formats.fields import from_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Sample

_JSON_COLUMNS = (
    *("conversation", "messages", "tool_calls", "tags"),
    *("recording", "judgments", "source"),
)
_COLUMNS = (
    "labels",
    *native.CONVERSATION_KEYS,
    *_JSON_COLUMNS,
    *native.CHECKLIST_KEYS,
    "id",
    "response",
    "reference",
)
_MAY_BE_TEXT = ("source", "tags")
"""Columns of JSON objects, in which others write words."""
KINDS = ("csv", "xlsx")
"""Files whose rows are cells under a header."""

_JSON_LIST = re.compile(r'\s*\[\s*["{\]]')
"""Start of a JSON list of constraints; ``[1] be short`` is a constraint."""


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one row."""
    fields: dict[str, Any] = {}
    for column, cell in record.items():
        if column in _COLUMNS and isinstance(cell, str):
            if cell.strip():
                fields[column] = _value(column, cell)
        else:
            fields[column] = cell
    return native.sample(fields, number)


def _value(column: str, cell: str) -> Any:
    if column in _MAY_BE_TEXT and not cell.lstrip().startswith("{"):
        return cell
    if column in _JSON_COLUMNS or (column in native.CHECKLIST_KEYS and _JSON_LIST.match(cell)):
        return from_json(cell, column)
    if column in native.CHECKLIST_KEYS:
        return listed(cell)
    return cell


def _matches(record: Mapping[str, Any]) -> bool:
    cells = record.values()
    return native.FORMAT.fits(record) and not any(isinstance(c, list | dict) for c in cells)


FORMAT = Format("csv", native.FORMAT.needs, sample, _matches)
