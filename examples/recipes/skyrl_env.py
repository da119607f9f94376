"""SkyRL: register("checklist", entry_point="skyrl_env:ChecklistEnv"); env_class in the data."""

from __future__ import annotations

import asyncio
from typing import Any

from reward import score
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput


class ChecklistEnv(BaseTextEnv):
    """One turn, rewarded by the checklist in ``reward_spec.ground_truth``."""

    def __init__(self, env_config: Any = None, extras: dict[str, Any] | None = None) -> None:  # noqa: ARG002 - SkyRL's
        super().__init__()
        self.label = (extras or {})["reward_spec"]["ground_truth"]
        self.prompt: Any = None
        self.measures: dict[str, float] = {}

    def init(self, prompt: Any) -> tuple[Any, dict[str, Any]]:
        """Keep the prompt, which the judge is shown."""
        self.prompt = prompt
        return prompt, {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Score the response; SkyRL calls this in a thread."""
        self.measures = asyncio.run(score(self.label, action, prompt=self.prompt))
        reward = self.measures["score"]
        return BaseTextEnvStepOutput(observations=[], reward=reward, done=True, metadata={})

    def get_metrics(self) -> dict[str, Any]:
        """Return what SkyRL averages and logs."""
        return self.measures
