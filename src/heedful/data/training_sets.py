"""Data sets as training tools read them: a folder with the rows, a card, and what the tool wants.

Sources: the dataset formats of TRL 1.16 (conversational prompt-completion and preference), of
LLaMA-Factory (alpaca and sharegpt, and its ``dataset_info.json``), and of OpenAI's fine-tuning
(chat and preference).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.errors import InputError, RowError, UsageError
from heedful.core.files import PROMPT_TEXT
from heedful.core.outputs import atomically, make_folder, replacing, write_json
from heedful.core.text import markdown_cell

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from heedful.core.nouns import Message

_READ_BY = {
    "trl": "TRL (`load_dataset` on this folder; conversational format)",
    "parquet": "Hugging Face datasets and TRL (`load_dataset` on this folder)",
    "alpaca": "LLaMA-Factory (`dataset_info.json` is beside; alpaca format)",
    "sharegpt": "LLaMA-Factory (`dataset_info.json` is beside; sharegpt format)",
    "openai": "OpenAI's fine-tuning",
}

_BATCH = 1000
"""Rows that are written to Parquet at a time."""

_DATA = {"train.jsonl", "train.parquet"}
_OURS = {*_DATA, "dataset_info.json", "README.md", PROMPT_TEXT}


@dataclass(frozen=True, slots=True)
class Example:
    """One example to train on: a prompt, and a completion to learn, or one chosen over another.

    ``beside`` holds further columns, for the tools that let them pass.
    """

    id: str
    prompt: tuple[Message, ...]
    completion: str | None = None
    chosen: str | None = None
    rejected: str | None = None
    beside: Mapping[str, Any] = field(default_factory=dict)


Layout = Callable[[Example], dict[str, Any]]


def trl(example: Example) -> dict[str, Any]:
    """Lay out for TRL: conversational prompt and completion, or prompt, chosen and rejected."""
    record: dict[str, Any] = {"id": example.id, "prompt": _messages(example.prompt)}
    if example.completion is not None:
        return record | {"completion": _said(example.completion), **example.beside}
    return record | {
        "chosen": _said(example.chosen),
        "rejected": _said(example.rejected),
        **example.beside,
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
    system, turns = _dialogue(example)
    if len(turns) > 1:
        raise RowError(
            "a prompt of several turns has no place in the layout alpaca",
            hint="export it for sharegpt, trl or openai",
        )
    record = {"instruction": turns[0]["value"], "input": "", "system": system}
    if example.completion is not None:
        return record | {"output": example.completion}
    return record | {"chosen": example.chosen, "rejected": example.rejected}


def sharegpt(example: Example) -> dict[str, Any]:
    """Lay out for LLaMA-Factory: a conversation, with chosen and rejected beside it in a pair."""
    system, turns = _dialogue(example)
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
    """Describe a file to LLaMA-Factory, as an entry of its ``dataset_info.json``."""
    info = _INFO.get((layout, pairs))
    if info is None:
        return None
    columns = info["columns"] | {"system": "system"}
    return {"file_name": file_name, **info, "columns": columns}


def _messages(prompt: tuple[Message, ...]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in prompt]


def _said(text: str | None) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text or ""}]


def _dialogue(example: Example) -> tuple[str, list[dict[str, str]]]:
    """Return the system message, empty where there is none, and the turns after it."""
    first, *rest = example.prompt
    system, turns = (first.content, rest) if first.role == "system" else ("", [first, *rest])
    speakers = ["user", "assistant"] * (len(turns) // 2) + ["user"]
    if [turn.role for turn in turns] != speakers:
        roles = ", ".join(message.role for message in example.prompt)
        raise RowError(
            f"a prompt of the turns {roles} has no place in this layout",
            hint="export it for trl or openai",
        )
    said_by = {"user": "human", "assistant": "gpt"}
    return system, [{"from": said_by[turn.role], "value": turn.content} for turn in turns]


# --- the folder ---


class Dataset(NamedTuple):
    """Place and layout of a data set, and its name in the card and in LLaMA-Factory.

    The folder is new, empty, or holds an earlier data set, which is replaced.
    """

    folder: Path
    to: str
    name: str


def take(
    folder: str | os.PathLike[str],
    to: str,
    inputs: Sequence[Path],
    name: str | None = None,
) -> Dataset:
    """Make the folder, before anything is read."""
    if to not in LAYOUTS:
        raise UsageError(f"no such layout: {to!r}", hint=f"use one of {', '.join(LAYOUTS)}")
    path = Path(folder)
    if path.suffix in {".jsonl", ".json", ".parquet"}:
        what = "an export is a folder, with the data, its card and what the tool wants"
        raise UsageError(what, where=str(path), hint=f"name it {path.with_suffix('').name}")
    make_folder(path)
    names = {entry.name for entry in path.iterdir()}
    others = sorted(names - _OURS) or sorted(names if not names & _DATA else ())
    if others:
        raise UsageError(
            f"the folder holds {others[0]!r}, which isn't part of an export",
            where=str(path),
            hint="name a new folder",
        )
    if any(data.is_file() and data.resolve().parent == path.resolve() for data in inputs):
        raise UsageError("the output is the input", where=str(path), hint="name another folder")
    return Dataset(path, to, name or path.resolve().name)


def write(
    dataset: Dataset,
    examples: Iterable[Example],
    what: str,
    sections: Callable[[], Sequence[str]],
    *,
    pairs: bool,
) -> Path | None:
    """Write the examples in constant memory, a card, and what the tool wants beside."""
    folder, to, name = dataset
    rows = iter(_laid_out(examples, to))
    first = next(rows, None)
    if first is None:
        return None
    file = folder / ("train.parquet" if to == "parquet" else "train.jsonl")
    writer = _write_parquet if to == "parquet" else _write_lines
    writer(file, chain([first], rows), list(first))
    for stale in _OURS - {file.name}:  # of an earlier data set
        (folder / stale).unlink(missing_ok=True)
    info = dataset_info(to, file.name, pairs=pairs)
    if info is not None:
        write_json(folder / "dataset_info.json", {name: info})
    with atomically(folder / "README.md") as written:
        written.write(card(name, to, file.name, what, sections()))
    return file


def _laid_out(examples: Iterable[Example], to: str) -> Iterator[dict[str, Any]]:
    for example in examples:
        try:
            yield LAYOUTS[to](example)
        except RowError as error:
            raise InputError(f"{example.id}: {error.what}", hint=error.hint) from error


def _write_lines(path: Path, rows: Iterator[dict[str, Any]], _: Sequence[str]) -> None:
    with atomically(path) as lines:
        for row in rows:
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def _write_parquet(path: Path, rows: Iterator[dict[str, Any]], columns: Sequence[str]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise UsageError(
            f"pyarrow, which writes Parquet, cannot be imported ({error})",
            hint="pip install 'heedful[parquet]', or export to trl",
        ) from error
    text, places = pa.string(), pa.list_(pa.int64())
    messages = pa.list_(pa.struct([("role", text), ("content", text)]))
    words = [("number", pa.int64()), ("constraint", text), ("verdict", text)]
    segment = pa.struct([*words, ("chosen", places), ("rejected", places)])
    types = {
        **dict.fromkeys(("prompt", "completion", "chosen", "rejected"), messages),
        **dict.fromkeys(("reward", "chosen_reward", "rejected_reward"), pa.float64()),
        "segments": pa.list_(segment),
    }
    schema = pa.schema([(column, types.get(column, text)) for column in columns])
    try:
        with replacing(path) as part, pq.ParquetWriter(part, schema) as writer:
            while batch := list(islice(rows, _BATCH)):
                writer.write_table(pa.Table.from_pylist(batch, schema))
    except pa.ArrowException as error:
        raise UsageError(f"cannot be written: {error}", where=str(path)) from error


# --- the card ---


def card(name: str, layout: str, file: str, what: str, sections: Sequence[str]) -> str:
    """Write a card, in Markdown with the metadata that the Hugging Face hub reads."""
    about = (
        f"{what}, exported by heedful for {_READ_BY[layout]}. The texts are their authors'; set "
        "the licence that they allow."
    )
    return "\n\n".join([_metadata(name, file), f"# {markdown_cell(name)}", about, *sections]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Lay out a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _metadata(name: str, file: str) -> str:
    # JSON strings are YAML strings, whatever the name holds.
    return (
        f"---\npretty_name: {json.dumps(name, ensure_ascii=False)}\n"
        "task_categories:\n- text-generation\n"
        f"configs:\n- config_name: default\n  data_files: {json.dumps(file)}\n---"
    )


def _cell(value: Any) -> str:
    return markdown_cell(f"{value:,}" if isinstance(value, int) else str(value))
