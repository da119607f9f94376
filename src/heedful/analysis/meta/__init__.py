"""Meta-evaluation: how good is a judge, against known verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.lazy import exports

if TYPE_CHECKING:
    from heedful.analysis.meta.job import judge_accuracy, judge_accuracy_async

__all__ = ["judge_accuracy", "judge_accuracy_async"]

__getattr__ = exports(__name__, {"judge_accuracy": "job", "judge_accuracy_async": "job"})
