"""ms-swift: --external_plugins swift_plugin.py --reward_funcs checklist; a column ``checklist``."""

from __future__ import annotations

import asyncio
from typing import Any

from reward import score
from swift.rewards import ORM, orms


class ChecklistReward(ORM):
    """Rewards completions by their checklists."""

    def __call__(
        self, completions: list[str], checklist: list[Any], messages: list[Any], **columns: Any
    ) -> list[float]:
        """Score a batch; the last of the messages is the completion."""
        cut = columns.get("is_truncated") or [False] * len(completions)

        async def all_of_them() -> list[dict[str, float]]:
            return await asyncio.gather(
                *(
                    score(label, text, prompt=turns[:-1], finish_reason="length" if ends else None)
                    for label, text, turns, ends in zip(
                        checklist, completions, messages, cut, strict=True
                    )
                )
            )

        return [each["score"] for each in asyncio.run(all_of_them())]


orms["checklist"] = ChecklistReward
