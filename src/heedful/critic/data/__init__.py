"""Data to train a critic on: an expert's critiques, sampled and filtered, as IF-Critic's are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.lazy import exports

if TYPE_CHECKING:
    from heedful.critic.data.experts import Expert, sample_critiques
    from heedful.critic.data.filtering import Filtering, filter_critiques
    from heedful.critic.data.generator import checklist_data
    from heedful.critic.data.options import STAGES, FilterSettings
    from heedful.critic.data.selection import CATEGORIES, SelectedInstructions, select

__all__ = [
    "CATEGORIES",
    "STAGES",
    "Expert",
    "FilterSettings",
    "Filtering",
    "SelectedInstructions",
    "checklist_data",
    "filter_critiques",
    "sample_critiques",
    "select",
]

__getattr__ = exports(
    __name__,
    {
        "CATEGORIES": "selection",
        "STAGES": "options",
        "Expert": "experts",
        "FilterSettings": "options",
        "Filtering": "filtering",
        "SelectedInstructions": "selection",
        "checklist_data": "generator",
        "filter_critiques": "filtering",
        "sample_critiques": "experts",
        "select": "selection",
    },
)
