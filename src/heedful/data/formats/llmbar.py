"""LLMBar: two responses to an instruction of which one is better, and what a judge chose.

Records: ``input``, ``output_1``, ``output_2``, ``label`` (1 or 2); in the results of a judge also
``results``, whose last entry holds ``swap = False`` and ``swap = True`` with the ``winner``, mapped
back. Each response becomes a sample; the better one is ``preferred_to`` the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Message, Sample
from heedful.data.formats.base import Format
from heedful.data.formats.fields import response_text, row_id, text
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

_HERE = "output"
_ORDERS = ("swap = False", "swap = True")
_WINNERS = {"1": 1, "2": 2, 1: 1, 2: 2}


def turns(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a record into its two responses."""
    return [{**record, _HERE: number} for number in (1, 2)]


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one of the responses."""
    this = record[_HERE]
    label = record.get("label")
    if label not in (1, 2):
        raise RowError(f"label is {shown(label)}, not 1 or 2")
    item = row_id(record, number, "id")
    other = f"{item}/{3 - this}"
    fields: dict[str, Any] = {
        "id": f"{item}/{this}",
        "instruction_id": item,
        "conversation": (Message(role="user", content=text(record, "input")),),
        "response": response_text(record, f"output_{this}"),
        "tags": {"benchmark": "llmbar"},
        "preferred_to": [other] if label == this else [],
    }
    if this == label and record.get("results"):
        fields["choice"] = {"label": label, **_choice(record["results"])}
    return Sample.model_validate(fields)


def _choice(results: Any) -> dict[str, int | None]:
    """Read what the judge chose in both orders."""
    last = results[-1] if isinstance(results, list) else None
    if not isinstance(last, dict) or not all(isinstance(last.get(key), dict) for key in _ORDERS):
        raise RowError(f"results does not end in {' and '.join(_ORDERS)}")
    unswapped, swapped = (_winner(last[key]) for key in _ORDERS)
    return {"unswapped": unswapped, "swapped": swapped}


def _winner(said: Mapping[str, Any]) -> int | None:
    winner = said.get("winner")
    return _WINNERS.get(winner) if isinstance(winner, str | int) else None


FORMAT = Format(
    "llmbar",
    (("output_1",), ("output_2",), ("label",)),
    lambda record: "output_1" in record and "output_2" in record and "label" in record,
    sample,
    turns=turns,
    follows=False,
)
