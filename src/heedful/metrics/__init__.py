"""Metrics over judgments: published rates, their uncertainty, and the summary of a run."""

from __future__ import annotations

from heedful.metrics.rates import RateEstimate
from heedful.metrics.summary import Summary, scores

__all__ = ["RateEstimate", "Summary", "scores"]
