"""IF-Critic's data: instructions, checklists between markers, and critiques of one pass.

Records: ``instruction``, ``checklist`` (text with markers) and/or ``checklist_struct``
(``[{"编号": "1", "要求": "…"}]``); ``response``; ``final_critique`` (the expert's) or ``critique``;
``generated_critique_0`` … (sampled ones).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from heedful.core.errors import InputError, RowError
from heedful.core.nouns import Constraint, Message, Recording, Sample
from heedful.data.formats.base import Format
from heedful.data.formats.fields import optional_text, response_text, row_id, text
from heedful.data.formats.files import shown
from heedful.data.formats.if_critic_blocks import parse_checklist

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FORMAT", "record", "sample"]

_SAMPLED = re.compile(r"generated_critique_(\d+)")


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record; what comes back from elsewhere is left out of ``source``.

    The recording has an extra field ``fields``: where its texts were in the record.
    """
    critiques = _critique_fields(record)
    mapped = {"instruction", *critiques}
    if isinstance(record.get("response"), str):  # else it is written back as it came
        mapped.add("response")
    return Sample(
        id=row_id(record, number, "id"),
        conversation=(Message(role="user", content=text(record, "instruction")),),
        checklist=tuple(Constraint(text=words) for words in _checklist(record)),
        response=response_text(record),
        tags={"benchmark": "if-critic"},
        recording=_recording(record, critiques),
        source={key: value for key, value in record.items() if key not in mapped},
    )


def record(sample: Sample) -> dict[str, Any]:
    """Write the record that a sample was read from, field for field."""
    written = dict(sample.source) | {"instruction": sample.conversation[-1].content}
    if sample.response is not None and "response" not in written:
        written["response"] = sample.response
    if sample.recording is not None:
        texts = [text for text in (sample.recording.text, *sample.recording.others) if text]
        fields = (sample.recording.model_extra or {}).get("fields", ())
        written |= dict(zip(fields, texts, strict=True))
    return written


def _critique_fields(record: Mapping[str, Any]) -> list[str]:
    """Name the fields with critiques: the final one first, then the sampled ones in their order."""
    sampled = [(int(m[1]), key) for key in record if (m := _SAMPLED.fullmatch(key))]
    final = [key for key in ("final_critique", "critique") if record.get(key)][:1]
    return final + [key for _, key in sorted(sampled) if record[key]]


def _recording(record: Mapping[str, Any], fields: list[str]) -> Recording | None:
    if not fields:
        return None
    texts = [text(record, field) for field in fields]
    final = None if _SAMPLED.fullmatch(fields[0]) else texts.pop(0)
    return Recording.model_validate(
        {"prompt": "if_critic", "text": final, "others": texts, "fields": fields}
    )


def _checklist(record: Mapping[str, Any]) -> list[str]:
    words = optional_text(record, "checklist")
    struct = record.get("checklist_struct")
    if words is None and struct is None:
        raise RowError("checklist is missing; give checklist or checklist_struct")
    listed = None if struct is None else _from_struct(struct)
    if words is None:
        return listed or []
    try:
        parsed = parse_checklist(words)
    except InputError as error:
        raise RowError(f"checklist does not parse: {error.what}") from error
    if listed is not None and [item.strip() for item in listed] != parsed:
        raise RowError("checklist and checklist_struct disagree; correct or drop one of them")
    return parsed


def _from_struct(struct: Any) -> list[str]:
    if not isinstance(struct, list) or not struct:
        raise RowError(f"checklist_struct is {shown(struct)}, not a list of constraints")
    for place, item in enumerate(struct):
        if not isinstance(item, dict) or not isinstance(item.get("要求"), str):
            raise RowError(f"checklist_struct[{place}] has no text 要求")
        if str(item.get("编号", place + 1)) != str(place + 1):
            raise RowError(f"checklist_struct[{place}] has 编号 {item['编号']}, not {place + 1}")
    return [item["要求"] for item in struct]


def _matches(record: Mapping[str, Any]) -> bool:
    checklist = record.get("checklist")
    marked = isinstance(checklist, str) and "[要求" in checklist
    return "instruction" in record and (marked or "checklist_struct" in record)


FORMAT = Format(
    "if-critic",
    (("instruction",), ("checklist", "checklist_struct")),
    _matches,
    sample,
)
