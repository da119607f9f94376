"""Estimate of what a server's prefix cache would hold."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from heedful.core.errors import UsageError
from heedful.models.pricing import CHARACTERS_PER_TOKEN, estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Message

__all__: list[str] = []

CACHE_TOKENS = 400_000
"""Tokens that the cache is taken to hold: what a GPU of 80 GB has room for beside an 8B model, with
128 KiB of keys and values a token (32 layers, 8 heads of 128, 16 bits)."""

BLOCK_TOKENS = 16
"""Tokens that are kept or dropped together, as vLLM does."""

BLOCK = BLOCK_TOKENS * CHARACTERS_PER_TOKEN


class PrefixCache:
    """A cache of the prompts' beginnings, block by block; what was used longest ago goes first."""

    def __init__(self, tokens: int = CACHE_TOKENS) -> None:
        """Begin empty."""
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
