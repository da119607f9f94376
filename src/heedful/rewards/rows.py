"""From the rows of a trainer's data set to samples.

Trainers hand over columns: a prompt in one of several spellings, and a checklist that went through
Arrow or JSON on its way. Rows are read as files are, in heedful's own format or IF-Critic's.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Sample
from heedful.core.text import is_blank
from heedful.data.formats import chat, if_critic, native
from heedful.data.formats.fields import messages
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

CHECKLISTS = ("checklist", "checklist_struct", "constraints", "rubric")
"""The columns that a checklist may be in."""

_PROMPTS = ("prompt", "instruction", "question", "raw_prompt")


def read(row: Mapping[str, Any], number: int = 1) -> Sample:
    """Read a row with its response."""
    record = {key: value for key, value in _plain(row).items() if value is not None}
    for key in (*CHECKLISTS, "prompt", "messages"):
        record = _decoded(record, key)
    if not {*CHECKLISTS[:-1]} & {*record} and "rubric" in record:
        rubric = record.pop("rubric")
        record["checklist"] = rubric.splitlines() if isinstance(rubric, str) else rubric
    if isinstance(record.get("prompt"), list):
        record["messages"] = record.pop("prompt")
    marked = isinstance(record.get("checklist"), str)
    if marked or "checklist_struct" in record:
        return _from_if_critic(record, number)
    if "checklist" not in record and "constraints" not in record:
        raise RowError(
            "the row has no checklist; give the data set a column checklist, constraints, rubric "
            "or checklist_struct"
        )
    return native.sample(record, number)


FINISH = "finish_reason"
"""The field that says why the policy's completion ended; ``length`` means that it was cut off."""


def labelled(label: Any, completion: Any, about: Mapping[str, Any], number: int = 1) -> Sample:
    """Read a row whose checklist is its label, and whose prompt is there or in what goes with it.

    A row that cannot be read is a sample whose field ``problem`` says why; it has no reward.
    """
    try:
        fields = truth(label)
        if not any(fields.get(key) for key in ("conversation", "messages")):
            fields |= prompt_of(fields) or prompt_of(about)
        completed = {"response": reply_text(completion), FINISH: about.get(FINISH)}
        sample = read({**fields, "completion": None, **completed}, number)
        return _with_calls(sample, completion)
    except RowError as error:
        return unread(error, number)
    except RecursionError:
        return unread(RowError("the row is nested too deeply"), number)


def _with_calls(sample: Sample, completion: Any) -> Sample:
    """Take in the tool calls of a completion that is messages, and the turns before its last."""
    if not isinstance(completion, list) or not any(map(_calls_tools, completion)):
        return sample
    turns = messages(_plain(completion), "completion")
    said: dict[str, Any] = {"response": ""}
    if turns[-1].role == "assistant":
        said = chat.answered(turns[-1], "completion")
        turns = turns[:-1]
    return sample.model_copy(update={**said, "conversation": (*sample.conversation, *turns)})


def _calls_tools(turn: Any) -> bool:
    return isinstance(turn, dict) and bool(turn.get("tool_calls") or turn.get("function_call"))


def unread(error: RowError, number: int) -> Sample:
    """Make the sample that stands for a row that cannot be read."""
    return Sample.model_validate({"id": f"row-{number}", "problem": error.what})


def prompt_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Find the prompt under the names that data sets give it; an empty one counts as absent."""
    for name in _PROMPTS:
        prompt = _plain(fields.get(name))
        turns = prompt if isinstance(prompt, list) else [{"content": prompt}]
        contents = [turn.get("content") for turn in turns if isinstance(turn, dict)]
        if any(said is not None and not is_blank(str(said)) for said in contents):
            return {"prompt": prompt}
    return {}


def truth(value: Any) -> dict[str, Any]:
    """Read what a data set holds as the truth or the label of a row: an object, maybe as JSON."""
    content = value
    if isinstance(value, str):
        try:
            content = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise RowError(f"the row's label is {shown(value)}, not JSON: {error}") from error
    content = _plain(content)
    if isinstance(content, list):
        return {"checklist": content}
    if not isinstance(content, dict):
        raise RowError(f"the row's label is {shown(value)}, not an object with a checklist")
    return content


def reply_text(completion: Any) -> str:
    """Return the text of a completion: messages, of which the last counts, or parts of one."""
    if isinstance(completion, str):
        return completion
    completion = _plain(completion)
    last = completion[-1] if isinstance(completion, list) and completion else None
    if not isinstance(last, dict) or not {"content", "tool_calls", "type"} & last.keys():
        raise RowError(f"the completion is {shown(completion)}, neither text nor messages")
    message = {"content": completion} if "type" in last else last
    if message.get("content") in (None, "", []):
        return ""
    return chat.turns({"role": "assistant", **message}, "completion")[-1].content


def _from_if_critic(record: dict[str, Any], number: int) -> Sample:
    """Read IF-Critic's spelling; the conversation may be longer than its one instruction."""
    messages = record.pop("messages", None)
    prompt = record.pop("prompt", "")
    record["instruction"] = prompt_of({"instruction": record.get("instruction")}).get(
        "prompt", prompt
    )
    read = if_critic.sample(record, number)
    if messages is None:
        return read.model_copy(update={"source": {}})
    conversation = native.sample({"messages": messages}, number).conversation
    return read.model_copy(update={"conversation": conversation, "source": {}})


def _decoded(record: dict[str, Any], key: str) -> dict[str, Any]:
    """Read a list that is written as JSON; other text stays what it is."""
    value = record.get(key)
    if not isinstance(value, str) or not value.lstrip().startswith(
        "[{" if key == "prompt" else "["
    ):
        return record
    try:
        return {**record, key: json.loads(value)}
    except (ValueError, RecursionError):
        return record


def _plain(value: Any) -> Any:
    """Turn arrays into lists, and leave out nulls within objects: Arrow put them there."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    return value
