"""Untrusted input from servers: parsed, bounded and cleaned here, once.

Whatever passes can be stored, added up and shown: whole numbers fit into a database, texts hold
no half of a surrogate pair, and names are short.
"""

from __future__ import annotations

import json
import math
from typing import Any

from pydantic_core import from_json

from heedful.core.noun import trusted
from heedful.models.base import Usage

MOST_TOKENS = 1_000_000_000
"""A larger count isn't one of a single call; sums of smaller ones fit into 64 bits."""

LABEL_CHARACTERS = 200
"""The longest name that is kept, such as a model's name or a finish reason."""

MOST_ALTERNATIVES = 100
"""Tokens whose probabilities are read."""

_DIGITS = 30
"""Longer numbers aren't counts, and reading them takes time that grows with their square."""


def parse(body: bytes) -> Any:
    """Parse JSON, with numbers and texts that can be stored."""
    try:
        # Quick, and strict about what is rare: it refuses halves of surrogate pairs.
        return from_json(body, allow_inf_nan=True)
    except ValueError:
        pass
    encoding = json.detect_encoding(body)
    try:
        text = body.decode(encoding)
        halves = "\\ud" in text or "\\uD" in text  # how escaped pairs begin, whole ones too
    except UnicodeDecodeError:
        text, halves = body.decode(encoding, "surrogatepass"), True
    value = _DECODER.decode(text)
    return _cleaned(value) if halves else value


def label(value: Any) -> str | None:
    """Return a name without control characters and not too long; ``None`` where it isn't text."""
    if not isinstance(value, str):
        return None
    text = storable(value[: LABEL_CHARACTERS + 1])
    if not text.isprintable():
        text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return text if len(text) <= LABEL_CHARACTERS else f"{text[: LABEL_CHARACTERS - 1]}…"


def storable(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON can carry and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def log_probabilities(value: Any) -> dict[str, float] | None:
    """Read the likeliest tokens with their log-probabilities; ``None`` where there are none.

    What isn't a token with a probability of 0 to 1 is left out.
    """
    tokens: dict[str, float] = {}
    for each in items(value)[:MOST_ALTERNATIVES]:
        token, number = each.get("token"), each.get("logprob")
        if isinstance(token, str) and isinstance(number, int | float) and number <= 0:
            key = storable(token[:LABEL_CHARACTERS])
            tokens[key] = max(float(number), tokens.get(key, -math.inf))
    return {token: number for token, number in tokens.items() if number > -math.inf} or None


def within(value: object) -> dict[str, Any]:
    """Take a value that should be an object; anything else is an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[dict[str, Any]]:
    """Take a value that should be a list of objects; anything else is left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def count(value: object) -> int:
    """Take a value that should be a count; Google writes some as text, some proxies as floats."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < _DIGITS:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return value if 0 < value <= MOST_TOKENS else 0


def usage(value: Any) -> Usage:
    """Read the counts of tokens; what is missing, or can be no count, is 0."""
    counts = within(value)
    details = within(counts.get("prompt_tokens_details"))
    prompt, completion = count(counts.get("prompt_tokens")), count(counts.get("completion_tokens"))
    cached = count(details.get("cached_tokens")) or count(counts.get("prompt_cache_hit_tokens"))
    reasoning = within(counts.get("completion_tokens_details")).get("reasoning_tokens")
    read = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "cached_tokens": min(cached, prompt),
        "cache_write_tokens": min(count(details.get("cache_write_tokens")), prompt),
        "reasoning_tokens": min(count(reasoning), completion),
    }
    return trusted(Usage, read)


def _whole(digits: str) -> int | float:
    """Read a whole number; one too long to be a count of anything is only a large one."""
    return int(digits) if len(digits) <= _DIGITS else float(digits)


_DECODER = json.JSONDecoder(parse_int=_whole)


def _cleaned(value: Any) -> Any:
    """Clean all texts of a JSON value, which is as deep as the parser allowed."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {storable(key): _cleaned(item) for key, item in value.items()}
    return value
