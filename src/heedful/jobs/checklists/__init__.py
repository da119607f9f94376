"""Make checklists with a model; compile or lint those there are."""

from __future__ import annotations

from heedful.jobs.checklists.decomposer import Decomposer, Decomposition
from heedful.jobs.checklists.making import checklist
from heedful.jobs.checklists.prompt import NAMES, make

__all__ = [
    "NAMES",
    "Decomposer",
    "Decomposition",
    "checklist",
    "make",
]
