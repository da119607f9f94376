"""TRL's trainers, configured from our settings and silenced; and batches that share beginnings.

The constraints of one response make rows that differ in their last lines only. Such rows become one
tree: their common beginning, computed once, and behind it a branch for each row. A branch sees the
beginning and itself, so losses and gradients are those of the rows one by one.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from heedful.core.errors import HeedfulWarning, RunError, UsageError
from heedful.models.engine import attends_fully, sharing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from heedful.critic.training.rows import Chat, Encoded
    from heedful.critic.training.settings import DpoSettings, Settings, SftSettings
    from heedful.data.training_sets import Example


def is_sharded(trainer: Any) -> bool:
    """Tell whether a trainer's weights are in shards."""
    return bool(trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled)


def check_sharding(trainer: Any) -> None:
    """Refuse FSDP 1, and make ZeRO stage 3 gather weights for saving."""
    state = trainer.accelerator.state
    if trainer.is_fsdp_enabled and state.fsdp_plugin.fsdp_version == 1:
        raise UsageError(
            "the first version of FSDP is not supported",
            hint="launch with --fsdp_version 2, or fsdp_version: 2 in accelerate's configuration",
        )
    if trainer.is_deepspeed_enabled:
        optimisation = state.deepspeed_plugin.deepspeed_config["zero_optimization"]
        optimisation["stage3_gather_16bit_weights_on_model_save"] = True


@contextmanager
def loading_whole() -> Iterator[None]:
    """Make transformers load whole weights despite ZeRO stage 3."""
    from transformers.integrations import deepspeed

    reference = deepspeed._hf_deepspeed_config_weak_ref  # noqa: SLF001 - there is only a setter
    deepspeed.unset_hf_deepspeed_config()
    try:
        yield
    finally:
        deepspeed._hf_deepspeed_config_weak_ref = reference  # noqa: SLF001


def save_whole(trainer: Any, folder: Path) -> None:
    """Write all weights to a folder; every process must call it, the first one writes."""
    with _gathered(trainer):
        trainer.save_model(str(folder))
    trainer.accelerator.wait_for_everyone()


@contextmanager
def _gathered(trainer: Any) -> Iterator[None]:
    """Make FSDP gather weights for saving; checkpoints stay sharded."""
    if not trainer.is_fsdp_enabled:
        yield
        return
    from torch.distributed.fsdp import StateDictType

    plugin = trainer.accelerator.state.fsdp_plugin
    before, plugin.state_dict_type = plugin.state_dict_type, StateDictType.FULL_STATE_DICT
    try:
        yield
    finally:
        plugin.state_dict_type = before


_OPTIMIZERS = {"adamw": "adamw_torch_fused", "adamw_8bit": "adamw_8bit", "adafactor": "adafactor"}
"""By transformers' names."""

_LESS_MEMORY = (
    "try a smaller --batch-size with more --gradient-accumulation, --gradient-checkpointing, "
    "a smaller --max-length, or --lora-rank"
)

_LARGE = 1_000_000_000
"""Parameters from which on activations are computed twice by default, to save memory."""


def a_tenth(steps: int) -> int:
    """Return a tenth of the steps, at least one."""
    return max(1, math.ceil(steps / 10))


def computing_dtype(settings: Settings) -> str:
    """Return the dtype of the computation: by default bfloat16 on a GPU, float32 on a CPU."""
    import torch

    if settings.dtype != "auto":
        return settings.dtype
    return "bfloat16" if torch.cuda.is_available() else "float32"


def sft_trainer(
    model: Path,
    chat: Chat,
    rows: Sequence[tuple[Example, Encoded]],
    folder: Path,
    settings: SftSettings,
) -> Any:
    """Make TRL's trainer that learns answers, and nothing of the prompts."""
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    model_kind = skeleton(model)
    encoded = [answer for _, answer in rows]
    given: dict[str, Any] = {}
    if shares(model_kind, settings):
        data: list[dict[str, Any]] = [{"trees": each} for each in batches(encoded, settings)]
        arguments = _arguments(folder, settings, model_kind, batch_size=1)
        arguments["remove_unused_columns"] = False
        given["data_collator"] = collator(chat.tokenizer.pad_token_id)
    else:
        data = [
            {
                "input_ids": [*row.prompt, *row.answer],
                "labels": [IGNORED] * len(row.prompt) + row.answer,
            }
            for row in encoded
        ]
        arguments = _arguments(folder, settings, model_kind)
        if settings.group_by_length:
            arguments["train_sampling_strategy"] = "group_by_length"
    return SFTTrainer(
        model=str(model),
        args=SFTConfig(**arguments, dataset_kwargs={"skip_prepare_dataset": True}),
        train_dataset=Dataset.from_list(data),
        processing_class=chat.tokenizer,
        peft_config=_lora(settings),
        **given,
    )


def dpo_trainer(
    model: Path,
    chat: Chat,
    rows: Sequence[tuple[Example, Encoded, Encoded]],
    folder: Path,
    settings: DpoSettings,
) -> Any:
    """Make TRL's trainer that prefers one answer to another.

    The model is given by its folder, never as an object: of an object TRL takes the reference from
    where it was once loaded, whatever has become of it since. The reference's log-probabilities
    are computed again at each step.
    """
    from datasets import Dataset
    from trl import DPOConfig, DPOTrainer

    data = [
        {
            "prompt": [
                message.model_dump(include={"role", "content"}) for message in example.prompt
            ],
            "chosen": [{"role": "assistant", "content": example.chosen}],
            "rejected": [{"role": "assistant", "content": example.rejected}],
        }
        for example, *_ in rows
    ]
    losses: dict[str, Any] = {"loss_type": ["sigmoid"]}
    if settings.sft_weight:
        losses = {"loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, settings.sft_weight]}
    arguments = _arguments(folder, settings, skeleton(model))
    return DPOTrainer(
        model=str(model),
        args=DPOConfig(
            **arguments,
            **losses,
            beta=settings.beta,
            precompute_ref_log_probs=False,
        ),
        train_dataset=Dataset.from_list(data),
        processing_class=chat.tokenizer,
        peft_config=_lora(settings),
    )


def skeleton(model: Path) -> Any:
    """Make a model without weights, to see what kind it is and how large."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(model))


def _arguments(
    folder: Path,
    settings: Settings,
    model: Any,
    *,
    batch_size: int | None = None,
) -> dict[str, Any]:
    """Return the arguments that both of TRL's configurations share."""
    import torch
    from accelerate import PartialState

    gpu = torch.cuda.is_available()
    dtype = computing_dtype(settings)
    PartialState(cpu=not gpu)
    checkpointing = settings.gradient_checkpointing
    return {
        "output_dir": str(folder),
        "learning_rate": settings.learning_rate,
        "num_train_epochs": settings.epochs,
        "max_steps": settings.max_steps or -1,
        "per_device_train_batch_size": batch_size or settings.batch_size,
        "gradient_accumulation_steps": settings.gradient_accumulation,
        "max_length": None,  # longer rows were left out, and counted
        "warmup_steps": settings.warmup,
        "lr_scheduler_type": settings.scheduler,
        "weight_decay": settings.weight_decay,
        "max_grad_norm": settings.max_grad_norm,
        "seed": settings.seed,
        "bf16": dtype == "bfloat16",
        "use_cpu": not gpu,
        "optim": _OPTIMIZERS[settings.optimizer],
        "model_init_kwargs": _loading(settings, dtype),
        "gradient_checkpointing": (
            gpu and model.num_parameters() >= _LARGE if checkpointing is None else checkpointing
        ),
        "save_strategy": "steps" if settings.save_every else "no",  # then by the clock
        "save_steps": settings.save_every or 1,
        "save_total_limit": settings.keep,
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "report_to": list(settings.report_to) or "none",
        "disable_tqdm": True,
        "ddp_find_unused_parameters": False,
    }


def _loading(settings: Settings, dtype: str) -> dict[str, Any]:
    """Return how the model is loaded."""
    # Weights that are trained stay in float32: in bfloat16, small steps would round to nothing.
    options: dict[str, Any] = {"dtype": dtype if settings.lora_rank else "float32"}
    if settings.attention:
        options["attn_implementation"] = settings.attention
    if settings.lora_4bit:
        from transformers import BitsAndBytesConfig

        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=dtype,
        )
    return options


def _lora(settings: Settings) -> Any:
    if settings.lora_rank is None:
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=settings.lora_rank,
        lora_alpha=settings.lora_alpha or 2 * settings.lora_rank,
        lora_dropout=settings.lora_dropout,
        target_modules=list(settings.lora_targets) or "all-linear",
        task_type="CAUSAL_LM",
    )


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the libraries' own output."""
    import logging
    import warnings

    import datasets
    from transformers.utils import logging as of_transformers

    level, bars = of_transformers.get_verbosity(), of_transformers.is_progress_bar_enabled()
    others = [logging.getLogger(name) for name in ("trl", "accelerate", "peft", "torch")]
    levels = [library.level for library in others]
    shown = datasets.is_progress_bar_enabled()
    with ExitStack() as undo:
        undo.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", HeedfulWarning)
        of_transformers.set_verbosity_error()
        of_transformers.disable_progress_bar()
        datasets.disable_progress_bars()
        for library in others:
            library.setLevel(logging.ERROR)
        try:
            yield
        finally:
            of_transformers.set_verbosity(level)
            if bars:
                of_transformers.enable_progress_bar()
            if shown:
                datasets.enable_progress_bars()
            for library, before in zip(others, levels, strict=True):
                library.setLevel(before)


@contextmanager
def learnt_positions_only() -> Iterator[None]:
    """Make TRL skip the logits of prompt tokens on a CPU too.

    Where there is no Triton it computes and drops those of each position, for the sake of
    accelerators that compile each shape anew. On a CPU that is half of a step's time, with the
    vocabulary of a small model and prompts that are longer than critiques.
    """
    from trl.trainer import utils

    chosen = getattr(utils, "_use_triton", None)
    if chosen is None:  # another TRL: as fast as it is by itself
        yield
        return
    utils._use_triton = lambda device: True  # noqa: ARG005, SLF001 - it offers no setting
    try:
        yield
    finally:
        utils._use_triton = chosen  # noqa: SLF001


@contextmanager
def memory() -> Iterator[None]:
    """Turn running out of memory into an error with a hint."""
    import torch

    try:
        yield
    except (MemoryError, RuntimeError) as error:  # torch's OutOfMemoryError is a RuntimeError
        # The CPU's allocator has no error of its own.
        if not isinstance(error, MemoryError | torch.OutOfMemoryError) and (
            "allocate memory" not in str(error)
        ):
            raise
        what = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
        raise RunError(f"out of memory: {what}", hint=_LESS_MEMORY) from error


IGNORED = -100
"""The label of tokens that are not trained on, by torch's convention."""

_PADDING = {"ids": 0, "labels": IGNORED, "positions": 0, "branches": -1}

Tree = dict[str, list[int]]
"""Tokens, labels, positions, and the branch that a token is of: 0 is the common beginning."""

Batch = list[Tree]
"""The trees of one forward pass."""


def shares(skeleton: Any, settings: SftSettings) -> bool:
    """Tell whether a model's attention can be masked token by token."""
    wanted = settings.share_prompts and settings.attention in (None, "sdpa")
    supported = getattr(skeleton, "_supports_sdpa", False)
    return wanted and supported and attends_fully(skeleton, skeleton.config.get_text_config())


def batches(rows: Sequence[Encoded], settings: SftSettings) -> list[Batch]:
    """Divide rows into batches of so many tokens or rows; every row is in one of them."""
    choice = random.Random(settings.seed)
    groups = []
    for members, shared in sharing([row.prompt for row in rows]):
        group = choice.sample([rows[at] for at in members], len(members))
        if settings.group_by_length:
            group.sort(key=len)
        groups.append((group, shared if len(group) > 1 else 0))
    choice.shuffle(groups)
    if settings.batch_tokens:
        return list(_by_tokens(groups, settings.batch_tokens))
    if settings.group_by_length:
        groups.sort(key=lambda group: max(map(len, group[0])))
    return _by_rows(groups, settings.batch_size)


_Groups = list[tuple[list["Encoded"], int]]
"""Rows with the number of tokens that all of them begin with."""


def _by_rows(groups: _Groups, size: int) -> list[Batch]:
    """Make batches of so many rows; what a tree leaves empty goes to the largest that fits."""
    trees: list[tuple[int, Tree]] = []
    for group, shared in groups:
        for at in range(0, len(group), size):
            part = group[at : at + size]
            trees.append((len(part), _tree(part, shared)))
    made: list[Batch] = []
    open_ones: dict[int, list[Batch]] = defaultdict(list)  # by how many rows still fit
    for rows, tree in sorted(trees, key=lambda each: -each[0]):
        room = next((room for room in range(rows, size) if open_ones[room]), size)
        if room == size:
            made.append([])
        batch = open_ones[room].pop() if room < size else made[-1]
        batch.append(tree)
        open_ones[room - rows].append(batch)
    return made


def _by_tokens(groups: _Groups, most: int) -> Iterator[Batch]:
    """Yield batches of at most so many tokens, padding included, unless one row has more."""
    trees = []
    for group, shared in groups:
        taken: list[Encoded] = []
        for row in group:
            if taken and shared + sum(len(each) - shared for each in [*taken, row]) > most:
                trees.append(_tree(taken, shared))
                taken = []
            taken.append(row)
        trees.append(_tree(taken, shared))
    batch: Batch = []
    for tree in sorted(trees, key=lambda tree: len(tree["ids"])):
        if batch and (len(batch) + 1) * len(tree["ids"]) > most:
            yield batch
            batch = []
        batch.append(tree)
    yield batch


def _tree(rows: Sequence[Encoded], shared: int) -> Tree:
    tree: Tree = {
        "ids": rows[0].prompt[:shared],
        "labels": [IGNORED] * shared,
        "positions": list(range(shared)),
        "branches": [0] * shared,
    }
    for number, row in enumerate(rows, start=1):
        asked = row.prompt[shared:]
        size = len(row) - shared
        tree["ids"] += asked + row.answer
        tree["labels"] += [IGNORED] * len(asked) + row.answer
        tree["positions"] += range(shared, len(row))
        tree["branches"] += [number] * size
    return tree


def collated(batch: Sequence[Tree], pad_token_id: int) -> dict[str, Any]:
    """Make the tensors of a forward pass."""
    import torch

    width = max(len(tree["ids"]) for tree in batch)
    padding = {**_PADDING, "ids": pad_token_id}
    ids, labels, positions, branches = (
        torch.tensor([tree[name] + [fill] * (width - len(tree[name])) for tree in batch])
        for name, fill in padding.items()
    )
    seen, sees = branches[:, None, None, :], branches[:, None, :, None]
    mask = ((seen == 0) | (seen == sees)).tril()
    return {
        "input_ids": ids,
        "labels": labels,
        "position_ids": positions,
        "attention_mask": mask,
    }


def collator(pad_token_id: int) -> Callable[[Sequence[dict[str, Any]]], dict[str, Any]]:
    """Make the collator of a data set whose rows are batches."""

    def made(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return collated([tree for row in rows for tree in row["trees"]], pad_token_id)

    return made
