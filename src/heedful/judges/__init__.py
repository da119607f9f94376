"""Judges turn a sample into a critique. Small judges compose into larger ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.lazy import exports

if TYPE_CHECKING:
    from heedful.judges.base import Judge
    from heedful.judges.code import Compiled, Measurement, Recorded, Rules
    from heedful.judges.compose import Cascade, Panel
    from heedful.judges.making import check_names, make_judge
    from heedful.judges.options import JudgeOptions

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

__getattr__ = exports(
    __name__,
    {
        "Cascade": "compose",
        "Compiled": "code",
        "Judge": "base",
        "JudgeOptions": "options",
        "Measurement": "code",
        "Panel": "compose",
        "Recorded": "code",
        "Rules": "code",
        "check_names": "making",
        "make_judge": "making",
    },
)
