"""Trainings whose weights lie in shards over several processes: FSDP2, and ZeRO of DeepSpeed.

``accelerate launch`` chooses them, by its flags or its configuration, and the trainer follows. No
process can generate from its shard alone, and no two generate in step, so evaluations are made by
whole models that are loaded from what was saved.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def is_sharded(trainer: Any) -> bool:
    """Tell whether a trainer's weights are in shards."""
    return bool(trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled)


def check(trainer: Any) -> None:
    """Refuse what cannot be trained, and have ZeRO's third stage gather weights to save them."""
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
    """Have transformers load whole weights, which it divides in ZeRO's third stage."""
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
    """Have FSDP gather weights that it would write in shards; checkpoints stay in shards."""
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
