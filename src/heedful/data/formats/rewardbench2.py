"""RewardBench 2: better and worse responses to a prompt; its Precise IF subset and the others.

Records: ``id``, ``prompt``, ``chosen`` and ``rejected`` (texts), ``subset``. Each response becomes
a sample; those chosen are ``preferred_to`` those rejected.
"""

from __future__ import annotations

from typing import Any

from heedful.core.nouns import Sample
from heedful.data.formats import fields
from heedful.data.formats.base import Format

_HERE = "completion"


def turns(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a record into its responses."""
    sides: dict[str, list[str]] = {}
    for side in ("chosen", "rejected"):
        given = record.get(side)
        sides[side] = [given] if isinstance(given, str) else fields.texts(record, side)
    worse = [f"rejected-{place}" for place in range(1, len(sides["rejected"]) + 1)]
    return [
        {**record, _HERE: (f"{side}-{place}", response, worse if side == "chosen" else [])}
        for side, responses in sides.items()
        for place, response in enumerate(responses, start=1)
    ]


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one of the responses."""
    name, response, worse = record[_HERE]
    item = fields.row_id(record, number, "id")
    return Sample.model_validate(
        {
            "id": f"{item}/{name}",
            "instruction_id": item,
            "conversation": fields.prompt(record),
            "response": response,
            "checklist": record.get("checklist") or (),
            "preferred_to": [f"{item}/{other}" for other in worse],
            "tags": fields.tags("rewardbench2", record, task="subset"),
        }
    )


FORMAT = Format(
    "rewardbench2",
    (("prompt",), ("chosen",), ("rejected",)),
    sample,
    lambda record: "num_correct" in record and "chosen" in record and "rejected" in record,
    turns=turns,
    follows=False,
)
