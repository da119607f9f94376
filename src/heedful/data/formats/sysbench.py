"""SysBench: one turn of a conversation under a system prompt, with recorded verdicts.

Records: ``system_id``, ``turn``, ``system_prompt``, ``prompt``, ``criteria``
(``"1. text | 内容约束"`` each), ``verdicts`` (``{"crit": "1. 内容约束", "v": "是"}`` each),
``response``, ``reason``, ``all_ok`` and tags. Earlier turns are not in the record.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Constraint, Message, Recording, Sample
from heedful.data.formats.base import Format, optional_text, response_text, row_id, text
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

_TYPES = {
    "动作约束": "action",
    "内容约束": "content",
    "背景约束": "background",
    "角色约束": "role",
    "格式约束": "format",
    "风格约束": "style",
}
"""SysBench's own names; its taxonomy is not CFBench's."""
_CRITERION = re.compile(r"(?:(?P<number>\d+)\.\s*+)?(?P<text>.*)", re.DOTALL)
_TAGS = (
    "model",
    "system_id",
    "turn",
    "alignment",
    "domain",
    "scenario",
    "multi_turn_dependent",
)
_MAPPED = (
    *_TAGS,
    "system_prompt",
    "prompt",
    "response",
    "criteria",
    "verdicts",
    "reason",
    "all_ok",
)


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record.

    Raises:
        RowError: a field is missing or of the wrong type.
    """
    # An absent scenario is NaN in the release: no text, no tag.
    tags = {key: record[key] for key in _TAGS if isinstance(record.get(key), str | int)}
    return Sample(
        id=_id(record, number),
        conversation=(
            Message(role="system", content=text(record, "system_prompt")),
            Message(role="user", content=text(record, "prompt")),
        ),
        checklist=_checklist(record),
        response=response_text(record),
        tags={"benchmark": "sysbench"} | tags,
        recording=_recording(record),
        source={key: value for key, value in record.items() if key not in _MAPPED},
    )


def _id(record: Mapping[str, Any], number: int) -> str:
    if any(record.get(key) is None for key in ("system_id", "turn")):
        return row_id(record, number, "id")
    ident = f"{record['system_id']}-{record['turn']}"
    return f"{record['model']}-{ident}" if record.get("model") else ident


def _checklist(record: Mapping[str, Any]) -> tuple[Constraint, ...]:
    criteria = record.get("criteria")
    if not isinstance(criteria, list) or not criteria:
        raise RowError(f"criteria is {shown(criteria)}, not a list of criteria")
    checklist = []
    for place, item in enumerate(criteria):
        match = _CRITERION.fullmatch(item) if isinstance(item, str) else None
        if match is None:
            raise RowError(f"criteria[{place}] is {shown(item)}, not text")
        if match["number"] and int(match["number"]) != place + 1:
            raise RowError(f"criteria[{place}] has the number {match['number']}, not {place + 1}")
        text, bar, kind = match["text"].rpartition("|")
        text, kind = (text.rstrip(), kind.strip()) if bar else (match["text"], "")
        checklist.append(Constraint(text=text, type=_TYPES.get(kind, kind) or None))
    return tuple(checklist)


def _recording(record: Mapping[str, Any]) -> Recording | None:
    verdicts = record.get("verdicts")
    if verdicts is None:
        return None
    if not isinstance(verdicts, list) or not all(isinstance(item, dict) for item in verdicts):
        raise RowError(f"verdicts is {shown(verdicts)}, not a list of objects with crit and v")
    return Recording(
        prompt="sysbench",
        text=optional_text(record, "reason"),
        verdicts=tuple(verdicts),
        declared={"all_ok": record["all_ok"]} if "all_ok" in record else {},
    )


FORMAT = Format(
    "sysbench",
    (("system_prompt",), ("prompt",), ("criteria",)),
    lambda record: "criteria" in record and "system_prompt" in record,
    sample,
)
