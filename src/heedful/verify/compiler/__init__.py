"""Constraints in plain words, compiled into checks."""

from __future__ import annotations

from functools import cache

__all__ = ["digest"]


@cache
def digest() -> str:
    """Name the content of the shipped grammar, without parsing it."""
    import hashlib
    from pathlib import Path

    # Not importlib.resources, whose import takes longer than the rest.
    text = Path(__file__).with_name("grammar.txt").read_text(encoding="utf-8")
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
