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
from heedful.core.nouns import Check, Constraint, Message, Sample
from heedful.core.text import amount
from heedful.data.formats.base import Format
from heedful.data.formats.fields import response_text, row_id, text
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

_LANGUAGE = re.compile(r"([a-z]{2}):(?=[^:]+:)")
_MAPPED = ("prompt", "instruction_id_list", "kwargs", "response", "follow_instruction_list")


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    prompt = text(record, "prompt")
    ids, language = _ids(record)
    arguments = _arguments(record, len(ids))
    tags: dict[str, str | int | float | bool] = {"benchmark": "ifeval"}
    if language is not None:
        tags["language"] = language
    ident = row_id(record, number, "key", "id")
    variant = _VARIANT.fullmatch(ident)
    if variant:  # several rows have the same key
        tags["variant"] = variant[2]
        ident = f"{ident}/{number}"
    sample = Sample(
        id=ident,
        conversation=(Message(role="user", content=prompt),),
        checklist=tuple(map(_constraint, ids, arguments)),
        response=response_text(record),
        tags=tags,
        labels=labels(record, len(ids)),
        source={key: value for key, value in record.items() if key not in _MAPPED},
    )
    return sample.model_copy(update={"instruction_id": variant[1]}) if variant else sample


def labels(record: Mapping[str, Any], count: int) -> tuple[bool | None, ...] | None:
    """Return the official verdicts (``follow_instruction_list``) that a record holds."""
    verdicts = record.get("follow_instruction_list")
    if verdicts is None:
        return None
    if not isinstance(verdicts, list) or not all(isinstance(item, bool) for item in verdicts):
        raise RowError("follow_instruction_list is not a list of true and false")
    if len(verdicts) != count:
        verdicts_found = amount(len(verdicts), "verdict")
        raise RowError(f"follow_instruction_list has {verdicts_found} for {amount(count, 'id')}")
    return tuple(verdicts)


def _ids(record: Mapping[str, Any]) -> tuple[list[str], str | None]:
    """Return the ids without their language, and the language."""
    if "instruction_id_list" not in record:
        raise RowError("instruction_id_list is missing")
    ids = record["instruction_id_list"]
    if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids):
        raise RowError(f"instruction_id_list is {shown(ids)}; it must be a list of ids (text)")
    prefixes = [_LANGUAGE.match(item) for item in ids]
    languages = {prefix[1] for prefix in prefixes if prefix}
    if len(languages) > 1:
        raise RowError(f"instruction_id_list mixes languages: {', '.join(sorted(languages))}")
    return [_LANGUAGE.sub("", item, count=1) for item in ids], next(iter(languages), None)


def _arguments(record: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    if "kwargs" not in record:
        raise RowError("kwargs is missing")
    kwargs = record["kwargs"]
    if not isinstance(kwargs, list):
        raise RowError(f"kwargs is {shown(kwargs)}; it must be a list of one object for each id")
    if len(kwargs) != count:
        raise RowError(
            f"kwargs has {amount(len(kwargs), 'entry', 'entries')} for {amount(count, 'id')}"
        )
    for place, item in enumerate(kwargs):
        if item is not None and not isinstance(item, dict):
            raise RowError(f"kwargs[{place}] is {shown(item)}, not an object")
    return [{k: v for k, v in (item or {}).items() if v is not None} for item in kwargs]


def _constraint(verifier: str, arguments: dict[str, Any]) -> Constraint:
    from heedful.verify import describe

    check = Check(id=verifier, args=arguments)
    try:
        words = describe(check)
    except VerifierError:  # the judge will say so; the row itself can be read
        words = verifier
    return Constraint(text=words, type=verifier.partition(":")[0], subtype=verifier, check=check)


_VARIANT = re.compile(r"(\d+):(original|rephrasing|distractor|ct_alteration)")
"""A key of IFEval++: an instruction and the kind of its variant."""

FORMAT = Format(
    "ifeval",
    (("prompt",), ("instruction_id_list",), ("kwargs",)),
    lambda record: "instruction_id_list" in record,
    sample,
)
