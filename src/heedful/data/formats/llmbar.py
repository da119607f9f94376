"""LLMBar: two responses to an instruction of which one is better, and what a judge chose.

Records: ``input``, ``output_1``, ``output_2``, ``label`` (1 or 2); in the results of a judge also
``results``, whose last entry holds ``swap = False`` and ``swap = True`` with the ``winner``, mapped
back. Each response becomes a sample; the better one is ``preferred_to`` the other.
"""

from __future__ import annotations

from typing import Any

from heedful.core.nouns import Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format

_HERE = "output"
_ORDERS = {"unswapped": "swap = False", "swapped": "swap = True"}
_WINNERS = {"1": 1, "2": 2, 1: 1, 2: 2}


def turns(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a record into its two responses."""
    return [{**record, _HERE: number} for number in (1, 2)]


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one of the responses."""
    this, label = record[_HERE], record.get("label")
    if label not in (1, 2):
        raise fields.wrong("label", label, "1 or 2")
    item = fields.row_id(record, number, "id")
    read: dict[str, Any] = {
        "id": f"{item}/{this}",
        "instruction_id": item,
        "conversation": fields.user(fields.text(record, "input")),
        "response": fields.response_text(record, f"output_{this}"),
        "tags": {"benchmark": "llmbar"},
        "preferred_to": [f"{item}/{3 - this}"] if label == this else [],
    }
    if this == label and record.get("results"):
        read["choice"] = {"label": label, **_choice(record["results"])}
    return Sample.model_validate(read)


def _choice(results: Any) -> dict[str, int | None]:
    """Read what the judge chose in both orders."""
    return {order: _WINNERS.get(results[-1][name].get("winner")) for order, name in _ORDERS.items()}


FORMAT = Format(
    "llmbar",
    (("output_1",), ("output_2",), ("label",)),
    sample,
    turns=turns,
    follows=False,
)
