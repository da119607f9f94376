"""A table of judgments as ``heedful export`` writes it, perhaps with labels filled in.

Each row is one judgment: ``id`` and ``constraint`` (the sample, the constraint's number), ``text``,
``status``, ``explanation``, ``label``. It holds no responses, so its verdicts are those recorded.
"""

from __future__ import annotations

from typing import Any

from heedful.core.nouns import Constraint, Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format

_CONSTRAINT = ("type", "subtype", "priority")
_TAG = "tags."


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one judgment."""
    item = fields.row_id(record, number, "id")
    of_run = "/".join(str(record[name]) for name in ("run", "id", "constraint") if record.get(name))
    told = {name: record[name] for name in _CONSTRAINT if record.get(name)}
    labels = fields.listed_labels(record.get("label"))
    return Sample(
        id=of_run or item,
        conversation=(),
        instruction_id=item,
        checklist=(Constraint(text=fields.text(record, "text"), **told),),
        labels=fields.labels(labels or [None], 1, "label"),  # else the recording is the label
        recording=fields.recorded(
            "exported",
            [{"status": record["status"], "explanation": record.get("explanation") or ""}],
        ),
        tags={
            name.removeprefix(_TAG): value
            for name, value in record.items()
            if (name.startswith(_TAG) or name == "run") and value
        },
    )


FORMAT = Format(
    "exported",
    (("run",), ("id",), ("constraint",), ("text",), ("status",), ("explanation",), ("label",)),
    sample,
)
