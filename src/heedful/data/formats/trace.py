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
from heedful.data.formats.base import Format
from heedful.data.formats.fields import messages, optional_text, response_text, row_id
from heedful.data.formats.files import shown

_WORDS = {"是": True, "否": False}
_MAPPED = ("id", "messages", "constraints_splits", "levels2", "category", "response", "labels")


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    category = optional_text(record, "category")
    texts = _texts(record, "constraints_splits")
    types = _texts(record, "levels2") if record.get("levels2") is not None else [""] * len(texts)
    if len(types) != len(texts):
        raise RowError(
            f"levels2 has {amount(len(types), 'entry', 'entries')} for "
            f"{amount(len(texts), 'constraint')}"
        )
    return Sample(
        id=row_id(record, number, "id"),
        conversation=messages(record.get("messages"), "messages"),
        checklist=tuple(
            Constraint(text=text, type=type_ or None)
            for text, type_ in zip(texts, types, strict=True)
        ),
        response=response_text(record),
        labels=_labels(record.get("labels"), len(texts)),
        tags={"benchmark": "trace", **({"category": category} if category else {})},
        source={key: value for key, value in record.items() if key not in _MAPPED},
    )


def _labels(labels: Any, count: int) -> tuple[bool | None, ...] | None:
    """Read labels: true, false, 1, 0, 是 or 否; null where there is none."""
    if labels is None:
        return None
    if not isinstance(labels, list) or len(labels) != count:
        raise RowError(f"labels is {shown(labels)}; give one for each of {count} constraints")
    read = []
    for label in labels:
        if label is not None and label not in (0, 1, *_WORDS):
            raise RowError(f"a label is {shown(label)}, not true, false or null")
        read.append(_WORDS.get(label, label) if isinstance(label, str) else label)
    return tuple(None if label is None else bool(label) for label in read)


def _texts(record: dict[str, Any], key: str) -> list[str]:
    value = record.get(key)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise RowError(f"{key} is {shown(value)}, not a list of texts")
    return value


FORMAT = Format(
    "trace",
    (("messages",), ("constraints_splits",)),
    lambda record: "constraints_splits" in record,
    sample,
)
