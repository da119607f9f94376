"""CFBench: prompts with prioritised criteria, and GPT-4o's recorded replies on them.

Records: ``idx``, ``prompt``, ``criteria`` (``[text, 主需|次需, type, subtype]`` each), ``gold``,
``doamin`` (spelled so in the release), ``scenario``, ``source``, ``split``, ``isanswer``; judged
files add ``response``, ``infer_model``, ``judge_response`` and the published scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core import taxonomy
from heedful.core.errors import RowError
from heedful.core.nouns import Constraint, Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format
from heedful.data.formats.native import PRIORITIES

if TYPE_CHECKING:
    from collections.abc import Mapping

_TAGS = {
    "domain": "doamin",
    "scenario": "scenario",
    "source": "source",
    "split": "split",
    "model": "infer_model",
}
_TEXTS = ("prompt", "gold", "response", "judge_response")


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record; what comes back from elsewhere is left out of ``source``."""
    tags = {tag: record[key] for tag, key in _TAGS.items() if _is_word(record.get(key))}
    ident = fields.row_id(record, number, "idx", "id")
    mapped = [key for key in (*_TAGS.values(), *_TEXTS) if _is_word(record.get(key))]
    return Sample(
        id=f"{tags['model']}/{ident}" if "model" in tags else ident,
        conversation=fields.user(fields.text(record, "prompt")),
        checklist=_checklist(record),
        response=fields.response_text(record),
        reference=fields.optional_text(record, "gold") or None,
        tags={"benchmark": "cfbench"} | tags,
        recording=fields.replied("cfbench", fields.optional_text(record, "judge_response")),
        source=fields.without(record, *mapped),
    )


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _checklist(record: Mapping[str, Any]) -> tuple[Constraint, ...]:
    criteria = record.get("criteria")
    if not isinstance(criteria, list) or not criteria:
        raise fields.wrong("criteria", criteria, "a list of criteria")
    return tuple(_constraint(item, f"criteria[{place}]") for place, item in enumerate(criteria))


def _constraint(item: Any, where: str) -> Constraint:
    """Read ``[text, priority, type, subtype]``; the last three may be missing or empty."""
    if not isinstance(item, list) or not item or not all(isinstance(part, str) for part in item):
        raise fields.wrong(where, item, "[text, priority, type, subtype]")
    words, priority, type_, subtype = (*item, "", "", "")[:4]
    if priority and priority not in PRIORITIES:
        raise RowError(f"{where} has the priority {priority!r}, not 主需 or 次需")
    return Constraint.model_validate(
        {
            "text": words,
            "type": taxonomy.canonical(type_),
            "subtype": taxonomy.canonical(subtype),
            "priority": PRIORITIES.get(priority),
        }
    )


FORMAT = Format(
    "cfbench",
    (("prompt",), ("criteria",)),
    sample,
    # Other people's criteria are texts.
    lambda record: (
        "prompt" in record
        and isinstance(record.get("criteria"), list)
        and all(isinstance(item, list) for item in record["criteria"])
    ),
)
