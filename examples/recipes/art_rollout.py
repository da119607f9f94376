"""ART: ``await rewarded(trajectory, checklist)`` at the end of a rollout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reward import score

if TYPE_CHECKING:
    from art import Trajectory


async def rewarded(trajectory: Trajectory, checklist: Any) -> Trajectory:
    """Set the reward of a trajectory, and its metrics."""
    *prompt, reply = trajectory.messages()
    found = await score(checklist, [reply], prompt=prompt)
    trajectory.reward = found.pop("score")
    trajectory.metrics.update(found)
    return trajectory
