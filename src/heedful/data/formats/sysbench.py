"""SysBench: one turn of a conversation under a system prompt, with recorded verdicts.

Records: ``system_id``, ``turn``, ``system_prompt``, ``prompt``, ``criteria``
(``"1. text | 内容约束"`` each), ``verdicts`` (``{"crit": "1. 内容约束", "v": "是"}`` each),
``response``, ``reason``, ``all_ok`` and tags; or the columns of the released workbooks
(``*_analysis.xlsx``), where criteria and verdicts are one a line. Earlier turns are not in the
record.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Constraint, Message, Recording, Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format

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
_RELEASED = {
    "领域": "domain",
    "场景": "scenario",
    "multi_rounds_related": "multi_turn_dependent",
    "round_index": "turn",
    "infer_model": "model",
    "answer": "response",
    "referrence": "reference",
    "评判细则": "criteria",
    "评判理由": "reason",
    "评判结果": "verdicts",
    "是否可用": "all_ok",
}
"""Columns of the released workbooks."""

_TAGS = (
    *("model", "system_id", "turn", "alignment"),
    *("domain", "scenario", "multi_turn_dependent"),
)
_MAPPED = (
    *_TAGS,
    *("system_prompt", "prompt", "response", "reference"),
    *("criteria", "verdicts", "reason", "all_ok"),
)


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    record = _renamed(record)
    # An absent scenario is NaN in the release: no text, no tag.
    tags = {key: record[key] for key in _TAGS if isinstance(record.get(key), str | int)}
    return Sample(
        id=_id(record, number),
        conversation=(
            Message(role="system", content=fields.text(record, "system_prompt")),
            Message(role="user", content=fields.text(record, "prompt")),
        ),
        checklist=_checklist(record),
        response=fields.response_text(record),
        reference=fields.optional_text(record, "reference") or None,
        tags={"benchmark": "sysbench"} | tags,
        recording=_recording(record),
        source=fields.without(record, *_MAPPED),
    )


def _renamed(record: dict[str, Any]) -> dict[str, Any]:
    """Write a row of a released workbook as a record."""
    if "评判细则" not in record:
        return record
    renamed = {_RELEASED.get(name, name): value for name, value in record.items()}
    renamed["criteria"] = _numbered(renamed["criteria"], "评判细则")
    if renamed.get("verdicts"):
        parts = (item.rpartition("|") for item in _numbered(renamed["verdicts"], "评判结果"))
        renamed["verdicts"] = [{"crit": crit.strip(), "v": v.strip()} for crit, _, v in parts]
    if isinstance(renamed.get("all_ok"), int):
        renamed["all_ok"] = bool(renamed["all_ok"])
    return {name: value for name, value in renamed.items() if value != ""}


def _numbered(text: Any, name: str) -> list[str]:
    """Divide a cell into its numbered items, each of which may go over several lines."""
    if not isinstance(text, str):
        raise fields.wrong(name, text, "text")
    items: list[str] = []
    for line in text.split("\n"):
        if line.startswith(f"{len(items) + 1}. ") and (not items or "|" in items[-1]):
            items.append(line)
        elif items:
            items[-1] += f"\n{line}"
        else:
            raise RowError(f"{name} does not begin with 1.")
    return items


def _id(record: Mapping[str, Any], number: int) -> str:
    if any(record.get(key) is None for key in ("system_id", "turn")):
        return fields.row_id(record, number, "id")
    ident = f"{record['system_id']}-{record['turn']}"
    return f"{record['model']}-{ident}" if record.get("model") else ident


def _checklist(record: Mapping[str, Any]) -> tuple[Constraint, ...]:
    criteria = fields.texts(record, "criteria")
    if not criteria:
        raise RowError("criteria is empty")
    checklist = []
    for place, item in enumerate(criteria, start=1):
        match = _CRITERION.fullmatch(item)
        if match is None or int(match["number"] or place) != place:
            raise fields.wrong(f"criterion {place}", item, f"numbered {place}")
        text, bar, kind = match["text"].rpartition("|")
        text, kind = (text.rstrip(), kind.strip()) if bar else (match["text"], "")
        checklist.append(Constraint(text=text, type=_TYPES.get(kind, kind) or None))
    return tuple(checklist)


def _recording(record: Mapping[str, Any]) -> Recording | None:
    if record.get("verdicts") is None:
        return None
    return Recording(
        prompt="sysbench",
        text=fields.optional_text(record, "reason"),
        verdicts=tuple(fields.objects(record, "verdicts")),
        declared={"all_ok": record["all_ok"]} if "all_ok" in record else {},
    )


FORMAT = Format(
    "sysbench",
    (("system_prompt",), ("prompt",), ("criteria", "评判细则")),
    sample,
)
