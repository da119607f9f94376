"""CFBench: prompts with prioritised criteria, and GPT-4o's recorded replies on them.

Records: ``idx``, ``prompt``, ``criteria`` (``[text, 主需|次需, type, subtype]`` each), ``gold``,
``doamin`` (spelled so in the release), ``scenario``, ``source``, ``split``, ``isanswer``; judged
files add ``response``, ``infer_model``, ``judge_response`` and the published scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core import taxonomy
from heedful.core.errors import RowError
from heedful.core.nouns import Constraint, Message, Recording, Sample
from heedful.data.formats.base import Format
from heedful.data.formats.fields import optional_text, response_text, row_id, text
from heedful.data.formats.files import shown
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
    tags = {tag: record[key] for tag, key in _TAGS.items() if _word(record.get(key))}
    reply = optional_text(record, "judge_response")
    ident = row_id(record, number, "idx", "id")
    mapped = {_TAGS[tag] for tag in tags} | {key for key in _TEXTS if _word(record.get(key))}
    return Sample(
        id=f"{tags['model']}/{ident}" if "model" in tags else ident,
        conversation=(Message(role="user", content=text(record, "prompt")),),
        checklist=_checklist(record),
        response=response_text(record),
        reference=optional_text(record, "gold") or None,
        tags={"benchmark": "cfbench"} | tags,
        recording=None if reply is None else Recording(prompt="cfbench", text=reply),
        source={key: value for key, value in record.items() if key not in mapped},
    )


def record(sample: Sample) -> dict[str, Any]:
    """Write the record that a sample was read from, field for field."""
    written = dict(sample.source)
    written |= {key: sample.tags[tag] for tag, key in _TAGS.items() if tag in sample.tags}
    places = (
        sample.conversation[-1].content,
        sample.reference,
        sample.response,
        sample.recording.text if sample.recording else None,
    )
    texts = {key: text for key, text in zip(_TEXTS, places, strict=True) if text}
    return texts | written


def _word(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _checklist(record: Mapping[str, Any]) -> tuple[Constraint, ...]:
    if "criteria" not in record:
        raise RowError("criteria is missing")
    criteria = record["criteria"]
    if not isinstance(criteria, list) or not criteria:
        raise RowError(f"criteria is {shown(criteria)}, not a list of criteria")
    return tuple(_constraint(item, place) for place, item in enumerate(criteria))


def _constraint(item: Any, place: int) -> Constraint:
    """Read ``[text, priority, type, subtype]``; the last three may be missing or empty."""
    if not isinstance(item, list) or not item or not all(isinstance(part, str) for part in item):
        raise RowError(f"criteria[{place}] is {shown(item)}, not [text, priority, type, subtype]")
    words, priority, type_, subtype = (*item, "", "", "")[:4]
    if priority and priority not in PRIORITIES:
        raise RowError(f"criteria[{place}] has the priority {priority!r}, not 主需 or 次需")
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
    lambda record: "criteria" in record and "prompt" in record and "system_prompt" not in record,
    sample,
)
