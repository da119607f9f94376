"""FollowBench: instructions that gain a constraint with each level, without a checklist.

Records: ``example_id``, ``category``, ``source``, ``level``, ``instruction`` and ``target``. They
are read for ``heedful respond`` and ``heedful checklist``: what a level adds is only in the wording
of its instruction.
"""

from __future__ import annotations

from typing import Any

from heedful.core.nouns import Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    category = fields.optional_text(record, "category") or "all"
    # The levels of one example are one conversation's worth of data.
    example = f"{category}-{fields.row_id(record, number, 'example_id')}"
    return Sample(
        id=f"{example}-{record.get('level', number)}",
        conversation=fields.user(fields.text(record, "instruction")),
        response=fields.response_text(record),
        reference=fields.optional_text(record, "target") or None,
        tags=fields.tags("followbench", record, "category", "level", "model")
        | {"conversation_id": example},
    )


FORMAT = Format("followbench", (("example_id",), ("level",), ("instruction",)), sample)
