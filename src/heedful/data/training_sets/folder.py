"""Writing a data set: a folder that a training tool reads as it is."""

from __future__ import annotations

import json
import re
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.errors import InputError, RowError, UsageError
from heedful.core.files import PROMPT_TEXT
from heedful.core.outputs import atomically, make_folder, replacing, write_json
from heedful.data.training_sets.layouts import LAYOUTS, dataset_info

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from heedful.data.training_sets.layouts import Example

__all__ = ["table"]

_SIGNS = re.compile(r"[\\`\[\]<>|]")

_READ_BY = {
    "trl": "TRL (`load_dataset` on this folder; conversational format)",
    "parquet": "Hugging Face datasets and TRL (`load_dataset` on this folder)",
    "alpaca": "LLaMA-Factory (`dataset_info.json` is beside; alpaca format)",
    "sharegpt": "LLaMA-Factory (`dataset_info.json` is beside; sharegpt format)",
    "openai": "OpenAI's fine-tuning",
}


def card(name: str, layout: str, file: str, what: str, sections: Sequence[str]) -> str:
    """Write a card, in Markdown with the metadata that the Hugging Face hub reads."""
    about = (
        f"{what}, exported by heedful for {_READ_BY[layout]}. The texts are their authors'; set "
        "the licence that they allow."
    )
    return "\n\n".join([_metadata(name, file), f"# {_plain(name)}", about, *sections]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Lay out a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _metadata(name: str, file: str) -> str:
    # JSON strings are YAML strings, whatever the name holds.
    return (
        f"---\npretty_name: {json.dumps(name, ensure_ascii=False)}\n"
        "task_categories:\n- text-generation\n"
        f"configs:\n- config_name: default\n  data_files: {json.dumps(file)}\n---"
    )


def _cell(value: Any) -> str:
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return _plain(text)


def _plain(text: str) -> str:
    """Keep text from being read as HTML, links or the end of a cell."""
    return " ".join(_SIGNS.sub(r"\\\g<0>", text).split())


_BATCH = 1000
"""Rows that are written to Parquet at a time."""

_DATA = {"train.jsonl", "train.parquet"}
_OURS = {*_DATA, "dataset_info.json", "README.md", PROMPT_TEXT}


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
