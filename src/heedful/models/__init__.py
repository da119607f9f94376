"""Models: each answers messages. What calls them knows only :class:`Model`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heedful.models.anyllm import AnyLLMModel
    from heedful.models.base import (
        AuthError,
        Completion,
        Model,
        ModelNotFound,
        QuotaError,
        Sampling,
        Usage,
    )
    from heedful.models.local import LocalModel
    from heedful.models.openai import OpenAIModel
    from heedful.models.pricing import Price, cost, estimate_tokens, read_prices
    from heedful.models.scripted import ScriptedModel

__all__ = [
    "AnyLLMModel",
    "AuthError",
    "Completion",
    "LocalModel",
    "Model",
    "ModelNotFound",
    "OpenAIModel",
    "Price",
    "QuotaError",
    "Sampling",
    "ScriptedModel",
    "Usage",
    "cost",
    "estimate_tokens",
    "read_prices",
]

_HOMES = {
    "anyllm": ("AnyLLMModel",),
    "base": (
        "AuthError",
        "Completion",
        "Model",
        "ModelNotFound",
        "QuotaError",
        "Sampling",
        "Usage",
    ),
    "local": ("LocalModel",),
    "openai": ("OpenAIModel",),
    "pricing": (
        "Price",
        "cost",
        "estimate_tokens",
        "read_prices",
    ),
    "scripted": ("ScriptedModel",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used; judging by code needs none."""
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
