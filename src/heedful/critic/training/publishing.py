"""The model at the end: an ordinary folder that transformers and vLLM serve."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from heedful.data.formats.base import write_json
from heedful.models.folder import PROMPT_TEXT, RECORD

if TYPE_CHECKING:
    from pathlib import Path

    from heedful.critic.training.chat import Chat


def publish(
    weights: Path,
    base: Path,
    chat: Chat,
    output: Path,
    about: dict[str, Any],
    *,
    prompt_file: Path | None,
    keep_adapter: bool,
) -> None:
    """Write the model's folder, which says how to ask the model.

    The weights are written in the dtype of the model that was trained, so that what serves the one
    serves the other. An adapter is added to its model in float32 first.
    """
    dtype = own_dtype(base)
    model = whole_model(weights, base)
    if keep_adapter and is_adapter(weights):
        (output / "adapter").mkdir(exist_ok=True)
        for file in weights.glob("adapter_*"):
            shutil.copy(file, output / "adapter")
    model = model.to(dtype)
    model.config.dtype = dtype
    # In both places: which of the two is heeded depends on how the base model was saved.
    model.config.get_text_config().eos_token_id = sorted(chat.ends)
    model.generation_config.eos_token_id = sorted(chat.ends)
    if chat.tokenizer.pad_token_id is not None:
        model.generation_config.pad_token_id = chat.tokenizer.pad_token_id
    model.save_pretrained(output)
    chat.tokenizer.save_pretrained(output)
    if prompt_file is not None:
        shutil.copyfile(prompt_file, output / PROMPT_TEXT)
        about = {**about, "prompt_file": PROMPT_TEXT}
    write_json(output / RECORD, {key: each for key, each in about.items() if each is not None})


def own_dtype(base: Path) -> Any:
    """Return the dtype of a model's folder."""
    import torch
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(base).get_text_config().dtype or torch.float32


def whole_model(weights: Path, base: Path, dtype: Any = None) -> Any:
    """Load what the trainer wrote; an adapter is added to its model, in float32."""
    import torch
    from transformers import AutoModelForCausalLM

    dtype = dtype or torch.float32
    if not is_adapter(weights):
        return AutoModelForCausalLM.from_pretrained(weights, dtype=dtype)
    from peft import PeftModel

    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    return PeftModel.from_pretrained(model, str(weights)).merge_and_unload().to(dtype)


def is_adapter(weights: Path) -> bool:
    """Tell whether the trainer wrote an adapter, not a model."""
    return (weights / "adapter_config.json").is_file()
