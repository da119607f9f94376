"""TRACE: instructions with their constraints, one by one, each with its type.

Records: ``id``, ``messages``, ``constraints_splits`` (the constraints), ``levels2`` (their types),
``constraints`` (all of them as one text) and ``category``; ``response`` and ``labels`` (known
verdicts, in order) where the file has them.
"""

from __future__ import annotations

from typing import Any

from heedful.core.errors import RowError
from heedful.core.nouns import Constraint, Sample
from heedful.core.text import amount
from heedful.data.formats import fields
from heedful.data.formats.base import Format

_MAPPED = ("id", "messages", "constraints_splits", "levels2", "category", "response", "labels")


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    texts = fields.texts(record, "constraints_splits")
    named = record.get("levels2") is not None
    types = fields.texts(record, "levels2") if named else [""] * len(texts)
    if len(types) != len(texts):
        raise RowError(
            f"levels2 has {amount(len(types), 'entry', 'entries')} for "
            f"{amount(len(texts), 'constraint')}"
        )
    return Sample(
        id=fields.row_id(record, number, "id"),
        conversation=fields.messages(record.get("messages"), "messages"),
        checklist=tuple(
            Constraint(text=text, type=type_ or None)
            for text, type_ in zip(texts, types, strict=True)
        ),
        response=fields.response_text(record),
        labels=fields.labels(record.get("labels"), len(texts)),
        tags=fields.tags("trace", record, "category"),
        source=fields.without(record, *_MAPPED),
    )


FORMAT = Format(
    "trace",
    (("messages",), ("constraints_splits",)),
    sample,
)
