"""Prices of calls, and estimates of the tokens of a text."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from heedful.core import scripts
from heedful.core.errors import InputError
from heedful.core.files import contents

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from heedful.models.base import Usage

__all__ = ["PRICES", "Price", "cost", "estimate_tokens", "read_prices"]


class Price(BaseModel):
    """Dollars per million tokens.

    Attributes:
        prompt: for prompt tokens.
        cached: for prompt tokens that the provider had in its cache; by default as ``prompt``.
        completion: for generated tokens, reasoning included.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    completion: float = Field(ge=0, allow_inf_nan=False)


PRICES: Mapping[str, Price] = {
    name: Price(prompt=prompt, cached=cached, completion=completion)
    for name, prompt, cached, completion in (
        ("gpt-5", 1.25, 0.125, 10.0),
        ("gpt-5-mini", 0.25, 0.025, 2.0),
        ("gpt-5-nano", 0.05, 0.005, 0.4),
        ("gpt-4.1", 2.0, 0.5, 8.0),
        ("gpt-4.1-mini", 0.4, 0.1, 1.6),
        ("gpt-4.1-nano", 0.1, 0.025, 0.4),
        ("gpt-4o", 2.5, 1.25, 10.0),
        ("gpt-4o-2024-05-13", 5.0, None, 15.0),
        ("gpt-4o-mini", 0.15, 0.075, 0.6),
        ("o1", 15.0, 7.5, 60.0),
        ("o3", 2.0, 0.5, 8.0),
        ("o3-mini", 1.1, 0.55, 4.4),
        ("o4-mini", 1.1, 0.275, 4.4),
        ("claude-opus-4-1", 15.0, 1.5, 75.0),
        ("claude-sonnet-4-5", 3.0, 0.3, 15.0),
        ("claude-haiku-4-5", 1.0, 0.1, 5.0),
        ("gemini-2.5-pro", 1.25, None, 10.0),  # prompts past 200,000 tokens cost more
        ("gemini-2.5-flash", 0.3, None, 2.5),
        ("gemini-2.5-flash-lite", 0.1, None, 0.4),
    )
}
"""Dollars per million tokens late in 2025; :func:`read_prices` replaces them."""

_DATE = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")

_CJK = re.compile(rf"[{scripts.KANA}{scripts.HAN}{scripts.HANGUL}\uff00-\uffef]")
"""Kana, ideographs, hangul and full-width forms."""

CHARACTERS_PER_TOKEN = 4


BATCH_SHARE = 0.5
"""Price of a call through a batch endpoint, as a share: OpenAI's, Anthropic's and Google's."""

WRITE_SURCHARGE = 0.25
"""Anthropic's surcharge on a prompt token that it puts into its cache, as a share."""


def cost(
    usage: Usage, model: str, prices: Mapping[str, Price] = PRICES, tier: str = ""
) -> float | None:
    """Work out what a usage costs."""
    undated = _DATE.sub("", model)
    names = (model, undated, model.rpartition("/")[2], undated.rpartition("/")[2])
    price = next((prices[name] for name in names if name in prices), None)
    if price is None:
        return None
    cached = min(usage.cached_tokens, usage.prompt_tokens)
    dollars = (
        (usage.prompt_tokens - cached) * price.prompt
        + cached * (price.prompt if price.cached is None else price.cached)
        + usage.cache_write_tokens * price.prompt * WRITE_SURCHARGE
        + usage.completion_tokens * price.completion
    )
    return dollars / 1_000_000 * (BATCH_SHARE if tier == "batch" else 1.0)


def read_prices(path: Path) -> dict[str, Price]:
    """Read a user's prices, which override the built-in ones.

    The file holds ``{"my-model": {"prompt": 0.5, "cached": 0.1, "completion": 2}}``, in dollars
    per million tokens; ``cached`` may be left out.
    """
    hint = 'write {"model": {"prompt": dollars, "completion": dollars}}, per million tokens'
    try:
        text = contents(path).removeprefix(BOM_UTF8)
        return {**PRICES, **TypeAdapter(dict[str, Price]).validate_json(text)}
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(map(str, fault["loc"]))
        what = f"the price of {place} is wrong: {fault['msg']}" if place else fault["msg"]
        raise InputError(what, where=str(path), hint=hint) from error


def estimate_tokens(text: str) -> int:
    """Guess how many tokens a text has, without a tokeniser.

    One for each Chinese, Japanese or Korean character, and one for every four others, rounded
    up. It is a rule of thumb for estimates ahead of a run: for English it is within a fifth or
    so, for other alphabets it is too low.
    """
    wide = 0 if text.isascii() else len(_CJK.findall(text))
    return wide - (wide - len(text)) // CHARACTERS_PER_TOKEN
