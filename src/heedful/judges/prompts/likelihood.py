"""A question that is answered with yes or no, and how the odds of the two are read.

The prompt is short, since a judge that answers with one token needs no format, and ours.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts.template import shipped, version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.core.nouns import Constraint, Message, Sample

_PARSER = 2
_TEXTS = ("likelihood.en.txt", "likelihood.zh.txt")
_YES = (
    "yes", "yep", "yeah", "是", "是的", "满足", "满足了", "滿足", "符合", "符合要求", "对", "对的",
    "没错",
)  # fmt: skip
_NO = (
    "no", "nope", "not", "否", "不", "不是", "不是的", "不满足", "不滿足", "不符合", "不对", "不行",
    "没", "没有", "没有满足", "没满足", "沒有", "未", "未满足", "未能", "并不", "并非", "并未",
    "并没有", "非",
)  # fmt: skip
"""Answers: a token is taken for the one that it is, or that it begins."""
_LEAST = 1e-300
"""The smallest probability, so that odds stay finite."""
_ROUNDING = 1e-6
"""How far from 1 the probabilities of all tokens may be: servers compute in single precision."""
_AROUND = " \t\n\"'*_`#([{“‘「.:：▁Ġ,;!，。；！)]}”’」"
"""Signs that tokenizers and models put around a word."""


def prompt_version() -> str:
    """Name the prompts and the parser."""
    return version(_PARSER, *map(shipped, _TEXTS))


def render(sample: Sample, constraint: Constraint) -> list[Message]:
    """Write the question, in Chinese where the instruction is."""
    language = layout.language_of(layout.last_user_turn(sample))
    template = shipped(f"likelihood.{language}.txt")
    return layout.messages(template, sample, constraint.text, language)


def log_odds(tokens: Mapping[str, float]) -> tuple[float, float]:
    """Read the likeliest first tokens of an answer."""
    yes = no = 0.0
    for token, value in tokens.items():
        answer = _answer(token.strip(_AROUND).casefold())
        if answer is True:
            yes += math.exp(value)
        elif answer is False:
            no += math.exp(value)
    if not yes and not no:
        return 0.0, 0.0
    shown = [math.exp(value) for value in tokens.values()]
    least = min(*shown, max(_ROUNDING, 1 - math.fsum(shown))) / 2
    odds = math.log(max(yes or least, _LEAST)) - math.log(max(no or least, _LEAST))
    return odds, min(1.0, yes + no)


def _answer(word: str) -> bool | None:
    """Tell which answer a word is or begins; ``None`` where it is neither, or may be both."""
    if not word:
        return None
    if word in _YES or word in _NO:
        return word in _YES
    found = {
        met
        for met, answers in ((True, _YES), (False, _NO))
        for each in answers
        if each.startswith(word)
    }
    return found.pop() if len(found) == 1 else None
