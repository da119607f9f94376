"""Rows in memory: samples, records in any format that files may be in, and tables of them.

A table is a ``DataFrame`` of pandas or polars, a ``Table`` of Arrow or a ``Dataset``; none of their
packages is imported here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Protocol, TypeAlias, cast

from heedful.core import rubric
from heedful.core.errors import UsageError
from heedful.core.noun import meant
from heedful.core.nouns import Sample
from heedful.data.formats import native, source
from heedful.data.formats.base import Format, Row
from heedful.data.formats.raw import Record


class Tabular(Protocol):
    """A table: pandas', polars' or Arrow's."""

    @property
    def columns(self) -> Any:
        """Its columns, or their names."""


InMemory: TypeAlias = Iterable[Sample | Mapping[str, Any] | Row] | Tabular
"""Rows in memory."""

_KEYS = frozenset({*native.CONVERSATION_KEYS, *native.CHECKLIST_KEYS})
_WHOLE = ("id", "key", "idx")
_PEEKED = 20
"""Rows by which a table's columns are taken for fields."""


def check_rows(data: object) -> None:
    """Refuse data that holds no rows."""
    if isinstance(data, Sample):
        raise UsageError("the data is one sample", hint="give a list: [sample]")
    if isinstance(data, Mapping):
        if _KEYS & data.keys():
            raise UsageError("the data is one row", hint="give a list: [row]")
        splits = ", ".join(map(repr, list(data)[:5]))
        raise UsageError(
            f"the data is a mapping with {splits}", hint=f"name a split: data[{splits}]"
        )
    table = callable(getattr(data, "to_batches", None))  # Arrow's, which cannot be iterated
    if not (table or isinstance(data, Iterable)) or isinstance(data, bytes | bytearray):
        raise UsageError(
            f"the data is {type(data).__name__} {data!r:.40}",
            hint="give a file's path, a list of samples or dicts, a DataFrame or a Dataset",
        )


def rows(data: InMemory, reading: Format | None = None) -> Iterator[Row]:
    """Yield rows in order, each numbered from 1; a row that cannot be read has a problem.

    Records are in the format that is given, or that the first of them is in.
    """
    check_rows(data)
    for number, item in enumerate(_records(data), 1):
        if isinstance(item, Row):  # of a saved run or a file
            yield item
        elif isinstance(item, Sample):
            named = item if item.id else item.model_copy(update={"id": f"row-{number}"})
            reason = rubric.problem(named.checklist)
            yield Row(number, named if reason is None else None, named.id, reason)
        elif isinstance(item, Mapping):
            record = source.as_read(Record(number, _record(item)), reading)
            reading = reading or _format(record.data)
            yield from source.record_rows(reading, number, record)
        else:
            hint = "give samples, or dicts with prompt, checklist and response"
            raise UsageError(f"item {number} of the data is {item!r:.40}", hint=hint)


def opened(data: InMemory, name: str | None = None) -> tuple[InMemory, Format | None]:
    """Return rows, and the format that is named or that their first ones are in.

    Of rows that come one by one, only the first is looked at.
    """
    reading = None if name is None else source.named(name)
    if isinstance(data, Iterator):
        first = list(islice(data, 1))
        data = chain(first, data)
    else:
        check_rows(data)
        first = list(islice(_records(data), _PEEKED))
    read = [
        source.as_read(Record(number, _record(item)), reading)
        for number, item in enumerate(first, 1)
        if isinstance(item, Mapping)
    ]
    records = [record.data for record in read if record.problem is None]
    if not records:
        return data, reading
    return data, source.by_columns(records, reading or _fitting(records))


def _fitting(records: Sequence[Mapping[str, Any]]) -> Format | None:
    fitting = (
        source.format_of(record, cells=isinstance(record.get("checklist"), str))
        for record in records
    )
    return next((fits for fits in fitting if fits is not None), None)


def _record(item: Mapping[Any, Any]) -> dict[str, Any]:
    record = {str(name): _plain(value) for name, value in item.items()}
    for key in _WHOLE:  # a column with a missing number holds floats
        if isinstance(record.get(key), float) and record[key].is_integer():
            record[key] = int(record[key])
    return record


def _records(data: Any) -> Iterable[Any]:
    """Go through a table row by row; anything else is iterated as it is."""
    if callable(getattr(data, "iter_rows", None)):  # polars
        records: Iterable[Any] = data.iter_rows(named=True)
        return records
    if callable(getattr(data, "to_batches", None)):  # Arrow
        return (record for batch in data.to_batches() for record in batch.to_pylist())
    if callable(getattr(data, "itertuples", None)):  # pandas
        names = [str(name) for name in data.columns]
        cells = data.itertuples(index=False, name=None)
        return (dict(zip(names, values, strict=True)) for values in cells)
    return cast("Iterable[Any]", data)


def _plain(value: Any) -> Any:
    """Convert values of arrays and tables to those of JSON; NaN becomes null."""
    if isinstance(value, str | bool | int | None):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if callable(getattr(value, "model_dump", None)):  # a noun inside a record
        return value.model_dump(exclude_defaults=True)
    if callable(getattr(value, "tolist", None)):  # numpy's
        return _plain(value.tolist())
    absent = type(value).__name__ in {"NAType", "NaTType"}  # pandas'
    return None if absent or (isinstance(value, float) and math.isnan(value)) else value


def _format(record: Mapping[str, Any]) -> Format:
    fits = source.format_of(record, cells=isinstance(record.get("checklist"), str))
    if fits is None:
        meant_names = [field for name in record if (field := meant(Sample, name))]
        hint = "give prompt, checklist and response"
        if meant_names:
            hint = f"did you mean {meant_names[0]!r}?"
        keys = ", ".join(map(repr, record))
        raise UsageError(f"the rows are in no known format; they have {keys}", hint=hint)
    return fits
