"""NeMo Gym, and NeMo RL through it: a resources server with ``verify``.

A row of data has ``responses_create_params`` with the prompt, and ``checklist`` beside it.
"""

from __future__ import annotations

from typing import Any

from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from reward import score


class ChecklistRequest(BaseVerifyRequest):
    """What the row holds beside the response."""

    checklist: Any


class ChecklistResponse(BaseVerifyResponse):
    """The reward, and numbers that NeMo Gym averages."""

    gated: float
    coverage: float
    calls: float


class ChecklistServer(SimpleResourcesServer):
    """Rewards the last message of a response by a checklist."""

    config: BaseResourcesServerConfig

    async def verify(self, body: ChecklistRequest) -> ChecklistResponse:
        """Score a response; one without verdicts is left out of what is measured."""
        sent = body.model_dump(mode="json")
        given, turns = sent["responses_create_params"]["input"], sent["response"]["output"]
        said = [turn["content"] for turn in turns if turn.get("type") == "message"]
        text = "".join(part.get("text", "") for part in said[-1]) if said else ""
        prompt = given if isinstance(given, str) else [
            {"role": turn["role"], "content": turn["content"]} for turn in given if "role" in turn
        ]  # fmt: skip
        found = await score(sent["checklist"], text, prompt=prompt)
        return ChecklistResponse(
            **body.model_dump(),
            reward=found["score"],
            mask_sample=bool(found["undecided"]),
            **{name: found[name] for name in ("gated", "coverage", "calls")},
        )


if __name__ == "__main__":
    ChecklistServer.run_webserver()
