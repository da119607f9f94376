"""How training tools lay out an example: one function a layout, from an example to a JSON object.

Sources: the dataset formats of TRL 1.16 (conversational prompt-completion and preference), of
LLaMA-Factory (alpaca and sharegpt, and its ``dataset_info.json``), and of OpenAI's fine-tuning
(chat and preference).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from heedful.errors import RowError

if TYPE_CHECKING:
    from heedful.critic.examples import Example
    from heedful.schema import Message

__all__ = ["LAYOUTS", "Layout", "dataset_info"]

Layout = Callable[["Example"], dict[str, Any]]


def trl(example: Example) -> dict[str, Any]:
    """Lay out for TRL: conversational prompt and completion, or prompt, chosen and rejected."""
    record: dict[str, Any] = {"id": example.id, "wire": example.wire}
    record["prompt"] = _messages(example.prompt)
    if example.completion is not None:
        return record | {"completion": _said(example.completion)}
    return record | {
        "chosen": _said(example.chosen),
        "rejected": _said(example.rejected),
        "segments": list(example.segments),
    }


def openai(example: Example) -> dict[str, Any]:
    """Lay out for OpenAI: messages, or an input with a preferred and another output."""
    messages = _messages(example.prompt)
    if example.completion is not None:
        return {"messages": messages + _said(example.completion)}
    return {
        "input": {"messages": messages, "tools": [], "parallel_tool_calls": True},
        "preferred_output": _said(example.chosen),
        "non_preferred_output": _said(example.rejected),
    }


def alpaca(example: Example) -> dict[str, Any]:
    """Lay out for LLaMA-Factory: instruction and output, or instruction, chosen and rejected."""
    system, user = _single_turn(example)
    record = {"instruction": user, "input": "", "system": system}
    if example.completion is not None:
        return record | {"output": example.completion}
    return record | {"chosen": example.chosen, "rejected": example.rejected}


def sharegpt(example: Example) -> dict[str, Any]:
    """Lay out for LLaMA-Factory: a conversation, with chosen and rejected beside it in a pair."""
    system, user = _single_turn(example)
    turns = [{"from": "human", "value": user}]
    if example.completion is not None:
        turns.append({"from": "gpt", "value": example.completion})
        return {"conversations": turns, "system": system}
    return {
        "conversations": turns,
        "system": system,
        "chosen": {"from": "gpt", "value": example.chosen},
        "rejected": {"from": "gpt", "value": example.rejected},
    }


LAYOUTS: dict[str, Layout] = {
    "trl": trl,
    "alpaca": alpaca,
    "sharegpt": sharegpt,
    "openai": openai,
    "parquet": trl,
}
"""By name; ``parquet`` has TRL's columns, for Hugging Face datasets."""

_INFO: dict[tuple[str, bool], dict[str, Any]] = {
    ("alpaca", False): {
        "columns": {"prompt": "instruction", "query": "input", "response": "output"}
    },
    ("alpaca", True): {
        "ranking": True,
        "columns": {
            "prompt": "instruction",
            "query": "input",
            "chosen": "chosen",
            "rejected": "rejected",
        },
    },
    ("sharegpt", False): {"formatting": "sharegpt", "columns": {"messages": "conversations"}},
    ("sharegpt", True): {
        "formatting": "sharegpt",
        "ranking": True,
        "columns": {"messages": "conversations", "chosen": "chosen", "rejected": "rejected"},
    },
}


def dataset_info(layout: str, file_name: str, *, pairs: bool) -> dict[str, Any] | None:
    """Describe a file to LLaMA-Factory, as an entry of its ``dataset_info.json``.

    Returns:
        The entry; ``None`` for a layout that is not LLaMA-Factory's.
    """
    info = _INFO.get((layout, pairs))
    if info is None:
        return None
    columns = info["columns"] | {"system": "system"}
    return {"file_name": file_name, **info, "columns": columns}


def _messages(prompt: tuple[Message, ...]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in prompt]


def _said(text: str | None) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text or ""}]


def _single_turn(example: Example) -> tuple[str, str]:
    """Return the system message, empty where there is none, and the one user turn.

    Raises:
        RowError: there are other turns.
    """
    roles = [message.role for message in example.prompt]
    if roles == ["system", "user"]:
        return example.prompt[0].content, example.prompt[1].content
    if roles == ["user"]:
        return "", example.prompt[0].content
    raise RowError(
        f"a prompt of the turns {', '.join(roles)} has no place in this layout",
        mend="export it for trl or openai",
    )
