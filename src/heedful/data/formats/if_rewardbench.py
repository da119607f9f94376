"""IF-RewardBench: responses to one instruction with labels, critiques, and which is better.

Records: ``id``, ``instruction_type``, ``messages``, ``checklist`` (texts), ``constraint_type``
(``constraint_categories`` of each), ``responses`` (``response_id``, ``response``, ``labels``; in
result files ``critique``) and ``preference_graph`` (``chosen`` and ``rejected``, each with its
``response_id``). Each response becomes a sample. Results of the pairwise part have
``pairwise_evaluation_results``: by the places of two responses, ``0_1``, what the judge said of
them in that order; a sample is ``compared_to`` those that were shown after it.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Constraint, Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format

if TYPE_CHECKING:
    from collections.abc import Mapping

_HERE = "place"


def turns(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a record into the responses to its instruction."""
    listed = fields.objects(record, "responses")
    return [{**record, _HERE: place} for place in range(len(listed))]


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one response."""
    response = record["responses"][record[_HERE]]
    item = fields.row_id(record, number, "id")
    name = fields.row_id(response, record[_HERE], "response_id")
    checklist = _checklist(record)
    compared = _compared(record, item)
    return Sample.model_validate(
        {
            "id": f"{item}/{name}",
            "instruction_id": item,
            "conversation": fields.messages(record.get("messages"), "messages"),
            "checklist": checklist,
            "response": fields.response_text(response),
            "labels": fields.labels(response.get("labels"), len(checklist)),
            "preferred_to": [f"{item}/{other}" for other in _worse(record, name)],
            "tags": fields.tags("if_rewardbench", record, task="instruction_type"),
            "recording": fields.replied(
                "if_rewardbench", fields.optional_text(response, "critique")
            ),
        }
        | ({"compared_to": compared} if compared else {})
    )


def _checklist(record: Mapping[str, Any]) -> tuple[Constraint, ...]:
    """Read the checklist; breakdowns go by the first category of each constraint."""
    texts = fields.texts(record, "checklist")
    listed = record.get("constraint_type")
    types = [
        fields.first_text(item.get("constraint_categories")) if isinstance(item, dict) else None
        for item in (listed if isinstance(listed, list) else [])
    ]
    pairs = zip_longest(texts, types[: len(texts)])
    return tuple(Constraint(text=words, type=kind) for words, kind in pairs)


def _worse(record: Mapping[str, Any], name: str) -> list[str]:
    """Name the responses that this one is preferred to."""
    return [
        str(edge["rejected"]["response_id"])
        for edge in record.get("preference_graph") or []
        if str(edge["chosen"]["response_id"]) == name
    ]


def _compared(record: Mapping[str, Any], item: str) -> dict[str, bool | None]:
    """Say of the responses shown after this one whether the judge preferred this one to them."""
    said = record.get("pairwise_evaluation_results") or {}
    if not isinstance(said, dict):
        raise fields.wrong("pairwise_evaluation_results", said, "an object")
    here = record[_HERE]
    found = {}
    for place, other in enumerate(record["responses"]):
        reply = said.get(f"{here}_{place}")
        if isinstance(reply, str) and place != here:
            first, second = "[[A]]" in reply, "[[B]]" in reply
            name = fields.row_id(other, place, "response_id")
            found[f"{item}/{name}"] = first if first != second else None
    return found


FORMAT = Format(
    "if_rewardbench",
    (("responses",), ("checklist",), ("messages",)),
    sample,
    lambda record: "preference_graph" in record and "responses" in record,
    turns=turns,
    follows=False,
)
