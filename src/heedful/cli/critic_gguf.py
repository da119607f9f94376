"""``heedful critic gguf``."""

from __future__ import annotations

import shlex
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import TYPE_CHECKING, Literal

from heedful.cli.running import Outcome, Quiet, RequiredOutput, print_outcome

if TYPE_CHECKING:
    from heedful.models.folder import ModelFolder


_EXACT = "--flash-attn off -ctk f32 -ctv f32"
"""By default llama.cpp rounds much of attention to float16."""

_CONTEXT = 16384
"""Tokens that a server keeps, where the model reads as many."""


def gguf(
    input: str,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: RequiredOutput,
    dtype: Literal["float32", "float16", "bfloat16"] | None = None,
    quiet: Quiet = False,
) -> int:
    """Write a trained model as a GGUF file.

    Args:
        input: The model's folder, or its name on the Hugging Face Hub.
        output: The file.
        dtype: Of the weights. Default: the folder's own.
        quiet: Print nothing.

    Returns:
        The exit code.
    """
    from heedful.critic.training.gguf_file import write_gguf
    from heedful.critic.training.trainer import quiet as no_noise
    from heedful.jobs.results import check_folder
    from heedful.models.folder import find_folder

    folder = find_folder(input)
    check_folder(output, [file for file in folder.path.iterdir() if file.is_file()])
    with no_noise():
        written = write_gguf(folder, output, dtype)
    about = (
        f"{folder.name}: {written.architecture}, {written.tensors} tensors in {written.dtype}, "
        f"texts cut as by {written.cut}"
    )
    next_step = _next(folder, output, min(_CONTEXT, written.context))
    return print_outcome(
        Outcome(view=lambda: about, written=[output], next_step=next_step), quiet=quiet
    )


def _next(folder: ModelFolder, output: Path, context: int) -> str:
    """Say how to serve and ask the model: a server does not know its prompt."""
    command = f"llama-server -m {shlex.quote(str(output))} --jinja -c {context} --port 8080"
    flags = ["--model", output.stem, "--base-url", "http://127.0.0.1:8080/v1"]
    if protocol := folder.protocol:
        flags += ["--prompt", protocol.prompt]
        if protocol.prompt_file:
            flags += ["--prompt-file", str(protocol.prompt_file)]
        if protocol.per_call:
            flags += ["--per-call", str(protocol.per_call)]
        if protocol.measure:
            flags += ["--measure"]
    asked = f"serve it with {command}, and ask it with {shlex.join(flags)}"
    return f"{asked}; to reproduce the folder's texts exactly, serve it with {_EXACT} too"
