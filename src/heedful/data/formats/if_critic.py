"""IF-Critic's data: instructions, checklists between markers, and critiques of one pass.

Records: ``instruction``, ``checklist`` (text with markers) and/or ``checklist_struct``
(``[{"编号": "1", "要求": "…"}]``); ``response``; ``final_critique`` (the expert's) or ``critique``;
``generated_critique_0`` … (sampled ones).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from heedful.core.errors import InputError, RowError
from heedful.core.if_critic_blocks import parse_checklist
from heedful.core.nouns import Constraint, Recording, Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format

if TYPE_CHECKING:
    from collections.abc import Mapping

_SAMPLED = re.compile(r"generated_critique_(\d+)")


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    critiques = _critique_fields(record)
    return Sample(
        id=fields.row_id(record, number, "id"),
        conversation=fields.user(fields.text(record, "instruction")),
        checklist=tuple(Constraint(text=words) for words in _checklist(record)),
        response=fields.response_text(record),
        tags={"benchmark": "if-critic"},
        recording=_recording(record, critiques),
        source=fields.without(record, "instruction", "response", *critiques),
    )


def _critique_fields(record: Mapping[str, Any]) -> list[str]:
    """Name the fields with critiques: the final one first, then the sampled ones in their order."""
    sampled = [(int(m[1]), key) for key in record if (m := _SAMPLED.fullmatch(key))]
    final = [key for key in ("final_critique", "critique") if record.get(key)][:1]
    return final + [key for _, key in sorted(sampled) if record[key]]


def _recording(record: Mapping[str, Any], critiques: list[str]) -> Recording | None:
    if not critiques:
        return None
    texts = [fields.text(record, field) for field in critiques]
    final = None if _SAMPLED.fullmatch(critiques[0]) else texts.pop(0)
    return Recording(prompt="if_critic", text=final, others=tuple(texts))


def _checklist(record: Mapping[str, Any]) -> list[str]:
    if not record.get("checklist") and record.get("checklist_struct"):
        items = fields.objects(record, "checklist_struct")
        return [fields.text(item, "要求") for item in items]
    try:
        return parse_checklist(fields.text(record, "checklist"))
    except InputError as error:
        raise RowError(f"checklist does not parse: {error.what}") from error


def _matches(record: Mapping[str, Any]) -> bool:
    checklist = record.get("checklist")
    marked = isinstance(checklist, str) and "[要求" in checklist
    return "instruction" in record and (marked or "checklist_struct" in record)


FORMAT = Format(
    "if-critic", (("instruction",), ("checklist", "checklist_struct")), sample, _matches
)
