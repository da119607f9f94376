"""Counting the calls that a run would make, without making them."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NoReturn

from heedful.core.errors import ModelError, UsageError
from heedful.engine.store import UsageRecord
from heedful.models.batches import has_batches
from heedful.models.pricing import CHARACTERS_PER_TOKEN, estimate_tokens
from heedful.models.turns import least_cached

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from heedful.core.nouns import Message
    from heedful.engine.purpose import ModelCall
    from heedful.engine.store import Store


CACHE_TOKENS = 400_000
"""Tokens that the cache is taken to hold: what a GPU of 80 GB has room for beside an 8B model, with
128 KiB of keys and values a token (32 layers, 8 heads of 128, 16 bits)."""

BLOCK_TOKENS = 16
"""Tokens that are kept or dropped together, as vLLM does."""

BLOCK = BLOCK_TOKENS * CHARACTERS_PER_TOKEN


class PrefixCache:
    """A cache of the prompts' beginnings, block by block; what was used longest ago goes first."""

    def __init__(self, tokens: int = CACHE_TOKENS) -> None:
        if tokens < 0:
            raise UsageError(f"a prefix cache of {tokens} tokens", hint="give 0 for none")
        self._room = tokens // BLOCK_TOKENS
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def add(self, name: str, messages: Sequence[Message], least: int = 0) -> int:
        """Take in a prompt; return how many of its tokens it shares with those before, roughly."""
        text = "\n".join(f"{turn.role}\n{turn.content}" for turn in messages)
        block, shared, hit = hash(name), 0, True
        blocks = []
        for start in range(0, len(text) - BLOCK + 1, BLOCK):
            # The hash of a block has that of all before it.
            block = hash((block, text[start : start + BLOCK]))
            hit = hit and block in self._blocks
            shared += hit
            blocks.append(block)
        for block in reversed(blocks):  # the beginning, which most share, goes last
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while len(self._blocks) > self._room:
            self._blocks.popitem(last=False)
        tokens = estimate_tokens(text[: shared * BLOCK])
        return tokens if tokens >= least else 0


class CallCounter:
    """Takes the place of the models: each new call is recorded at its estimate, and not made."""

    def __init__(
        self, store: Store, cache_tokens: int = CACHE_TOKENS, submitted: Collection[bytes] = ()
    ) -> None:
        """Count into a store, so that equal calls are recognized in constant memory."""
        self._submitted = submitted
        self._store = store
        self.reused = 0  # calls that a stored answer, or an equal call, would serve
        self.submitted = 0  # calls that are in batches under way, and so are bought already
        self.prefix_tokens = 0  # tokens of prompts that a server's prefix cache would hold
        self.images = 0  # how many the prompts have; their tokens are not in the estimate
        self.batches = True  # whether all models that would be called have a batch endpoint
        self._prefixes = PrefixCache(cache_tokens)

    def count(self, key: bytes, call: ModelCall) -> NoReturn:
        """Record a call."""
        model = call.model
        if key in self._submitted:
            self.submitted += 1
        elif self._store.call(key) is not None:
            self.reused += 1
        else:
            self.batches = self.batches and has_batches(model)
            shared = self._prefixes.add(model.name, call.messages, least_cached(model))
            self.prefix_tokens += shared
            self.images += sum(len(message.images) for message in call.messages)
            expected = call.purpose.tokens
            record = UsageRecord(
                caller=call.purpose.caller,
                requested=model.name,
                model=model.name,
                prompt_tokens=call.prompt_tokens(),
                completion_tokens=min(expected, call.sampling.max_tokens or expected),
            )
            self._store.add_call(key, "", record)
        raise ModelError("counted for an estimate, not called", where=f"model {model.name}")
