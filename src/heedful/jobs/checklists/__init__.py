"""Make checklists with a model; compile or lint those there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.lazy import exports

if TYPE_CHECKING:
    from heedful.jobs.checklists.making import Decomposer, Decomposition, checklist
    from heedful.jobs.checklists.prompt import NAMES, make

__all__ = [
    "NAMES",
    "Decomposer",
    "Decomposition",
    "checklist",
    "make",
]

__getattr__ = exports(
    __name__,
    {
        "NAMES": "prompt",
        "Decomposer": "making",
        "Decomposition": "making",
        "checklist": "making",
        "make": "prompt",
    },
)
