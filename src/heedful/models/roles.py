"""Roles that a chat template doesn't know, mapped to those that it does.

Some templates refuse a system turn (Gemma's), some know no developer or tool, and some leave out
silently what they don't know, so that the model would never see it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.errors import ModelError, RowError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["fitting"]

Turn = dict[str, str]

_USUAL = {"developer": "system", "system": "system", "assistant": "assistant", "model": "assistant"}
_ANSWERS = {"assistant", "model"}


def fitting(
    turns: Sequence[Turn], render: Callable[[list[Turn]], str]
) -> tuple[list[Turn], str, bool]:
    """Find roles under which a chat template shows a whole conversation.

    As it is; else with developer as system, and tool and others as user; else with system turns at
    the beginning of the user turn that follows, and turns of the same role in one.
    """
    refusal: ModelError | RowError | None = None
    first: tuple[list[Turn], str] | None = None
    for number, tried in enumerate(_spellings(turns)):
        try:
            text = render(tried)
        except (ModelError, RowError) as error:
            refusal = refusal or error
            continue
        if _shown(tried, text, render):
            return tried, text, number > 0
        first = first or (tried, text)
    if first is None and refusal is not None:
        raise refusal
    # No spelling shows it all.
    tried, text = first or (list(turns), render(list(turns)))
    return tried, text, False


def _spellings(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """Yield a conversation as it is, and in fewer and fewer roles."""
    before = list(turns)
    yield before
    usual = [{**turn, "role": _USUAL.get(turn["role"], "user")} for turn in turns]
    if usual != before:
        yield usual
    merged: list[Turn] = []
    for turn in usual:
        role = "user" if turn["role"] == "system" else turn["role"]
        if merged and merged[-1]["role"] == role:
            merged[-1] = {"role": role, "content": f"{merged[-1]['content']}\n\n{turn['content']}"}
        else:
            merged.append({"role": role, "content": turn["content"]})
    if merged != usual:
        yield merged


def _shown(turns: Sequence[Turn], text: str, render: Callable[[list[Turn]], str]) -> bool:
    """Tell whether each turn but the answers, which templates may shorten, is seen in a text."""
    for place, turn in enumerate(turns):
        if turn["role"] in _ANSWERS or not turn["content"].strip():
            continue
        other = {**turn, "content": f"x {turn['content']} x"}
        try:
            if render([*turns[:place], other, *turns[place + 1 :]]) == text:
                return False
        except (ModelError, RowError):  # so the template looks at it
            continue
    return True
