"""A model as a folder, in the layout that transformers saves: where it is, and which one it is."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, PositiveInt, ValidationError

from heedful.core.errors import InputError, UsageError
from heedful.core.files import PROMPT_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ModelFolder", "find_folder"]

RECORD = "heedful.json"
"""File beside a training's weights: how to ask the model, see :class:`Protocol`."""

BLOCK_BYTES = 64 * 2**10
BLOCKS = 1024
"""Blocks up to which a file is hashed whole; of a larger one, this many are, evenly apart.

Reading all weights can take minutes. Any training changes blocks everywhere in the file.
"""

_CONTENT = re.compile(
    r".*\.(safetensors|jinja|model)|pytorch_model.*\.(bin|json)|merges\.txt"
    r"|(config|generation_config|special_tokens_map|added_tokens|chat_template|vocab|tokenizer.*"
    r"|model.*)\.json"
)
"""The files that answers depend on; other files of a training don't count."""

_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)
_DOWNLOADED = ["*.json", "*.safetensors", "*.jinja", "*.model", "*.txt"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a trained model is to be asked."""

    prompt: str
    prompt_file: Path | None = None
    per_call: int | None = None  # constraints in one call; all by default
    measure: bool = False  # whether it is told what code counts
    max_tokens: int | None = None  # of a reply, when it is asked just so
    # divides the log-odds of its verdicts, which are then how often it is right; None: not known
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder that holds a model."""

    path: Path
    name: str  # in results: its last part, or the last two where that is a checkpoint
    digest: str
    protocol: Protocol | None


def find_folder(spelling: str) -> ModelFolder:
    """Find a model's folder."""
    path = Path(spelling).expanduser()
    name = spelling
    if path.is_dir():
        full = path.resolve()
        checkpoint = full.name.startswith("checkpoint-")
        name = f"{full.parent.name}/{full.name}" if checkpoint else full.name
    else:
        path = _download(spelling)
    if not (path / "config.json").is_file():
        if (path / "adapter_config.json").is_file():
            what, hint = "the folder holds an adapter without its model", "merge the two first"
        else:
            what = "the folder holds no model: it has no config.json"
            hint = "give the folder that save_pretrained wrote"
        raise UsageError(what, where=str(path), hint=hint)
    return ModelFolder(path, name, _digest(path), read_protocol(path / RECORD))


def _download(name: str) -> Path:
    """Take a model from the Hub's cache on this machine, or from the Hub."""
    from huggingface_hub import snapshot_download

    hint = "give a folder with a config.json, or a model's name on the Hugging Face Hub"
    if not _HUB_NAME.fullmatch(name):
        raise UsageError("no such folder", where=name, hint=hint)
    try:
        return Path(snapshot_download(name, allow_patterns=_DOWNLOADED))
    except (OSError, ValueError) as error:
        why = next(iter(str(error).strip().splitlines()), type(error).__name__)
        what = f"no such folder, and the Hub did not give such a model: {why}"
        raise UsageError(what, where=name, hint=hint) from None


def _digest(path: Path) -> str:
    digest = blake2b(digest_size=16)
    for file in sorted(path.iterdir()):
        if not _CONTENT.fullmatch(file.name) or not file.is_file():
            continue
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        for block in _blocks(file):
            digest.update(block)
    return digest.hexdigest()


def _blocks(file: Path) -> Iterator[bytes]:
    """Yield the file's blocks, or :data:`BLOCKS` of them, the first and the last included."""
    last = max(0, file.stat().st_size - 1) // BLOCK_BYTES
    count = min(last + 1, BLOCKS)
    with file.open("rb") as content:
        for number in range(count):
            content.seek(BLOCK_BYTES * (number * last // max(1, count - 1)))
            yield content.read(BLOCK_BYTES)


def read_protocol(record: Path) -> Protocol | None:
    """Read how a model is to be asked, from the file beside its weights, if there is one."""
    if not record.is_file():
        return None
    hint = 'write for example {"prompt": "plain"}, or delete the file and give --prompt'
    try:
        content = _Record.model_validate_json(record.read_bytes().removeprefix(BOM_UTF8))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        what = f"cannot be read: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise InputError(what, where=str(record), hint=hint) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error}", where=str(record), hint=hint) from error
    # The name of a file beside the record and nothing else: it comes with the weights.
    text = content.prompt_file
    file = record.with_name(PROMPT_TEXT) if text == PROMPT_TEXT else None
    if text is not None and (file is None or not file.is_file()):
        what = f"names a prompt text {text!r:.80} that isn't there"
        raise InputError(what, where=str(record), hint=f"put it into the folder as {PROMPT_TEXT}")
    return Protocol(
        content.prompt,
        file,
        content.per_call,
        content.measure,
        content.max_completion_tokens,
        content.confidence_temperature,
    )


class _Record(BaseModel):
    """What the file holds, beside what a training says of itself."""

    model_config = ConfigDict(strict=True)

    prompt: str
    prompt_file: str | None = None
    per_call: PositiveInt | None = None
    measure: bool = False
    max_completion_tokens: PositiveInt | None = None
    confidence_temperature: FiniteFloat | None = Field(default=None, gt=0)
