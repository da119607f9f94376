"""Datasets of the Hugging Face hub, read through ``datasets`` (``heedful[hub]``).

They are named ``hf:OWNER/NAME``, with ``:CONFIG`` and ``@SPLIT`` (by default ``test``) behind it;
``hf://datasets/OWNER/NAME`` is the same.
"""

from __future__ import annotations

import atexit
import json
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.core.errors import InputError, UsageError
from heedful.data.formats.raw import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = re.compile(
    r"hf:(?:/{1,2}datasets/)?(?P<name>[\w.-]+/[\w.-]+)"
    r"(?::(?P<config>[\w.-]+))?(?:@(?P<split>[\w.-]+))?"
)


def is_named(source: object) -> bool:
    """Tell whether a source is a dataset of the hub rather than a file."""
    return _NAME.fullmatch(str(source)) is not None


def records(source: str) -> Iterator[Record]:
    """Stream a dataset's rows, without code that it may bring along."""
    match = _NAME.fullmatch(source)
    if match is None:
        raise UsageError(f"{source!r} names no dataset", hint="write hf:OWNER/NAME:CONFIG@SPLIT")
    name, config, split = match.group("name", "config", "split")
    try:
        from datasets import load_dataset
    except ImportError:
        raise UsageError(
            "reading from the Hugging Face hub needs datasets, which is not installed",
            hint="pip install 'heedful[hub]', or give a local file",
        ) from None
    split = split or "test"
    try:
        dataset = load_dataset(name, config, split=split, streaming=True)
        for number, row in enumerate(dataset, start=1):
            yield Record(number, dict(row))
    except Exception as error:
        first = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"the dataset cannot be read: {first}",
            where=f"hf:{name}" + (f":{config}" if config else "") + f"@{split}",
            hint="check the name, its configuration and split as hf:OWNER/NAME:CONFIG@SPLIT, "
            "and the connection",
        ) from error


@cache
def fetched(source: str) -> Path:
    """Write a dataset's rows into a file that goes with the process: input is read twice."""
    folder = Path(tempfile.mkdtemp(prefix="heedful-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    named = re.sub(r"[^\w.-]+", "-", source.removeprefix("hf:").lstrip("/"))
    path = folder / f"{named}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for record in records(source):
            file.write(json.dumps(record.data, default=_plain) + "\n")
    return path


def _plain(value: Any) -> Any:
    """Write what JSON does not have as text; what is no text is refused."""
    if isinstance(value, bytes) or not callable(getattr(value, "isoformat", None)):
        kind = type(value).__name__
        raise InputError(f"a column holds values of type {kind}, which are no text")
    return value.isoformat()
