"""Tinker: an ``Env`` of the cookbook with one turn; give it to a ``ProblemGroupBuilder``."""

from __future__ import annotations

from typing import Any

import tinker
from reward import score
from tinker_cookbook import renderers
from tinker_cookbook.rl.types import Env, StepResult


class ChecklistEnv(Env):
    """Rewards a response by a checklist."""

    def __init__(self, renderer: Any, messages: list[dict[str, str]], checklist: Any) -> None:
        self.renderer = renderer
        self.messages = messages
        self.checklist = checklist

    async def initial_observation(self) -> tuple[Any, Any]:
        """Render the prompt."""
        prompt = self.renderer.build_generation_prompt(self.messages)
        return prompt, self.renderer.get_stop_sequences()

    async def step(self, action: Any, *, extra: Any = None) -> StepResult:  # noqa: ARG002 - Tinker's
        """Score the response; Tinker logs the numbers."""
        message, termination = self.renderer.parse_response(action)
        found = await score(
            self.checklist,
            renderers.get_text_content(message),
            prompt=self.messages,
            finish_reason=None if termination.is_clean else "length",
        )
        return StepResult(
            reward=found.pop("score"),
            episode_done=True,
            next_observation=tinker.ModelInput.empty(),
            next_stop_condition=self.renderer.get_stop_sequences(),
            metrics=found,
        )
