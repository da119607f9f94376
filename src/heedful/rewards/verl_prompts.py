"""The prompts of a verl data set, by ground truth.

verl calls ``compute_score`` with the ground truth and ``extra_info`` of a row, not with its prompt.
"""

from __future__ import annotations

import json
import os
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from heedful.core.errors import InputError
from heedful.data.formats import files
from heedful.rewards import rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Data: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
"""A file of a data set, or several."""

Prompts: TypeAlias = "Mapping[bytes, Any]"
"""Prompts by the digest of their ground truth; ``None`` where two prompts have the same."""


def read(data: Data) -> Prompts:
    """Read the prompts of files."""
    prompts: dict[bytes, Any] = {}
    for path in map(Path, [data] if isinstance(data, str | os.PathLike) else data):
        any_row = False
        for record in files.records(path):
            about = record.data.get("reward_model")
            prompt = rows.prompt_of({"prompt": record.data.get("prompt")}).get("prompt")
            if not isinstance(about, dict) or "ground_truth" not in about or prompt is None:
                continue
            any_row = True
            key = _digest(about["ground_truth"])
            prompts[key] = prompt if prompts.setdefault(key, prompt) == prompt else None
        if not any_row:
            raise InputError(
                "no row has both a prompt and a reward_model with a ground_truth",
                where=str(path),
                hint="name the files that verl trains on (data.train_files)",
            )
    return prompts


def look_up(prompts: Prompts, truth: Any) -> dict[str, Any]:
    """Look up the prompt of a ground truth; empty where there is none, or more than one."""
    prompt = prompts.get(_digest(truth)) if prompts else None
    return {} if prompt is None else {"prompt": prompt}


def _digest(truth: Any) -> bytes:
    try:
        text = truth if isinstance(truth, str) else json.dumps(truth, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):  # keys of several kinds, or a circle
        text = repr(truth)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
