"""Multi-IF: conversations of up to three turns, with IFEval's constraints on each turn.

Records as released: ``turn_k_prompt`` (a message, as JSON), ``turn_k_instruction_id_list`` and
``turn_k_kwargs`` (lists, as JSON; the objects in ``kwargs`` as JSON again), ``key``, ``language``.
The lists accumulate: a later turn names the earlier turns' constraints too. Each turn becomes a
sample, whose id is the key and the turn's number; a turn without prompt was never sent.

Responses: a column for each turn (``turn_k_response``), a list (``responses``,
``messages``), or what the published code writes after turn ``turn_index``: that turn's response in
``responses`` and what was said before in ``turns``. It writes ``[MAX_RETRY=0] Failed.`` for a
response that it could not get: that is none.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.data.formats import fields, ifeval
from heedful.data.formats.base import Format
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Constraint, Message, Sample

_TURNS = (1, 2, 3)
_COLUMNS = ("prompt", "instruction_id_list", "kwargs")
_RESPONSE = "turn_{}_response"
_NOT_ASKED = (None, "", "None")  # as the published code writes a turn that is not there
_GIVEN_UP = "[MAX_RETRY"
_TAGS = ("language", "model")
_MAPPED = {
    *(f"turn_{turn}_{name}" for turn in _TURNS for name in _COLUMNS),
    *map(_RESPONSE.format, _TURNS),
    *("key", "turn", "turn_index", "turns", "response", "responses", "messages", *_TAGS),
}


def turns(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Take a record apart: for each turn that has a prompt or an answer, a record in IFEval's form.

    The record of a file of responses needs no prompts; it has ``key``, and ``turn`` where it holds
    one response only.
    """
    answers = _answers(record)
    shared: dict[str, Any] = {
        name: record[name] for name in _TAGS if record.get(name) and isinstance(record[name], str)
    }
    key = fields.row_id(record, 0, "key", "id")
    known = key != "row-0"
    shared["source"] = {name: value for name, value in record.items() if name not in _MAPPED}
    last = max([_turn(record.get("turn_index")) or _TURNS[-1], *answers])
    parts = []
    for turn in range(1, last + 1):
        columns = {name: record.get(f"turn_{turn}_{name}") for name in _COLUMNS}
        has_prompt = columns["prompt"] not in _NOT_ASKED
        if has_prompt or (turn in answers and not _asks(record)):
            part = {"turn": turn, "response": answers.get(turn)} | shared
            if has_prompt:
                part |= columns | {"prompt": _message(columns["prompt"], turn)}
            if known:
                part |= {"key": f"{key}-{turn}", "conversation_id": key}
            parts.append(part)
    if not parts and _asks(record):
        raise RowError("no turn has a prompt")
    return parts


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one turn, as :func:`turns` gives it."""
    turn = record["turn"]
    decoded = dict(record)
    for column in _COLUMNS[1:]:
        decoded[column] = fields.from_json(record[column], f"turn_{turn}_{column}")
    if isinstance(decoded["kwargs"], list):
        decoded["kwargs"] = [
            fields.from_json(item, f"turn_{turn}_kwargs[{place}]")
            for place, item in enumerate(decoded["kwargs"])
        ]
    try:
        read = ifeval.sample(decoded, number)
    except RowError as error:
        raise RowError(f"turn {turn}: {error.what}", hint=error.hint) from error
    conversation = record.get("conversation_id", f"row-{number}")
    tags = {"benchmark": "multiif", "conversation_id": conversation, "turn": turn}
    tags |= {name: record[name] for name in _TAGS if name in record}
    return read.model_copy(
        update={
            "id": "-".join(str(part) for part in (record.get("model"), conversation, turn) if part),
            "checklist": tuple(map(_by_language, read.checklist)),
            "tags": tags,
            "source": record["source"],
        }
    )


def _by_language(constraint: Constraint) -> Constraint:
    """Name Multi-IF's own verifier where it has one; the other ids are IFEval's."""
    from heedful.verify import known

    check = constraint.check
    if check is None or not known(f"multiif:{check.id}"):
        return constraint
    own = check.model_copy(update={"id": f"multiif:{check.id}"})
    return constraint.model_copy(update={"check": own})


def _asks(record: Mapping[str, Any]) -> bool:
    return any(f"turn_{turn}_prompt" in record for turn in _TURNS)


def _message(value: Any, turn: int) -> Any:
    """Return a prompt's text; it is a message, a message as JSON, or the text itself."""
    name = f"turn_{turn}_prompt"
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = fields.from_json(value, name)
    if isinstance(value, dict):
        return value.get("content")
    return value


# --- responses ----------------------------------------------------------------------------------


def _answers(record: Mapping[str, Any]) -> dict[int, str]:
    """Find the responses that a record holds, by turn, in the first form that has any."""
    for responses in (_columns(record), _single(record), _listed(record)):
        read = {turn: fields.response_text({"response": responses[turn]}) for turn in responses}
        answers = {
            turn: text for turn, text in read.items() if text and not text.startswith(_GIVEN_UP)
        }
        if answers:
            return answers
    return {}


def _columns(record: Mapping[str, Any]) -> dict[int, Any]:
    responses = {turn: record.get(_RESPONSE.format(turn)) for turn in _TURNS}
    return {turn: response for turn, response in responses.items() if response is not None}


def _single(record: Mapping[str, Any]) -> dict[int, Any]:
    """Read a row of one response: ``turn`` and ``response``."""
    if record.get("response") is None:
        return {}
    turn = _turn(record.get("turn", record.get("turn_index")))
    if turn is None:
        raise RowError(f"turn is {shown(record.get('turn'))}; a response needs its turn: 1, 2 or 3")
    return {turn: record["response"]}


def _listed(record: Mapping[str, Any]) -> dict[int, Any]:
    """Read ``messages``, or ``responses``: of all turns, or, with ``turn_index``, of that one."""
    if record.get("messages"):
        return _replies(
            fields.messages(fields.from_json(record["messages"], "messages"), "messages")
        )
    value = record.get("responses")
    if value in _NOT_ASKED:
        return {}
    turn = _turn(record.get("turn_index"))
    listed = _list(value)
    if turn is None:
        if listed is None:
            raise RowError(f"responses is {shown(value)}, not a list of one response for each turn")
        return {place: _text(item) for place, item in enumerate(listed, start=1)}
    said = record.get("turns")
    before = (
        {}
        if said in _NOT_ASKED
        else _replies(fields.messages(fields.from_json(said, "turns"), "turns"))
    )
    last = value if listed is None else _text(listed[0])
    return {place: text for place, text in before.items() if place < turn} | {turn: last}


def _list(value: Any) -> list[Any] | None:
    """Return a list, or a list that is written as JSON; a response may look like one by chance."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
        if not all(isinstance(item, str) or _is_response(item) for item in value):
            return None
    return value if isinstance(value, list) and value else None


def _is_response(item: Any) -> bool:
    return isinstance(item, dict) and "response" in item


def _text(item: Any) -> Any:
    return item["response"] if _is_response(item) else item


def _replies(conversation: tuple[Message, ...]) -> dict[int, str]:
    """Number the assistant's messages by the user's before them."""
    turn, responses = 0, {}
    for message in conversation:
        if message.role == "user":
            turn += 1
        elif message.role == "assistant":
            responses[turn] = message.content
    return responses


def _turn(value: Any) -> int | None:
    """Read a turn's number; the release has 0 for none."""
    try:
        turn = int(str(value))
    except ValueError:
        return None
    return turn if turn in _TURNS else None


FORMAT = Format(
    "multiif",
    (("turn_1_prompt",), ("turn_1_instruction_id_list",), ("turn_1_kwargs",)),
    sample,
    turns=turns,
)
