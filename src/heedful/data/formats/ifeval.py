"""IFEval and its family: constraints that code verifies, named by id with keyword arguments.

Records: ``prompt``, ``instruction_id_list``, ``kwargs`` (one object or null for each id, possibly
padded with nulls for the arguments of other ids), mostly ``key``; ``response`` where the file
has it. M-IFEval puts the language before each id (``en:punctuation:no_comma``); IFBench writes
the same format with ids of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError, VerifierError
from heedful.core.nouns import Check, Constraint, Sample
from heedful.core.text import amount
from heedful.data.formats import fields
from heedful.data.formats.base import Format

if TYPE_CHECKING:
    from collections.abc import Mapping

VERDICTS = "follow_instruction_list"
"""Field of the official verdicts."""

_LANGUAGE = re.compile(r"([a-z]{2}):(?=[^:]+:)")
_VARIANT = re.compile(r"(\d+):(original|rephrasing|distractor|ct_alteration)")
"""A key of IFEval++: an instruction and the kind of its variant."""
_MAPPED = ("prompt", "instruction_id_list", "kwargs", "response", VERDICTS)


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    prompt = fields.text(record, "prompt")
    ids, language = _ids(record)
    arguments = _arguments(record, len(ids))
    tags: dict[str, Any] = {"benchmark": "ifeval"} | ({"language": language} if language else {})
    ident = fields.row_id(record, number, "key", "id")
    variant = _VARIANT.fullmatch(ident)
    if variant:  # several rows have the same key
        tags["variant"] = variant[2]
        ident = f"{ident}/{number}"
    sample = Sample(
        id=ident,
        conversation=fields.user(prompt),
        checklist=tuple(map(_constraint, ids, arguments)),
        response=fields.response_text(record),
        tags=tags,
        labels=fields.labels(record.get(VERDICTS), len(ids), VERDICTS),
        source=fields.without(record, *_MAPPED),
    )
    return sample.model_copy(update={"instruction_id": variant[1]}) if variant else sample


def _ids(record: Mapping[str, Any]) -> tuple[list[str], str | None]:
    """Return the ids without their language, and the language."""
    ids = fields.texts(record, "instruction_id_list")
    prefixes = [_LANGUAGE.match(item) for item in ids]
    languages = {prefix[1] for prefix in prefixes if prefix}
    if len(languages) > 1:
        raise RowError(f"instruction_id_list mixes languages: {', '.join(sorted(languages))}")
    return [_LANGUAGE.sub("", item, count=1) for item in ids], next(iter(languages), None)


def _arguments(record: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    kwargs = record.get("kwargs")
    if not isinstance(kwargs, list):
        raise fields.wrong("kwargs", kwargs, "a list of one object for each id")
    if len(kwargs) != count:
        raise RowError(
            f"kwargs has {amount(len(kwargs), 'entry', 'entries')} for {amount(count, 'id')}"
        )
    for place, item in enumerate(kwargs):
        if item is not None and not isinstance(item, dict):
            raise fields.wrong(f"kwargs[{place}]", item, "an object")
    return [{k: v for k, v in (item or {}).items() if v is not None} for item in kwargs]


def _constraint(verifier: str, arguments: dict[str, Any]) -> Constraint:
    from heedful.verify import describe

    check = Check(id=verifier, args=arguments)
    try:
        words = describe(check)
    except VerifierError:  # the judge will say so; the row itself can be read
        words = verifier
    return Constraint(text=words, type=verifier.partition(":")[0], subtype=verifier, check=check)


FORMAT = Format(
    "ifeval",
    (("prompt",), ("instruction_id_list",), ("kwargs",)),
    sample,
    lambda record: "instruction_id_list" in record,
)
