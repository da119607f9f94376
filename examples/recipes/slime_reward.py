"""slime: --custom-rm-path slime_reward.reward --reward-key score; the label is the checklist."""

from __future__ import annotations

from typing import Any

from reward import score


async def reward(args: Any, sample: Any, **_: Any) -> dict[str, float]:  # noqa: ARG001 - slime's
    """Score a rollout; slime keeps all of the numbers with the sample."""
    finish = "length" if sample.status.value == "truncated" else None
    return await score(sample.label, sample.response, prompt=sample.prompt, finish_reason=finish)
