"""Data to train a critic on: an expert's critiques, sampled and filtered, as IF-Critic's are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.lazy import exports

if TYPE_CHECKING:
    from heedful.critic.data.experts import Expert, sample_critiques
    from heedful.critic.data.filtering import Filtering, filter_critiques
    from heedful.critic.data.generator import checklist_data
    from heedful.critic.data.options import STAGES, FilterSettings

__all__ = [
    "STAGES",
    "Expert",
    "FilterSettings",
    "Filtering",
    "checklist_data",
    "filter_critiques",
    "sample_critiques",
]

__getattr__ = exports(
    __name__,
    {
        "STAGES": "options",
        "Expert": "experts",
        "FilterSettings": "options",
        "Filtering": "filtering",
        "checklist_data": "generator",
        "filter_critiques": "filtering",
        "sample_critiques": "experts",
    },
)
