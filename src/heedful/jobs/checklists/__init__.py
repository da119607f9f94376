"""Make checklists with a model, and compile their constraints."""

from __future__ import annotations

from heedful.jobs.checklists.compiling import compile_checklists, compile_config
from heedful.jobs.checklists.decomposer import Decomposer, Decomposition
from heedful.jobs.checklists.making import checklist
from heedful.jobs.checklists.prompt import NAMES, make

__all__ = [
    "NAMES",
    "Decomposer",
    "Decomposition",
    "checklist",
    "compile_checklists",
    "compile_config",
    "make",
]
