"""Counting the calls that a run would make, without making one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from heedful.core.errors import ModelError
from heedful.engine.store import Purchase
from heedful.models.pricing import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Message
    from heedful.engine.purpose import Purpose
    from heedful.engine.store import Store
    from heedful.models.base import Model, Sampling


class DryRunLedger:
    """Takes the place of the models: each new call is booked at its estimate, and not made.

    Attributes:
        store: where the calls are booked.
        reused: askings that an answer held already, or an equal call, would serve.
    """

    def __init__(self, store: Store) -> None:
        """Count into a store, so that equal calls are known again in constant memory."""
        self.store = store
        self.reused = 0

    def count(
        self,
        key: bytes,
        model: Model,
        messages: Sequence[Message],
        sampling: Sampling,
        purpose: Purpose,
    ) -> NoReturn:
        """Book a call.

        Raises:
            ModelError: always, as there is no answer; so nobody asks again for one.
        """
        if self.store.call(key) is not None:
            self.reused += 1
        else:
            limit = sampling.max_tokens
            self.store.add_call(
                key,
                "",
                Purchase(
                    buyer=purpose.buyer,
                    asked=model.name,
                    answered=model.name,
                    prompt_tokens=sum(estimate_tokens(turn.content) for turn in messages),
                    completion_tokens=min(purpose.tokens, limit or purpose.tokens),
                ),
            )
        raise ModelError("counted for an estimate, and not asked", where=f"model {model.name}")
