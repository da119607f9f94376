"""The card of a data set: what is in it, how it was made, and what was left out."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
