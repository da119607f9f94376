"""Training a critic, or a checklist generator, with TRL: fine-tuning, then preferences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.lazy import exports

if TYPE_CHECKING:
    from heedful.critic.training.session import Step, TrainingResult, train_dpo, train_sft
    from heedful.critic.training.settings import DpoSettings, SftSettings, load_settings

__all__ = [
    "DpoSettings",
    "SftSettings",
    "Step",
    "TrainingResult",
    "load_settings",
    "train_dpo",
    "train_sft",
]

__getattr__ = exports(
    __name__,
    {
        "DpoSettings": "settings",
        "SftSettings": "settings",
        "Step": "session",
        "TrainingResult": "session",
        "load_settings": "settings",
        "train_dpo": "session",
        "train_sft": "session",
    },
)
