"""Hints for a file that is in no known format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.noun import meant
from heedful.core.nouns import Sample
from heedful.data.formats import table
from heedful.data.formats.files import kind

if TYPE_CHECKING:
    from pathlib import Path

    from heedful.data.formats.raw import Record


def hint(path: Path, record: Record) -> str:
    """Say what would make the file readable, by its first record."""
    data = record.data
    rows = [key for key, value in data.items() if isinstance(value, list) and value]
    if len(data) == 1 and rows and isinstance(data[rows[0]][0], dict):
        return f"the rows lie under {rows[0]!r}: jq '.{rows[0]}' FILE takes them out"
    if kind(path) in table.KINDS and len(data) == 1 and "|" in next(iter(data)):
        return "the cells are separated by bars: save the table with commas"
    mapped = {
        name: field for name in data for field in [meant(Sample, name)] if field and field != name
    }
    if mapped:
        pairs = ",".join(f"{name}={field}" for name, field in mapped.items())
        return f"say what they are: --map {pairs}"
    if kind(path) in table.KINDS:
        return (
            "CSV needs a header row with prompt, checklist and response, and commas between cells"
        )
    return "give each row prompt, checklist and response"
