"""Exporting critiques and pairs for training tools: a folder that they read as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.critic.card import card
from heedful.critic.examples import Examples
from heedful.critic.layouts import LAYOUTS, dataset_info
from heedful.critic.outputs import make_folder, summary_path
from heedful.errors import InputError, RowError, UsageError
from heedful.formats.base import atomically

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

__all__ = ["export"]

_BATCH = 1000
"""Rows that are written to Parquet at a time."""

_DATA = {"train.jsonl", "train.parquet"}
_OURS = {*_DATA, "dataset_info.json", "README.md"}


def export(  # noqa: PLR0913 - the options of a command
    data: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    to: str = "trl",
    name: str | None = None,
    format: str | None = None,  # noqa: A002 - the name users know from the command line
    prompt: str | os.PathLike[str] | None = None,
    funnel: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Write a folder with the examples, a dataset card, and what the tool wants beside.

    Args:
        data: pairs as ``heedful critic pairs`` writes them, or samples with final critiques.
        output: the folder: new, empty, or with an earlier export, which is replaced.
        to: one of :data:`heedful.critic.layouts.LAYOUTS`.
        name: of the dataset; the folder's unless given.
        format: of samples; found out from the file unless given.
        prompt: a file whose text replaces the prompt of the critiques' wire.
        funnel: the summary of the filters, for the card.

    Returns:
        What was written: ``pairs`` (whether), ``file``, ``counts``, rows ``dropped``, ``problems``.

    Raises:
        InputError: a file is missing, empty or in no known format, or no row can be used.
        UsageError: there is no such layout, or the folder cannot be written.
    """
    if to not in LAYOUTS:
        raise UsageError(f"there is no layout {to!r}", mend=f"use one of {', '.join(LAYOUTS)}")
    examples = Examples(data, format=format, prompt=prompt)
    told = {"pairs": _beside(Path(data)), "funnel": _json(funnel) if funnel else None}
    folder = Path(output)
    _take(folder, Path(data))
    file = folder / ("train.parquet" if to == "parquet" else "train.jsonl")
    rows = _laid_out(examples, to)
    if to == "parquet":
        _write_parquet(file, rows, pairs=examples.pairs)
    else:
        with atomically(file) as lines:
            for row in rows:
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")
    if not examples.counts["examples"]:
        file.unlink()
        first = f"; the first: {examples.problems[0]['problem']}" if examples.problems else ""
        raise InputError(f"no row can be exported{first}", where=str(data))
    for stale in _OURS - {file.name}:  # of an earlier export
        (folder / stale).unlink(missing_ok=True)
    name = name or folder.resolve().name
    info = dataset_info(to, file.name, pairs=examples.pairs)
    if info is not None:
        with atomically(folder / "dataset_info.json") as written:
            written.write(json.dumps({name: info}, ensure_ascii=False, indent=2) + "\n")
    with atomically(folder / "README.md") as written:
        written.write(card(name, to, file.name, examples, told))
    return {
        "pairs": examples.pairs,
        "file": str(file),
        "counts": dict(examples.counts),
        "dropped": sum(n for key, n in examples.counts.items() if key.startswith("dropped:")),
        "problems": examples.problems,
    }


def _laid_out(examples: Examples, to: str) -> Iterator[dict[str, Any]]:
    for example in examples:
        try:
            yield LAYOUTS[to](example)
        except RowError as error:
            raise InputError(f"{example.id}: {error.what}", mend=error.mend) from error


def _take(folder: Path, data: Path) -> None:
    """Make the folder, or refuse one that holds something else than an export."""
    if folder.suffix in {".jsonl", ".json", ".parquet"}:
        what = "an export is a folder, with the data, its card and what the tool wants"
        raise UsageError(what, where=str(folder), mend=f"name it {folder.with_suffix('').name}")
    make_folder(folder)
    names = {path.name for path in folder.iterdir()}
    others = sorted(names - _OURS) or sorted(names if not names & _DATA else ())
    if others:
        raise UsageError(
            f"the folder holds {others[0]!r}, which is no part of an export",
            where=str(folder),
            mend="name a new folder",
        )
    if data.resolve().parent == folder.resolve():
        raise UsageError("the output is the input", where=str(folder), mend="name another folder")


def _beside(data: Path) -> dict[str, Any] | None:
    """Read the summary that lies beside pairs, if any."""
    path = summary_path(data)
    return _json(path) if path.is_file() else None


def _json(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"this is no summary: {error}", where=str(path)) from error
    if not isinstance(value, dict):
        raise InputError("this is no summary: no JSON object", where=str(path))
    return value


def _write_parquet(path: Path, rows: Iterator[Mapping[str, Any]], *, pairs: bool) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise UsageError(
            f"pyarrow, which writes Parquet, cannot be imported ({error})",
            mend="pip install 'heedful[parquet]', or export to trl",
        ) from error
    text, places = pa.string(), pa.list_(pa.int64())
    messages = pa.list_(pa.struct([("role", text), ("content", text)]))
    segment = pa.struct(
        [
            ("number", pa.int64()),
            ("constraint", text),
            ("verdict", text),
            ("chosen", places),
            ("rejected", places),
        ]
    )
    answers = [("chosen", messages), ("rejected", messages), ("segments", pa.list_(segment))]
    schema = pa.schema(
        [
            ("id", text),
            ("wire", text),
            ("prompt", messages),
            *(answers if pairs else [("completion", messages)]),
        ]
    )
    part = path.with_name(path.name + ".part")
    try:
        with pq.ParquetWriter(part, schema) as writer:
            batch: list[Mapping[str, Any]] = []
            for row in rows:
                batch.append(row)
                if len(batch) == _BATCH:
                    writer.write_table(pa.Table.from_pylist(batch, schema))
                    batch = []
            if batch:
                writer.write_table(pa.Table.from_pylist(batch, schema))
        part.replace(path)
    except (OSError, pa.ArrowException) as error:
        raise UsageError(f"cannot be written: {error}", where=str(path)) from error
