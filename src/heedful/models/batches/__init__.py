"""Batch endpoints of providers: many requests at half the price, answered within a day."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

from heedful.core.errors import UsageError
from heedful.models.anyllm import AnyLLMModel
from heedful.models.base import AuthError
from heedful.models.openai import OpenAIModel

if TYPE_CHECKING:
    from heedful.models.base import Model
    from heedful.models.batches.base import BatchService

__all__ = ["has_batches", "service_of"]

PROVIDERS = {"anthropic": ("ANTHROPIC_API_KEY",), "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY")}
"""Providers of ``any:PROVIDER/NAME`` with a batch endpoint, and where their keys are.

Each has a module of its name here, with a class such as ``GeminiBatches``.
"""


def has_batches(model: Model) -> bool:
    """Whether a model has a batch endpoint; a server that speaks OpenAI's protocol may lack it."""
    if isinstance(model, AnyLLMModel):
        return model.provider in PROVIDERS
    return isinstance(model, OpenAIModel) or callable(getattr(model, "batches", None))


def service_of(model: Model) -> BatchService:
    """Return the batch endpoint of a model.

    A model of your own has one where it has a method ``batches()`` that returns it.
    """
    if isinstance(model, OpenAIModel):
        from heedful.models.batches.openai import OpenAIBatches

        return OpenAIBatches(model)
    if isinstance(model, AnyLLMModel) and model.provider in PROVIDERS:
        return _other(model)
    own = getattr(model, "batches", None)
    if not callable(own):
        raise UsageError(
            "this model has no batch endpoint",
            where=f"model {model.name}",
            hint="use --executor local; OpenAI, any:anthropic/NAME and any:gemini/NAME have one",
        )
    service: BatchService = own()
    return service


def _other(model: AnyLLMModel) -> BatchService:
    variables = PROVIDERS[model.provider]
    keys = (model.api_key, *map(os.environ.get, variables))
    key = next(filter(None, keys), None)
    if key is None:
        raise AuthError("there is no key", where=f"model {model.name}", hint=f"set {variables[0]}")
    module = import_module(f"{__name__}.{model.provider}")
    make = getattr(module, f"{model.provider.title()}Batches")
    service: BatchService = make(model.model, api_key=key, base_url=model.address)
    return service
