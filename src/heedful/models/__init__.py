"""Models: each answers messages. What calls them knows only :class:`Model`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.lazy import exports

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
__getattr__ = exports(__name__, {name: home for home, names in _HOMES.items() for name in names})
