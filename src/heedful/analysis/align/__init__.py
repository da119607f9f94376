"""Alignment: choose how a judge is asked by people's labels, and prove it on others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.lazy import exports

if TYPE_CHECKING:
    from heedful.analysis.align.induce import induce
    from heedful.analysis.align.job import align

__all__ = ["align", "induce"]

__getattr__ = exports(__name__, {"align": "job", "induce": "induce"})
