"""Requests made again for what a reply left out, with what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.engine.call_cache import complete, expense, retries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Expense, Message
    from heedful.engine.purpose import Purpose
    from heedful.models.base import Completion, Model, Sampling

__all__ = ["attempt", "attempts"]

REASKS = 1
"""How often what a reply leaves out is requested again, where nothing else is said."""

REASK = 1000
"""Added to the number of a sample each time it is requested again, so that none is used twice."""


def attempts(reasks: int = REASKS) -> range:
    """Number the requests: the first, those made again, and one for each ``retry_failed``.

    Earlier requests are answered from the store, so a retry makes only new ones.
    """
    return range(1 + reasks + retries())


async def attempt(
    number: int,
    model: Model,
    messages: Sequence[Message],
    sampling: Sampling,
    purpose: Purpose,
    expenses: list[Expense],
    *,
    sample: int = 0,
) -> Completion:
    """Make one of several requests for the same; see :func:`complete`."""
    if number:
        purpose = purpose._replace(reask=True)
    number = sample + REASK * number
    completion = await complete(model, messages, sampling, sample=number, purpose=purpose)
    expenses.append(expense(completion, purpose))
    return completion
