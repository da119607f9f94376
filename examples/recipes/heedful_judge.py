"""verifiers, and prime-rl through it: a judge plug-in, for tasks whose data has a ``checklist``.

With this folder on PYTHONPATH: ``--taskset.task.judges '[{"id": "heedful_judge"}]'``.
"""

from __future__ import annotations

from typing import Any

import verifiers.v1 as vf
from reward import ALARM, REWARD

from heedful.rewards import for_verifiers

__all__ = ["HeedfulJudge"]

checklist_met = for_verifiers(REWARD, divergence=ALARM)


class HeedfulJudge(vf.Judge[float]):
    """Scores the last reply by the task's checklist; the critic is that of ``reward.py``."""

    async def score(self, task: Any, trace: Any) -> float:
        """Score a rollout; the trace gets heedful's metrics."""
        return await checklist_met(task, trace)
