"""Any table, its columns mapped to heedful's fields: ``question=prompt,answer=response``.

A column may be a path into objects (``meta.question=prompt``), and a field a tag
(``lang=tags.language``). What isn't mapped stays as it is. A checklist may be a list of texts, of
objects in whatever words (``criterion``, ``points``), JSON of either, or one text a line;
``rubric=checklist[;]`` takes texts apart at ``;`` (``[|]`` and ``[1)]`` at those).
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError, UsageError
from heedful.data.formats import columns as usual
from heedful.data.formats import native, table
from heedful.data.formats.base import Format
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Sample

PREFIX = "map:"
"""Begins the name of a format that is a mapping."""

FIELDS = (
    "id",
    "prompt",
    "conversation",
    "images",
    "response",
    "tool_calls",
    "checklist",
    "reference",
    "labels",
    "annotations",
    "judgments",
    "preferred_to",
    "instruction_id",
)
"""Fields that a column can be."""

_TAGS = "tags."
_TEXTS = (
    "text",
    "criterion",
    "requirement",
    "constraint",
    "criterion_description",
    "description",
    "question",
    "point",
    "title",
    "content",
)
_WEIGHTS = ("weight", "points", "criterion_weight")
_TYPES = ("type", "axis", "category")
_MISSING = object()
_MAIN = ("prompt", "conversation", "response", "checklist")
_OWN = frozenset({*native.CONVERSATION_KEYS, *native.CHECKLIST_KEYS, "response"})
_CHECKLIST = frozenset({"checklist", *native.CHECKLIST_KEYS})
_OF_RESULTS = frozenset({"judgments", "recording", "problem"})


def guessed(
    records: Sequence[Mapping[str, Any]], fits: Format | None = None, response: str | None = None
) -> Format | None:
    """Make the format of rows by the usual names of their columns.

    Rows in heedful's own format need it only where one of their fields is called otherwise, or a
    cell of the checklist is a list.
    """
    if fits is not None and any(_OF_RESULTS & record.keys() for record in records):
        return None
    columns = usual.taken(records, response, sure=fits is not None)
    fields = {*map(_bare, columns.values())}
    if (
        not {"prompt", "conversation", "checklist"} & fields
        or not {"response", "checklist"} & fields
    ):
        return None
    called = [name for name, field in columns.items() if field in _MAIN and name not in _OWN]
    if fits is not None and not (called or any(map(_mark, columns.values()))):
        return None
    said = "; ".join(filter(None, (usual.said(columns), usual.repeats(records, columns))))
    return replace(make(PREFIX + usual.mapping(columns)), said=said)


def refined(wanted: Format, records: Sequence[Mapping[str, Any]]) -> Format:
    """Complete a mapping: main fields it doesn't name, and marks of cells that are lists."""
    columns = _columns(wanted.name.removeprefix(PREFIX))
    added = _unnamed(columns, records)
    columns |= added
    column = next((name for name, field in columns.items() if field == "checklist"), None)
    mark = column and usual.mark_of(_value(record, column) for record in records)
    if column and mark and [*columns.values()].count("checklist") == 1:
        added[column] = columns[column] = f"checklist[{mark}]"
    if not added:
        return wanted
    return replace(make(PREFIX + usual.mapping(columns)), said=usual.said(columns))


def _unnamed(columns: Mapping[str, str], records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Find the main fields that a mapping leaves out, by the usual names of their columns."""
    rest = [
        {name: value for name, value in record.items() if name not in columns} for record in records
    ]
    named = {*map(_bare, columns.values())} | {name for record in rest for name in record} & _OWN
    try:
        found = usual.taken(rest)
    except UsageError:  # which column is the response is for the user to say
        return {}
    groups = ({"prompt", "conversation", *native.CONVERSATION_KEYS}, {"response"}, _CHECKLIST)
    return {
        name: field
        for name, field in found.items()
        for group in groups
        if _bare(field) in group and not group & named
    }


def names(wanted: Format, record: Mapping[str, Any]) -> bool:
    """Tell whether a mapping is of a record's own columns."""
    columns = _columns(wanted.name.removeprefix(PREFIX))
    return all(column in record or column.partition(".")[0] in record for column in columns)


def make(name: str) -> Format:
    """Make the format of a mapping by its name, which is :data:`PREFIX` and the mapping."""
    columns = _columns(name.removeprefix(PREFIX))
    return Format(
        name,
        tuple((column.partition(".")[0],) for column in columns if _is_needed(columns[column])),
        partial(_sample, columns),
        lambda _: False,
    )


def _columns(mapping: str) -> dict[str, str]:
    """Read a mapping: the field by the column."""
    columns: dict[str, str] = {}
    for pair in mapping.split(","):
        column, equals, field = (part.strip() for part in pair.partition("="))
        hint = f"write COLUMN=FIELD, with a field of {', '.join(FIELDS)} or {_TAGS}NAME"
        if not (column and equals and field):
            raise UsageError(f"the mapping has {pair.strip()!r}", hint=hint)
        bare, mark = _bare(field), _mark(field)
        known = bare in FIELDS or (bare.startswith(_TAGS) and bare != _TAGS)
        if not known or (mark and (bare != "checklist" or not usual.is_mark(mark))):
            raise UsageError(f"the mapping has no field {field!r}", hint=hint)
        again = bare != "checklist" and bare in map(_bare, columns.values())
        if column in columns or again:
            raise UsageError(f"the mapping has {column if column in columns else field!r} twice")
        columns[column] = field
    return columns


def _bare(field: str) -> str:
    return field.partition("[")[0]


def _mark(field: str) -> str:
    return field.removesuffix("]").partition("[")[2]


def _is_needed(field: str) -> bool:
    return _bare(field) in ("prompt", "conversation", "response", "checklist")


def _sample(columns: Mapping[str, str], record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    heads = {column.partition(".")[0] for column in columns}
    fields = {name: value for name, value in record.items() if name not in {*heads, *FIELDS}}
    tags: dict[str, Any] = {}
    several = sum(_bare(field) == "checklist" for field in columns.values()) > 1
    for column, field in columns.items():
        value = _value(record, column)
        if value is _MISSING:
            if _is_needed(field):
                raise RowError(f"{column} is missing")
        elif field.startswith(_TAGS):
            tags[field.removeprefix(_TAGS)] = value
        elif _bare(field) == "checklist":
            read = _checklist(value, _mark(field))
            before = fields.get("checklist") if several else None
            fields["checklist"] = [*before, *read] if before and isinstance(read, list) else read
        elif field == "response" and isinstance(value, list) and len(value) == 1:
            fields[field] = value[0] if isinstance(value[0], str) else value
        else:
            fields[field] = value
    if tags:
        given = fields.get("tags")
        fields["tags"] = (given if isinstance(given, dict) else {}) | tags
    images = fields.pop("images", None) if "images" in columns.values() else None
    sample = table.sample(fields, number)
    return sample if images is None else _with_images(sample, images)


def _with_images(sample: Sample, images: Any) -> Sample:
    """Put images, addresses or paths, into the user's last turn."""
    urls = [images] if isinstance(images, str) else images
    if not isinstance(urls, list) or not all(isinstance(url, str) for url in urls):
        raise RowError(f"images is {shown(images)}, not addresses or paths")
    turns = [*sample.conversation]
    at = next((at for at in reversed(range(len(turns))) if turns[at].role == "user"), None)
    if at is None:
        raise RowError("there is no user's turn that the images could belong to")
    turns[at] = turns[at].model_copy(update={"images": (*turns[at].images, *urls)})
    return sample.model_copy(update={"conversation": tuple(turns)})


def _value(record: Mapping[str, Any], column: str) -> Any:
    """Return a column: a field of the record, or by a path a field within it."""
    if column in record:
        return record[column]
    value: Any = record
    for part in column.split("."):
        if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return _MISSING
    return value


def _checklist(value: Any, mark: str = "") -> Any:
    """Read a checklist in whatever words it is written."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return usual.listed(value, mark)
    if isinstance(value, str):
        return usual.listed(value, mark)
    if isinstance(value, dict):
        inner = next((each for each in value.values() if isinstance(each, list)), None)
        value = [*value.values()] if inner is None else inner
    if not isinstance(value, list):
        return value
    return [_constraint(item, place) for place, item in enumerate(value)]


def _constraint(item: Any, place: int) -> Any:
    if not isinstance(item, dict):
        return item
    constraint = dict(item)
    for field, names in (("text", _TEXTS), ("weight", _WEIGHTS), ("type", _TYPES)):
        name = next((name for name in names if constraint.get(name) is not None), None)
        if name is not None and field not in constraint:
            constraint[field] = constraint.pop(name)
    if "text" not in constraint:
        keys = shown(", ".join(map(str, item)))
        raise RowError(f"checklist[{place}] has {keys}, and none of {', '.join(_TEXTS)}")
    return constraint
