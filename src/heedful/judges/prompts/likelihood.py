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

_PARSER = 1
_TEXTS = ("likelihood.en.txt", "likelihood.zh.txt")
_YES, _NO = ("yes", "是", "满足"), ("no", "否", "不")
_LEAST = 1e-300
"""The smallest probability, so that odds stay finite."""
_AROUND = " \t\n\"'*_`#([{“‘「.:：▁Ġ"
"""Signs that tokenizers and models put before a word."""


def prompt_version() -> str:
    """Name the prompts and the parser."""
    return version(_PARSER, *map(shipped, _TEXTS))


def render(sample: Sample, constraint: Constraint) -> list[Message]:
    """Write the question, in Chinese where the instruction is.

    Raises:
        RowError: the sample has no response.
    """
    language = layout.language_of(layout.last_user_turn(sample))
    template = shipped(f"likelihood.{language}.txt")
    return layout.messages(template, sample, constraint.text, language)


def log_odds(tokens: Mapping[str, float]) -> tuple[float, float]:
    """Read the likeliest first tokens of an answer.

    Args:
        tokens: their natural log-probabilities.

    Returns:
        The log-odds of yes against no, and the probability of the two together, 0 to 1. An answer
        that isn't among the tokens is at most as likely as the least likely of them, and is taken
        to be half as likely.
    """
    yes = no = 0.0
    for token, value in tokens.items():
        word = token.strip(_AROUND).casefold()
        if word and any(answer.startswith(word) for answer in _YES):
            yes += math.exp(value)
        elif word and any(answer.startswith(word) for answer in _NO):
            no += math.exp(value)
    if not yes and not no:
        return 0.0, 0.0
    least = math.exp(min(tokens.values())) / 2
    odds = math.log(max(yes or least, _LEAST)) - math.log(max(no or least, _LEAST))
    return odds, min(1.0, yes + no)
