"""The settings of a training: the same names as flags, in a file, and in Python.

IF-Critic (arXiv 2511.01014) publishes neither learning rates nor epochs nor beta. All defaults here
are ours: what is usual for models of a few billion parameters.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from heedful.core.errors import InputError, UsageError
from heedful.core.files import contents
from heedful.data.formats.fields import explain

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

Scheduler = Literal["linear", "cosine", "constant", "constant_with_warmup"]
Attention = Literal["eager", "sdpa", "flash_attention_2", "flash_attention_3"]
Optimizer = Literal["adamw", "adamw_8bit", "adafactor"]
Tracker = Literal["tensorboard", "wandb", "mlflow", "trackio"]

_ADAPTERS = ("lora_alpha", "lora_dropout", "lora_targets", "keep_adapter")
"""Settings that only an adapter has."""


class Settings(BaseModel):
    """Settings that fine-tuning and preference training share.

    The command line takes its flags, and their help, from these.

    Attributes:
        learning_rate: Peak learning rate. Default: 1e-5 for sft, 5e-7 for dpo; ten times that with
            LoRA.
        epochs: Passes over the data; may be a fraction. Default: 2 for sft, 1 for dpo.
        max_steps: Optimizer steps, instead of epochs.
        batch_size: Rows (or pairs) per device and forward pass. Default: 8 for sft, 4 for dpo.
        gradient_accumulation: Batches per optimizer step. Default: 2 for sft, 4 for dpo.
        max_length: Maximum tokens of prompt and critique. Longer rows are left out and counted,
            never cut. Default: the model's context.
        warmup: Share of the steps over which the learning rate rises.
        scheduler: How the learning rate falls after the warmup.
        weight_decay: Weight decay of AdamW.
        max_grad_norm: Maximum gradient norm; larger gradients are clipped.
        seed: Seed for the order of rows, dropout and LoRA's initial weights.
        dtype: Precision of the computation; auto is bfloat16 on a GPU and float32 on a CPU.
            Trained weights stay in float32; weights that LoRA freezes take this dtype.
        gradient_checkpointing: Recompute activations to save memory. Default: on a GPU, from a
            billion parameters on.
        lora_rank: Rank of a LoRA adapter, which is trained instead of all weights.
        lora_alpha: Scale of the adapter. Default: twice the rank.
        lora_dropout: Dropout on the adapter's input.
        lora_targets: Layers that get an adapter, by name. Default: all linear layers.
        lora_4bit: Keep the frozen weights in four bits (QLoRA, arXiv 2305.14314: NF4 with double
            quantization).
        attention: Attention implementation, by transformers' name. Default: transformers' choice.
        optimizer: AdamW, AdamW with 8-bit state, or Adafactor (arXiv 1804.04235).
        keep_adapter: Keep the adapter beside the merged model.
        save_every: Steps between checkpoints. Default: ten minutes.
        eval_every: Steps between evaluations. Default: a tenth of the training.
        keep: Number of recent checkpoints to keep.
        select: Which weights to publish: the best evaluated ones, or the last.
        eval_batch_size: Critiques generated at a time in an evaluation.
        max_completion_tokens: Maximum tokens of a critique in an evaluation. Default: twice the
            longest critique in the training data.
        per_call: Constraints per request in an evaluation, and per example made from code's
            verdicts. Default: as exported, else all.
        measure: Whether prompts contain counts by code (critic export --measure). Default: as
            exported.
        chat_template: A chat template file (.jinja), or plain for ours. Default: the
            tokenizer's own.
        prompt: The prompt that the critiques answer, where the data doesn't name it.
        prompt_file: The file that replaced the prompt's text in the export.
        report_to: Experiment trackers that receive losses and evaluations. Each reads its address
            and project from its own environment variables.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    stage: ClassVar[Literal["sft", "dpo"]]
    adapter_rate: ClassVar[float]  # the default of LoRA, whose weights start from nothing

    learning_rate: float = Field(gt=0)
    epochs: float = Field(default=1, gt=0)
    max_steps: int | None = Field(default=None, ge=1)
    batch_size: int = Field(default=4, ge=1)
    gradient_accumulation: int = Field(default=4, ge=1)
    max_length: int | None = Field(default=None, ge=2)
    warmup: float = Field(default=0.05, ge=0, lt=1)
    scheduler: Scheduler = "cosine"
    weight_decay: float = Field(default=0.0, ge=0)
    max_grad_norm: float = Field(default=1.0, gt=0)
    seed: int = Field(default=0, ge=0)
    dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    gradient_checkpointing: bool | None = None
    lora_rank: int | None = Field(default=None, ge=1)
    lora_alpha: float | None = Field(default=None, gt=0)
    lora_dropout: float = Field(default=0.0, ge=0, lt=1)
    lora_targets: tuple[str, ...] = ()
    lora_4bit: bool = False
    attention: Attention | None = None
    optimizer: Optimizer = "adamw"
    keep_adapter: bool = False
    save_every: int | None = Field(default=None, ge=1)
    eval_every: int | None = Field(default=None, ge=1)
    keep: int = Field(default=1, ge=1)
    select: Literal["best", "last"] = "best"
    eval_batch_size: int = Field(default=16, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    per_call: int | None = Field(default=None, ge=1)
    measure: bool | None = None
    chat_template: str | None = None
    prompt: str | None = None
    prompt_file: Path | None = None
    report_to: tuple[Tracker, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _adapter_rate(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("lora_rank"):
            return {"learning_rate": cls.adapter_rate, **values}
        return values

    @model_validator(mode="after")
    def _adapted(self) -> Self:
        if self.lora_4bit and self.lora_rank is None:
            message = "weights in four bits are trained by an adapter: give --lora-rank as well"
            raise ValueError(message)
        if self.lora_rank is None:
            given = [name for name in _ADAPTERS if getattr(self, name)]
            if given:
                flag = f"--{given[0].replace('_', '-')}"
                message = f"{flag} is of an adapter, and none is trained: give --lora-rank as well"
                raise ValueError(message)
        return self


class SftSettings(Settings):
    """Settings of fine-tuning; see :class:`Settings` for the others.

    Attributes:
        group_by_length: Batch rows of similar length to reduce padding; the order of rows is then
            less random.
        share_prompts: Compute once what the rows of one response begin with. They share batches
            then. Not with FlashAttention, or models whose attention isn't full.
        batch_tokens: Tokens per device and forward pass, padding included, instead of batch_size
            rows. Needs share_prompts.
    """

    stage = "sft"
    adapter_rate = 1e-4
    learning_rate: float = Field(default=1e-5, gt=0)
    epochs: float = Field(default=2, gt=0)
    batch_size: int = Field(default=8, ge=1)
    gradient_accumulation: int = Field(default=2, ge=1)
    group_by_length: bool = False
    share_prompts: bool = True
    batch_tokens: int | None = Field(default=None, ge=1)


class DpoSettings(Settings):
    """Settings of preference training; see :class:`Settings` for the others.

    Attributes:
        beta: KL penalty strength (Rafailov et al. 2023, arXiv 2305.18290).
        sft_weight: Weight of the SFT loss on the chosen critique, per token; 0 for none.
    """

    stage = "dpo"
    adapter_rate = 5e-6
    learning_rate: float = Field(default=5e-7, gt=0)
    beta: float = Field(default=0.1, gt=0)
    sft_weight: float = Field(default=0.0, ge=0)


_Kind = TypeVar("_Kind", bound=Settings)


def load_settings(
    kind: type[_Kind], file: str | os.PathLike[str] | None, given: Mapping[str, Any]
) -> _Kind:
    """Merge the settings of a file and of flags."""
    path = None if file is None else Path(file)
    from_file = {} if path is None else _placed(_read(path), path.parent)
    own = {name: value for name, value in given.items() if value is not None}
    for values, where in ((from_file, str(path)), (from_file | own, "")):
        try:
            settings = kind.model_validate(values)
        except ValidationError as error:
            raise UsageError(explain(error), where=where, hint="see docs/training.md") from None
    return settings


def _read(path: Path) -> dict[str, Any]:
    try:
        text = contents(path).decode("utf-8-sig")
        values = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        hint = 'write lines such as learning_rate = 1e-5 (TOML), or {"learning_rate": 1e-5} (.json)'
        raise InputError(f"not a settings file: {error}", where=str(path), hint=hint) from None
    if not isinstance(values, dict):
        raise InputError("not a settings file: it holds no object", where=str(path))
    return values


def _placed(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Resolve relative paths against the settings file's folder."""
    files = {name: values[name] for name in ("prompt_file", "chat_template") if values.get(name)}
    placed = {
        name: str(folder / value)
        for name, value in files.items()
        if isinstance(value, str) and (folder / value).exists()
    }
    return values | placed
