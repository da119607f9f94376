"""Metrics over judgments: published rates, their uncertainty, and the summary of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.lazy import exports

if TYPE_CHECKING:
    from heedful.metrics.rates import RateEstimate
    from heedful.metrics.summary import Summary, scores

__all__ = ["RateEstimate", "Summary", "scores"]

__getattr__ = exports(
    __name__, {"RateEstimate": "rates", "Summary": "summary", "scores": "summary"}
)
