"""verl with tools: only the last turn of a rollout is judged, no tool's output.

verl joins all turns and tools' replies into one response. This manager cuts it after the last start
of an assistant turn, whose tokens the tokenizer's own template gives::

    reward.reward_manager.source=importlib
    reward.reward_manager.name=LastTurnRewardManager
    reward.reward_manager.module.path=examples/recipes/verl_last_turn.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager

if TYPE_CHECKING:
    from collections.abc import Sequence


def last_turn(ids: Sequence[int], start: Sequence[int]) -> int:
    """Return where the last turn begins: after the last start of one, or at the beginning."""
    places = range(len(ids) - len(start), -1, -1)
    return next((at + len(start) for at in places if [*ids[at : at + len(start)]] == [*start]), 0)


def turn_start(tokenizer: Any) -> list[int]:
    """Return the tokens with which a template starts an assistant turn."""
    turns = [{"role": "user", "content": "a"}]
    bare = tokenizer.apply_chat_template(turns, tokenize=True, return_dict=False)
    full = tokenizer.apply_chat_template(
        turns, tokenize=True, add_generation_prompt=True, return_dict=False
    )
    return list(full[len(bare) :])


class LastTurnRewardManager(NaiveRewardManager):
    """Judges the last turn alone."""

    async def run_single(self, data: Any) -> dict[str, Any]:
        """Cut the response, and do what verl does."""
        data = data[-1:]
        batch = data.batch
        response = batch["responses"]
        length = response.shape[-1]
        used = int(batch["attention_mask"][0][-length:].sum())
        start = turn_start(self.tokenizer)
        cut = last_turn(response[0][:used].tolist(), start) if start else 0
        batch["responses"] = response[:, cut:]
        result: dict[str, Any] = await super().run_single(data)
        return result
