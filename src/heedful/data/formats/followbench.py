"""FollowBench: instructions that gain a constraint with each level, without a checklist.

Records: ``example_id``, ``category``, ``source``, ``level``, ``instruction`` and ``target``. They
are read for ``heedful respond`` and ``heedful checklist``: what a level adds is only in the wording
of its instruction.
"""

from __future__ import annotations

from typing import Any

from heedful.core.nouns import Message, Sample
from heedful.data.formats import criteria
from heedful.data.formats.base import Format
from heedful.data.formats.fields import optional_text, response_text, row_id, text


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    example = row_id(record, number, "example_id")
    category = optional_text(record, "category") or "all"
    tags = criteria.tags("followbench", record, "category", "level", "model")
    # The levels of one example are one conversation's worth of data.
    tags["conversation_id"] = f"{category}-{example}"
    return Sample(
        id=f"{category}-{example}-{record.get('level', number)}",
        conversation=(Message(role="user", content=text(record, "instruction")),),
        response=response_text(record),
        reference=optional_text(record, "target") or None,
        tags=tags,
    )


FORMAT = Format(
    "followbench",
    (("example_id",), ("level",), ("instruction",)),
    lambda record: "example_id" in record and "level" in record and "instruction" in record,
    sample,
)
