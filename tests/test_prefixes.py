"""What a prefix cache would hold of a run's prompts."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batch_model import Scripted, judge, rows
from heedful import Message, dry_run, evaluate
from heedful.engine.call_cache import BLOCK, BLOCK_TOKENS, PrefixCache
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.reporting.notation import cost_line

PIECES = st.lists(st.sampled_from(["a" * 40, "b" * 70, "c" * 200, "d"]), max_size=6)


def prompt(pieces: list[str]) -> list[Message]:
    return [Message(role="user", content="".join(pieces))]


def common(text: str, other: str) -> int:
    pairs = zip(text, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(text), len(other)))


@given(texts=st.lists(PIECES, max_size=8), room=st.sampled_from([0, 3, 10**6]))
def test_shared_blocks_are_the_longest_prefix_of_an_earlier_prompt(
    texts: list[list[str]], room: int
) -> None:
    cache = PrefixCache(room * BLOCK_TOKENS)
    before: list[str] = []
    for pieces in texts:
        text = "user\n" + "".join(pieces)
        longest = max((common(text, other) for other in before), default=0)
        shared = cache.add("m", prompt(pieces))
        assert shared <= longest // BLOCK * BLOCK_TOKENS
        if room > 3:
            assert shared == longest // BLOCK * BLOCK_TOKENS
        before.append(text)
    assert cache.add("another model", prompt(["c" * 200])) == 0


def test_a_dry_run_says_what_a_cache_would_hold_and_a_run_what_it_held(tmp_path: Path) -> None:
    def estimate(per_call: int | None) -> dict[str, Any]:
        judges = Checklist(Scripted(), prompts.make("plain"), per_call=per_call)
        return dry_run(evaluate, rows(20), judge=judges)

    whole, single = estimate(None), estimate(1)
    # All prompts begin with the same instructions; those of one row share the response too.
    assert 0.3 < whole["prefix_tokens"] / whole["prompt_tokens"] < 0.95
    share = single["prefix_tokens"] / single["prompt_tokens"]
    assert whole["prefix_tokens"] / whole["prompt_tokens"] < share < 1
    cost = judge(Scripted(), 4, tmp_path).summary["cost"]
    assert cost["cached_tokens"] == 0.4 * cost["prompt_tokens"]
    assert "4,000 (40 % cached) + 400 tokens" in cost_line(cost)
    assert cost["dollars"] == pytest.approx(4 * (600 * 10 + 400 * 1 + 100 * 100) / 1e6)
