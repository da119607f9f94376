"""Judges turn a sample into a critique. Small judges compose into larger ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.judges.base import Judge
from heedful.judges.compose import Cascade, Panel
from heedful.judges.recorded import Recorded
from heedful.judges.rules import Rules

if TYPE_CHECKING:
    from heedful.judges.compiled import Compiled, Measurement

__all__ = ["Cascade", "Compiled", "Judge", "Measurement", "Panel", "Recorded", "Rules"]


def __getattr__(name: str) -> Any:
    """Import the compiler only for those who use it: it is larger than all else here."""
    if name in ("Compiled", "Measurement"):
        from heedful.judges import compiled

        return getattr(compiled, name)
    raise AttributeError(name)
