"""open-instruct: import this file where training begins; the data's verifier is ``checklist``."""

from __future__ import annotations

import asyncio
from typing import Any

from open_instruct.ground_truth_utils import VerificationResult, VerifierFunction
from reward import score


class ChecklistVerifier(VerifierFunction):
    """Rewards a prediction by the checklist that is its label."""

    def __init__(self, verifier_config: Any = None) -> None:
        super().__init__("checklist", verifier_config=verifier_config)

    async def async_call(
        self,
        tokenized_prediction: list[int],  # noqa: ARG002 - open-instruct's
        prediction: str,
        label: Any,
        query: str | None = None,
    ) -> VerificationResult:
        """Score a prediction."""
        found = await score(label, prediction, prompt=query)
        said = ", ".join(f"{name} {value:g}" for name, value in found.items())
        return VerificationResult(score=found["score"], reasoning=said)

    def __call__(
        self,
        tokenized_prediction: list[int],
        prediction: str,
        label: Any,
        query: str | None = None,
    ) -> VerificationResult:
        """Score a prediction, outside of an event loop."""
        return asyncio.run(self.async_call(tokenized_prediction, prediction, label, query))
