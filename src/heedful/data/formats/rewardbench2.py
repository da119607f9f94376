"""RewardBench 2: better and worse responses to a prompt; its Precise IF subset and the others.

Records: ``id``, ``prompt``, ``chosen`` and ``rejected`` (texts), ``subset``. Each response becomes
a sample; those chosen are ``preferred_to`` those rejected.
"""

from __future__ import annotations

from typing import Any

from heedful.core.errors import RowError
from heedful.core.nouns import Sample
from heedful.data.formats import criteria
from heedful.data.formats.base import Format
from heedful.data.formats.fields import optional_text, row_id
from heedful.data.formats.files import shown

_HERE = "completion"


def turns(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a record into its responses."""
    places = []
    for side in ("chosen", "rejected"):
        texts = record.get(side)
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
            raise RowError(f"{side} is {shown(record.get(side))}, not a list of texts")
        places += [(side, place, response) for place, response in enumerate(texts, start=1)]
    worse = [f"rejected-{place}" for side, place, _ in places if side == "rejected"]
    return [
        {**record, _HERE: (f"{side}-{place}", response, worse if side == "chosen" else [])}
        for side, place, response in places
    ]


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one of the responses."""
    name, response, worse = record[_HERE]
    item = row_id(record, number, "id")
    subset = optional_text(record, "subset")
    return Sample.model_validate(
        {
            "id": f"{item}/{name}",
            "instruction_id": item,
            "conversation": criteria.prompt(record.get("prompt"), "prompt"),
            "response": response,
            "checklist": record.get("checklist") or (),
            "preferred_to": [f"{item}/{other}" for other in worse],
            "tags": {"benchmark": "rewardbench2", **({"task": subset} if subset else {})},
        }
    )


FORMAT = Format(
    "rewardbench2",
    (("prompt",), ("chosen",), ("rejected",)),
    lambda record: "num_correct" in record and "chosen" in record and "rejected" in record,
    sample,
    turns=turns,
    follows=False,
)
