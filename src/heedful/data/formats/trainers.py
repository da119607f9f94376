"""Rows of trainers: TRL's, ShareGPT's, verl's and OpenRLHF's, and Alpaca's.

What a reward goes by (``ground_truth``, ``label``) is the checklist where it holds one, IFEval's
ids where it holds those, and else the reference.
"""

from __future__ import annotations

import ast
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

HEAVY = ("completion", "conversations", "reward_model", "context_messages", "gts")

_ROLES = {
    "human": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "function_call": "assistant",
    "observation": "tool",
    "function": "tool",
    "function_response": "tool",
}
_LISTS = ("checklist", "rubrics", "rubric", "criteria", "constraints", "requirements")
_IDS = ("instruction_id_list", "instruction_id", "instruction_ids")


def fits_trl(record: Mapping[str, Any]) -> bool:
    """Tell whether a record has a completion of messages."""
    said = record.get("completion")
    return (
        "response" not in record
        and isinstance(said, list)
        and bool(said)
        and all(isinstance(each, dict) and "role" in each for each in said)
    )


def trl(record: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose last message of the completion is the response."""
    *before, last = record["completion"]
    prompt = record.get("prompt")
    if isinstance(prompt, str):
        prompt = [{"role": "user", "content": prompt}]
    return {"conversation": [*(prompt or []), *before], "prompt": None, "response": last}


def fits_sharegpt(record: Mapping[str, Any]) -> bool:
    """Tell whether a record holds a conversation as ShareGPT's."""
    turns = record.get("conversations")
    first = turns[0] if isinstance(turns, list) and turns else None
    return isinstance(first, dict) and ({"from", "value"} <= first.keys() or "role" in first)


def sharegpt(record: dict[str, Any]) -> dict[str, Any]:
    """Return a row with messages; an answer at the end is the response."""
    turns = [_turn(each) for each in record["conversations"] if isinstance(each, dict)]
    system = record.get("system")
    if isinstance(system, str) and system and turns[0]["role"] != "system":
        turns.insert(0, {"role": "system", "content": system})
    row: dict[str, Any] = {"conversation": turns}
    return row if record.get("checklist") else {**row, "checklist": _own_list(record) or []}


def fits_goal(record: Mapping[str, Any]) -> bool:
    """Tell whether a record names what a reward goes by, as verl's and OpenRLHF's do."""
    if isinstance(record.get("reward_model"), dict):
        return "ground_truth" in record["reward_model"]
    if "context_messages" in record and not isinstance(record["context_messages"], str):
        return True
    return "gts" in record and "output" in record and "input" in record


def goal(record: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the prompt, and the checklist where there is one."""
    reward, extra = record.get("reward_model"), record.get("extra_info")
    truth = reward.get("ground_truth") if isinstance(reward, dict) else None
    truth = truth if truth is not None else record.get("gts", record.get("label"))
    row = {"label": None, **_goal(_decoded(truth))}
    if "checklist" not in row and "instruction_id_list" not in row:
        inner = _own_list(record) or _own_list(extra if isinstance(extra, dict) else {})
        row["checklist"] = inner or []
    if record.get("context_messages"):
        row["conversation"] = record["context_messages"]
    elif "prompt" not in record and isinstance(record.get("input"), str):
        row["prompt"] = record["input"]
    prompt = record.get("prompt")
    if "instruction_id_list" in row and isinstance(prompt, list):  # IFEval's prompt is a text
        row["prompt"] = str(prompt[-1].get("content"))
    if isinstance(record.get("output"), str):
        row["response"] = record["output"]
    if isinstance(record.get("data_source"), str):
        row["tags"] = {"benchmark": record["data_source"]}
    return row


def fits_alpaca(record: Mapping[str, Any]) -> bool:
    """Tell whether a record is an instruction with an input to it; InFoBench's puts them first."""
    texts = [record.get(name) for name in ("instruction", "input", "output")]
    own = "prompt" in record or "decomposed_questions" in record
    return all(isinstance(text, str) for text in texts) and bool(texts[1]) and not own


def alpaca(record: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose prompt is the instruction and its input."""
    joined = f"{record['instruction']}\n\n{record['input']}"
    return {"prompt": joined, "instruction": None, "input": None}


def _turn(turn: Mapping[str, Any]) -> dict[str, Any]:
    if "role" in turn:
        return dict(turn)
    role = str(turn.get("from")).casefold()
    return {"role": _ROLES.get(role, role), "content": turn.get("value")}


def _own_list(record: Mapping[str, Any]) -> Any:
    """Return a record's list of constraints, by any of its names."""
    lists = (_decoded(record.get(name)) for name in _LISTS)
    return next((each for each in lists if isinstance(each, list) and each), None)


def _decoded(value: Any) -> Any:
    """Decode JSON, or a list or object as Python prints it."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return ast.literal_eval(value)
    return value


def _goal(truth: Any) -> dict[str, Any]:
    first = truth[0] if isinstance(truth, list) and truth else truth
    if isinstance(first, dict):
        ids = next((first[name] for name in _IDS if first.get(name)), None)
        if isinstance(ids, list):
            return {"instruction_id_list": ids, "kwargs": first.get("kwargs") or [None] * len(ids)}
        if isinstance(truth, dict):
            inner = _own_list(truth)
            return {"checklist": inner} if inner else {}
        return {"checklist": truth}
    if isinstance(truth, list) and all(isinstance(each, str) for each in truth) and truth:
        return {"checklist": truth}
    return {} if truth is None else {"reference": str(truth)}
