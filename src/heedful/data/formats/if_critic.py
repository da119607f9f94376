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
    words = fields.optional_text(record, "checklist")
    struct = record.get("checklist_struct")
    if words is None and struct is None:
        raise RowError("checklist is missing; give checklist or checklist_struct")
    listed = None if struct is None else _from_struct(record)
    if words is None:
        return listed or []
    try:
        parsed = parse_checklist(words)
    except InputError as error:
        raise RowError(f"checklist does not parse: {error.what}") from error
    if listed is not None and [item.strip() for item in listed] != parsed:
        raise RowError("checklist and checklist_struct disagree; correct or drop one of them")
    return parsed


def _from_struct(record: Mapping[str, Any]) -> list[str]:
    struct = fields.objects(record, "checklist_struct")
    for place, item in enumerate(struct, start=1):
        if str(item.get("编号", place)) != str(place):
            raise RowError(f"item {place} of checklist_struct has 编号 {item['编号']}")
    return [fields.text(item, "要求") for item in struct]


def _matches(record: Mapping[str, Any]) -> bool:
    checklist = record.get("checklist")
    marked = isinstance(checklist, str) and "[要求" in checklist
    return "instruction" in record and (marked or "checklist_struct" in record)


FORMAT = Format(
    "if-critic", (("instruction",), ("checklist", "checklist_struct")), sample, _matches
)
