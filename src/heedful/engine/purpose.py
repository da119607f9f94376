"""The purpose of a call, for cost summaries and estimates."""

from __future__ import annotations

from typing import NamedTuple

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
