"""IF-RewardBench: responses to one instruction with labels, critiques, and which is better.

Records: ``id``, ``instruction_type``, ``messages``, ``checklist`` (texts), ``constraint_type``
(``constraint_categories`` of each), ``responses`` (``response_id``, ``response``, ``labels``; in
result files ``critique``) and ``preference_graph`` (``chosen`` and ``rejected``, each with its
``response_id``). Each response becomes a sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Constraint, Recording, Sample
from heedful.core.text import amount
from heedful.data.formats.base import Format
from heedful.data.formats.fields import messages, optional_text, response_text, row_id
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

_HERE = "place"


def turns(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a record into the responses to its instruction."""
    listed = record.get("responses")
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise RowError(f"responses is {shown(listed)}, not a list of objects")
    return [{**record, _HERE: place} for place in range(len(listed))]


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one response."""
    response = record["responses"][record[_HERE]]
    item = row_id(record, number, "id")
    name = row_id(response, record[_HERE], "response_id")
    checklist = _checklist(record)
    kind = optional_text(record, "instruction_type")
    critique = optional_text(response, "critique")
    return Sample.model_validate(
        {
            "id": f"{item}/{name}",
            "instruction_id": item,
            "conversation": messages(record.get("messages"), "messages"),
            "checklist": checklist,
            "response": response_text(response),
            "labels": _labels(response.get("labels"), len(checklist)),
            "preferred_to": [f"{item}/{other}" for other in _worse(record, name)],
            "tags": {"benchmark": "if_rewardbench", **({"task": kind} if kind else {})},
            "recording": (
                None if critique is None else Recording(prompt="if_rewardbench", text=critique)
            ),
        }
    )


def _checklist(record: Mapping[str, Any]) -> tuple[Constraint, ...]:
    texts = record.get("checklist")
    if not isinstance(texts, list) or not all(isinstance(item, str) for item in texts):
        raise RowError(f"checklist is {shown(texts)}, not a list of texts")
    listed = record.get("constraint_type")
    types = [_category(item) for item in listed] if isinstance(listed, list) else []
    types += [None] * (len(texts) - len(types))
    return tuple(
        Constraint(text=words, type=kind) for words, kind in zip(texts, types, strict=False)
    )


def _category(item: Any) -> str | None:
    """Return the first category of an item, by which breakdowns go."""
    named = item.get("constraint_categories") if isinstance(item, dict) else None
    if isinstance(named, list):
        named = named[0] if named else None
    return named if isinstance(named, str) else None


def _labels(labels: Any, count: int) -> list[bool] | None:
    if labels is None:
        return None
    if not isinstance(labels, list) or not all(label in (0, 1) for label in labels):
        raise RowError(f"labels is {shown(labels)}, not a list of 0 and 1")
    if len(labels) != count:
        raise RowError(f"{amount(len(labels), 'label')} for {amount(count, 'constraint')}")
    return [bool(label) for label in labels]


def _worse(record: Mapping[str, Any], name: str) -> list[str]:
    """Name the responses that this one is preferred to."""
    edges = record.get("preference_graph")
    if edges is None:
        return []
    try:
        named = [
            (str(edge["chosen"]["response_id"]), str(edge["rejected"]["response_id"]))
            for edge in edges
        ]
    except (TypeError, KeyError) as error:
        raise RowError("preference_graph isn't a list of chosen and rejected") from error
    return [rejected for chosen, rejected in named if chosen == name]


FORMAT = Format(
    "if_rewardbench",
    (("responses",), ("checklist",), ("messages",)),
    lambda record: "preference_graph" in record and "responses" in record,
    sample,
    turns=turns,
    follows=False,
)
