"""Filling batches with no more than may be spent: nothing stops a batch that is submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.errors import StopRunError, UsageError
from heedful.core.text import dollars
from heedful.engine.budget import ROUNDING, refuse_unpriced
from heedful.engine.cost import CostSummary
from heedful.engine.postponed import Postponed
from heedful.models.base import Usage
from heedful.models.pricing import cost, estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Message
    from heedful.engine.store import Store
    from heedful.models.base import Model, Sampling
    from heedful.models.pricing import Price

__all__: list[str] = []

MARGIN = 1.5
"""How far estimated tokens of a prompt in a batch may be exceeded."""


class BatchBudget:
    """What is left for calls in batches."""

    def __init__(self, store: Store, limit: float | None, prices: Mapping[str, Price]) -> None:
        """Open a budget."""
        self._store = store
        self._limit = limit
        self._prices = prices
        self._spent: float | None = None

    def recount(self) -> None:
        """Take note that calls were answered, and so have a cost."""
        self._spent = None

    def price(
        self, model: Model, messages: Sequence[Message], sampling: Sampling, promised: float
    ) -> float:
        """Return the dollars that a call may cost; 0 without a limit."""
        if self._limit is None:
            return 0.0
        price = _price(model, messages, sampling, self._prices)
        if self._spent is None:
            usage = self._store.usage_records()
            self._spent = CostSummary(usage, self._prices).result()["dollars"] or 0.0
        if self._spent + promised + price <= self._limit * ROUNDING:
            return price
        if promised:
            raise Postponed
        raise StopRunError(
            f"stopped before --max-cost: {dollars(self._spent)} of ${self._limit:g} is spent, and "
            f"the next call may cost {dollars(price)}",
            hint="re-run the same command with a higher --max-cost to resume",
        )


def _price(
    model: Model, messages: Sequence[Message], sampling: Sampling, prices: Mapping[str, Price]
) -> float:
    """Return the dollars that a request in a batch may cost."""
    if sampling.max_tokens is None:
        raise UsageError(
            "--max-cost cannot be enforced: answers in a batch may be of any length",
            hint="give --max-completion-tokens too",
        )
    prompt = sum(estimate_tokens(turn.content) for turn in messages)
    usage = Usage(prompt_tokens=round(MARGIN * prompt), completion_tokens=sampling.max_tokens)
    refuse_unpriced([model.name], prices)
    return cost(usage, model.name, prices, "batch") or 0.0
