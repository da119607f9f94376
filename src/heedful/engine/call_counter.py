"""Counting the calls that a run would make, without making them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from heedful.core.errors import ModelError
from heedful.engine.prefixes import CACHE_TOKENS, PrefixCache
from heedful.engine.store import UsageRecord
from heedful.models.batches import has_batches
from heedful.models.prefix import least_cached
from heedful.models.pricing import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from heedful.core.nouns import Message
    from heedful.engine.purpose import Purpose
    from heedful.engine.store import Store
    from heedful.models.base import Model, Sampling


class CallCounter:
    """Takes the place of the models: each new call is recorded at its estimate, and not made.

    Attributes:
        reused: calls that a stored answer, or an equal call, would serve.
        prefix_tokens: tokens of prompts that a server's prefix cache would hold.
        images: how many the prompts have; their tokens are not in the estimate.
        submitted: calls that are in batches under way, and so are bought already.
        batches: whether all models that would be called have a batch endpoint.
    """

    def __init__(
        self, store: Store, cache_tokens: int = CACHE_TOKENS, submitted: Collection[bytes] = ()
    ) -> None:
        """Count into a store, so that equal calls are recognized in constant memory."""
        self._submitted = submitted
        self._store = store
        self.reused = 0
        self.submitted = 0
        self.prefix_tokens = 0
        self.images = 0
        self.batches = True
        self._prefixes = PrefixCache(cache_tokens)

    def count(
        self,
        key: bytes,
        model: Model,
        messages: Sequence[Message],
        sampling: Sampling,
        purpose: Purpose,
    ) -> NoReturn:
        """Record a call."""
        if key in self._submitted:
            self.submitted += 1
        elif self._store.call(key) is not None:
            self.reused += 1
        else:
            self.batches = self.batches and has_batches(model)
            self.prefix_tokens += self._prefixes.add(model.name, messages, least_cached(model))
            self.images += sum(len(message.images) for message in messages)
            limit = sampling.max_tokens
            record = UsageRecord(
                caller=purpose.caller,
                requested=model.name,
                model=model.name,
                prompt_tokens=sum(estimate_tokens(turn.content) for turn in messages),
                completion_tokens=min(purpose.tokens, limit or purpose.tokens),
            )
            self._store.add_call(key, "", record)
        raise ModelError("counted for an estimate, not called", where=f"model {model.name}")
