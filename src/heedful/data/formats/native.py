"""heedful's own format: one :class:`~heedful.core.nouns.Sample` a record, with friendly spellings.

- ``prompt`` or ``instruction`` (text) for a conversation of one user turn; ``messages`` for
  ``conversation``; ``constraints`` for ``checklist``;
- an item of the checklist, or a checklist of one item, and a check may be plain text (the
  constraint; the verifier's id);
- ``source`` may be text, the name of where the row comes from, and becomes a tag;
- ``priority`` may be CFBench's 主需 or 次需, types may have any name of the taxonomy;
- ``scale`` may be a list of labels, lowest first, or ``partial``;
- a conversation that ends with an assistant's turn, in a row without the field ``response``: that
  turn is the response;
- a message's content, the prompt and the response may be a list of parts, and a message may have
  tool calls and images, as in a chat API (:mod:`heedful.data.formats.chat`);
- ``judgments``, as in heedful's results file, become a recording that can be scored again.

Fields that heedful does not know stay where they are; one that reads like a field which the row
does not have is refused.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from heedful.core import taxonomy
from heedful.core.errors import RowError
from heedful.core.noun import meant
from heedful.core.nouns import Constraint, Critique, Message, Sample
from heedful.core.reasoning import beside
from heedful.core.scale import labels_by_level
from heedful.core.text import amount
from heedful.data.formats import chat
from heedful.data.formats.base import Format
from heedful.data.formats.fields import (
    explain,
    label_of,
    listed_labels,
    messages,
    response_text,
    row_id,
    text,
)
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

CONVERSATION_KEYS = ("conversation", "messages", "prompt", "instruction")
"""Keys of the conversation; the first that is there counts."""
CHECKLIST_KEYS = ("checklist", "constraints")
PRIORITIES = {"主需": "primary", "次需": "secondary"}

_CONSTRAINT_FIELDS = Constraint.model_fields.keys()
_OTHER_WORDS = {"points": "weight", "must_have": "gate"}

_TURN = ("prompt", "instruction")
"""Those that may be the text of one turn."""

_SAME = (CONVERSATION_KEYS, CHECKLIST_KEYS)
_KNOWN = frozenset({*Sample.model_fields, *Sample.accepted_names})

_NULLABLE = ("checklist", "tool_calls", "reference", "tags", "labels", "recording", "source")
_OWN_FIELDS = "own_fields"
"""Field of a results file for the user's own fields that have the names of its others."""

JUDGE_REPLY = "judge_reply"
"""Field of a results file for what the judge replied, where that was asked for."""

RESULT_FIELDS = frozenset({"judgments", "scores", "declared", "problem", JUDGE_REPLY, _OWN_FIELDS})
"""Fields of a results file beside the sample; judging again writes them again."""


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record."""
    record = _lowered(record)
    fields = dict(record)
    _refuse_misspelled(record, "the row", _KNOWN | RESULT_FIELDS, Sample)
    fields["conversation"] = _conversation(fields)
    if fields.get("judgments") is not None:
        fields["recording"] = _recording(fields)
        own = fields.get(_OWN_FIELDS)
        fields = {key: value for key, value in fields.items() if key not in RESULT_FIELDS}
        fields |= own if isinstance(own, dict) else {}
    fields["id"] = row_id(record, number, "id")
    fields |= _reasoning(record)
    if not isinstance(fields.get("response"), str):
        fields |= _response(record, fields["conversation"])
    if fields.get("checklist") is None and "constraints" in fields:
        fields["checklist"] = fields.pop("constraints")
    for key in _NULLABLE:
        if key in fields and fields[key] is None:
            del fields[key]
    if "checklist" in fields:
        fields["checklist"] = _checklist(fields["checklist"])
    if "tags" in fields:
        fields["tags"] = _tags(fields["tags"])
    if isinstance(fields.get("source"), str | int | float):  # where the row comes from
        fields["tags"] = {"source": fields.pop("source"), **fields.get("tags", {})}
    read = _validated(fields)
    if read.labels is not None and len(read.labels) != len(read.checklist):
        raise RowError(
            f"{amount(len(read.labels), 'label')} for {amount(len(read.checklist), 'constraint')}"
        )
    return read


def _validated(fields: dict[str, Any]) -> Sample:
    """Make the sample; labels may name levels."""
    given = fields.get("labels")
    levels = given is not None and not (isinstance(given, list) and _is_settled(given))
    if levels:
        given = listed_labels(given)
        if isinstance(given, list):
            checklist = fields.get("checklist") or ()
            given = [_label(item, checklist, place) for place, item in enumerate(given)]
        fields = {**fields, "labels": given}
        levels = isinstance(given, list) and not _is_settled(given)
    try:
        read = Sample.model_validate({**fields, "labels": None} if levels else fields)
        if levels and given is not None:
            scales = [each.scale for each in read.checklist]
            named = labels_by_level(scales, given) if len(scales) == len(given) else {}
            read = Sample.model_validate(fields | named)
    except ValidationError as error:
        raise RowError(explain(error)) from error
    except ValueError as error:
        raise RowError(str(error)) from error
    return read


def _is_settled(labels: list[Any]) -> bool:
    return {*map(type, labels)} <= {bool, type(None)}


def _label(item: Any, checklist: Sequence[Any], place: int) -> Any:
    """Read a word for a verdict; on a constraint with a scale it may be one of its levels."""
    scaled = place < len(checklist) and "scale" in checklist[place]
    return item if scaled else label_of(item)


def write(sample: Sample) -> dict[str, Any]:
    """Write a sample as a native record, without what is empty; :func:`sample` reads it back."""
    record = sample.model_dump(mode="json", exclude_defaults=True)
    turns = sample.conversation
    if sample.response is None and turns and turns[-1].role == "assistant":
        record["response"] = None  # or the last turn would be read as the response
    return record


def write_beside_results(sample: Sample) -> dict[str, Any]:
    """Write a sample for a results file: fields with the names of results' own are set apart."""
    fields = write(sample)
    own = {name: fields.pop(name) for name in sorted(RESULT_FIELDS) if name in fields}
    return fields | ({_OWN_FIELDS: own} if own else {})


def judgments(sample: Sample, critique: Critique) -> list[dict[str, Any]]:
    """Lay out judgments for a results file, each beside the constraint it is on."""
    return [
        {"constraint": constraint.text, **judgment.fields()}
        for constraint, judgment in zip(sample.checklist, critique.judgments, strict=True)
    ]


def _conversation(fields: dict[str, Any]) -> Any:
    """Take the conversation out of the fields, whichever way it is spelled."""
    for key in CONVERSATION_KEYS:
        if fields.get(key) is None:
            continue
        value = fields.pop(key)
        if key in _TURN and isinstance(value, list) and value and isinstance(value[0], dict):
            if "role" not in value[0]:
                return tuple(chat.turns({"role": "user", "content": value}, key))
        elif key in _TURN:
            return (Message(role="user", content=text({key: value}, key)),)
        return messages(value, key)
    if any(fields.get(key) is not None for key in CHECKLIST_KEYS):
        return ()  # rules and recordings judge a response without the prompt
    if fields.get("problem") and fields.get("judgments") is not None:
        raise RowError(f"the row had failed before: {fields['problem']}")
    raise RowError(f"conversation is missing; give one of {', '.join(CONVERSATION_KEYS)}")


def _response(record: Mapping[str, Any], turns: tuple[Message, ...]) -> dict[str, Any]:
    """Read the response; without the field it is the assistant's turn that ends a conversation."""
    given = record.get("response")
    if "response" not in record and turns and turns[-1].role == "assistant":
        said = chat.answered(turns[-1], f"conversation[{len(turns) - 1}]")
        return {**said, "conversation": turns[:-1]}
    if chat.is_message(given):
        return chat.response(given, "response")
    return {"response": response_text(record)}


def _reasoning(record: Mapping[str, Any]) -> dict[str, str]:
    """Read the reasoning beside a response; a user's own field of the name is kept as text."""
    given = record.get("reasoning")
    if not isinstance(given, str | None):
        given = json.dumps(given, ensure_ascii=False)
    given = given or beside(record)
    return {"reasoning": given} if given else {}


def _lowered(record: dict[str, Any]) -> dict[str, Any]:
    """Read names in capitals, such as ``ID``, as those of fields that are missing."""
    lower = {name: name.lower() for name in record.keys() - _KNOWN}
    known = {name: field for name, field in lower.items() if field in _KNOWN - record.keys()}
    return {known.get(name, name): value for name, value in record.items()} if known else record


def _refuse_misspelled(
    item: Mapping[str, Any], where: str, known: Collection[str], of: type[Sample | Constraint]
) -> None:
    """Refuse a field that reads like a known one that is missing: a penalty could be a credit."""
    for name in item.keys() - known:
        field = _meant(of, name)
        if field is None:
            continue
        same = next((group for group in _SAME if field in group), (field,))
        if not any(item.get(key) is not None for key in same):
            what = f"{where} has {shown(item[name])} as {name!r}, and no {field}"
            raise RowError(what, hint=f"did you mean {field!r}?")


@lru_cache(maxsize=2048)  # the rows of a file have the same fields
def _meant(of: type[Sample | Constraint], name: str) -> str | None:
    return (_OTHER_WORDS.get(name) if of is Constraint else None) or meant(of, name)


def _checklist(items: Any) -> list[Any]:
    if isinstance(items, str) and items.strip() and "\n" not in items and items[0] not in "[{":
        items = [items]  # a single constraint
    if not isinstance(items, list):
        raise RowError(f"checklist is {shown(items)}, not a list of constraints")
    return [_constraint(item, place) for place, item in enumerate(items)]


def _constraint(item: Any, place: int) -> dict[str, Any]:
    if isinstance(item, str):
        return {"text": item}
    if not isinstance(item, dict):
        raise RowError(f"checklist[{place}] is {shown(item)}, not text or an object with text")
    if len(item) == 1 and "text" in item:  # the usual case
        return item
    _refuse_misspelled(item, f"checklist[{place}]", _CONSTRAINT_FIELDS, Constraint)
    constraint = dict(item)
    for key in ("type", "subtype"):
        if isinstance(constraint.get(key), str):
            constraint[key] = taxonomy.canonical(constraint[key])
    priority = constraint.get("priority")
    if isinstance(priority, str):
        constraint["priority"] = PRIORITIES.get(priority, priority) or None
    check = constraint.get("check")
    if isinstance(check, str):
        constraint["check"] = {"id": check}
    elif isinstance(check, dict) and check.get("args", {}) is None:
        constraint["check"] = check | {"args": {}}
    return _rubric_fields(constraint)


def _rubric_fields(constraint: dict[str, Any]) -> dict[str, Any]:
    """Read the fields of rubrics; null is as if the field weren't there."""
    for key in ("scale", "depends_on", "weight", "gate"):
        if key in constraint and constraint[key] is None:
            del constraint[key]
    if "scale" in constraint:
        constraint["scale"] = _scale(constraint["scale"])
    return constraint


def _scale(scale: Any) -> Any:
    """Read a scale; of levels that are only labels, lowest first, the steps are worth the same."""
    if scale == "partial":
        return {"kind": "partial"}
    if isinstance(scale, list):
        scale = {"levels": scale}
    if not isinstance(scale, dict) or not isinstance(scale.get("levels"), list):
        return scale
    steps = max(1, len(scale["levels"]) - 1)
    levels = [
        {"label": level, "value": step / steps} if isinstance(level, str) else level
        for step, level in enumerate(scale["levels"])
    ]
    return {**scale, "levels": levels}


def _tags(tags: Any) -> dict[str, Any]:
    if isinstance(tags, str):  # a column of a table
        return {"tags": tags}
    if not isinstance(tags, dict):
        raise RowError(f"tags is {shown(tags)}, not an object")
    for key, value in tags.items():
        if isinstance(value, list | dict):
            raise RowError(f"tags.{key} is {shown(value)}; a tag is text, a number or a boolean")
    return {key: value for key, value in tags.items() if value is not None}


def _recording(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Make a recording of the judgments of a results file."""
    judgments = fields["judgments"]
    if not isinstance(judgments, list):
        raise RowError(f"judgments is {shown(judgments)}, not a list")
    verdicts = [item if isinstance(item, dict) else {"status": item} for item in judgments]
    declared = fields.get("declared")
    return {
        "prompt": "native",
        "verdicts": verdicts,
        "declared": declared if isinstance(declared, dict) else {},
    }


FORMAT = Format("native", (CONVERSATION_KEYS + CHECKLIST_KEYS,), sample)
