"""Constraints in plain words, compiled into checks."""

from __future__ import annotations

from functools import cache

__all__ = ["digest"]


@cache
def digest() -> str:
    """Name the content of the shipped grammar, without parsing it."""
    import hashlib
    from importlib import resources

    text = resources.files(__package__).joinpath("grammar.txt").read_text(encoding="utf-8")
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
