"""Meta-evaluation: how good is a judge, against known verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.lazy import exports

if TYPE_CHECKING:
    from heedful.analysis.meta.job import meta, meta_async

__all__ = ["meta", "meta_async"]

__getattr__ = exports(__name__, {"meta": "job", "meta_async": "job"})
