"""The models that a command calls, and how they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from heedful.cli.flags import FlagGroup, taken
from heedful.core.errors import UsageError
from heedful.models.options import CallOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.models.base import Model, Sampling


class ModelOptions(TypedDict, total=False):
    """The models that are called.

    Attributes:
        model: A name at --base-url, a FOLDER or local:NAME in this process, any:PROVIDER/NAME, or
            PLUGIN:NAME.
    """

    model: Sequence[str]


MODEL = FlagGroup("Model", (ModelOptions, CallOptions))


def connected(
    options: dict[str, Any], names: Sequence[str], *, temperature: float = 0.0
) -> tuple[list[Model], Sampling]:
    """Connect to models, which share one limit on calls in flight; and say how they answer."""
    from heedful.models.named import connect
    from heedful.models.options import CONCURRENCY, sampling

    calls = taken(options, CallOptions)
    options["concurrency"] = calls.get("max_concurrency", CONCURRENCY)
    return connect(names, **calls), sampling(temperature, **calls)


def the_model(options: dict[str, Any]) -> str:
    """Take the name of the one model of a command."""
    names = options.pop("model", [])
    if len(names) != 1:
        what = f"{len(names)} models are given, but only one is used"
        raise UsageError(what if names else "no model is given", hint="name one with --model")
    return str(names[0])
