"""A call of a model, and its purpose: for cost summaries and estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Message
    from heedful.models.base import Model, Sampling

__all__ = [
    "CHECKLIST_TOKENS",
    "EXPLAINED_TOKENS",
    "RESPONSE_TOKENS",
    "VERDICT_TOKENS",
    "Purpose",
]

EXPLAINED_TOKENS = 150
"""Tokens of a judgment with its explanation, roughly: IF-Critic's published critiques have 152 to
171 a constraint by :func:`~heedful.models.pricing.estimate_tokens`.
"""

VERDICT_TOKENS = 25
"""Tokens of a verdict alone, roughly: CFBench's judged files, which repeat the criterion, have 26.
"""

RESPONSE_TOKENS = 300
"""Tokens of a response, roughly: GPT-4's to IFEval's prompts have 299 on average."""

CHECKLIST_TOKENS = 250
"""Tokens of a checklist, roughly: IF-Critic's published ones have 245 on average."""


class Purpose(NamedTuple):
    """Purpose of a call."""

    caller: str = ""  # the part of the job under whose name the cost is summed up
    tokens: int = EXPLAINED_TOKENS  # of the answer, roughly and without reasoning
    reask: bool = False  # whether it requests again what an earlier answer left out


class ModelCall(NamedTuple):
    """A request to a model."""

    model: Model
    messages: Sequence[Message]
    sampling: Sampling
    sample: int  # which of several independent answers it is
    purpose: Purpose

    def prompt_tokens(self) -> int:
        """Estimate the tokens of the messages."""
        from heedful.models.pricing import estimate_tokens

        return sum(estimate_tokens(turn.content) for turn in self.messages)
