"""Judges turn a sample into a critique. Small judges compose into larger ones."""

from __future__ import annotations

from heedful.judges.base import Judge
from heedful.judges.compiled import Compiled, Measurement
from heedful.judges.compose import Cascade, Panel
from heedful.judges.making import JudgeOptions, check_names, make_judge
from heedful.judges.recorded import Recorded
from heedful.judges.rules import Rules

__all__ = [
    "Cascade",
    "Compiled",
    "Judge",
    "JudgeOptions",
    "Measurement",
    "Panel",
    "Recorded",
    "Rules",
    "check_names",
    "make_judge",
]
