"""From how a model is spelled on the command line to the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from heedful.core import plugins
from heedful.core.errors import UsageError
from heedful.models.folder import RECORD, read_protocol
from heedful.models.functions import as_model
from heedful.models.options import ABOVE_ZERO, CONCURRENCY, OPENAI_URL, flag

if TYPE_CHECKING:
    from typing import Unpack

    from heedful.models.base import AnyModel, Model
    from heedful.models.limiter import AdaptiveLimiter
    from heedful.models.options import CallOptions

_PLUGINS = "heedful.models"

LOCAL = "local:"
ANY_LLM = "any:"

_PROVIDERS = {
    **{name: name for name in ("anthropic", "bedrock", "cohere", "deepseek", "gemini", "groq")},
    **{name: name for name in ("mistral", "openrouter", "perplexity", "together", "xai")},
    "together_ai": "together",
    "fireworks_ai": "fireworks",
}
"""Providers as LiteLLM spells them before a slash, by any-llm's names."""


def make(
    spelling: str, *, limiter: AdaptiveLimiter | None = None, **options: Unpack[CallOptions]
) -> Model:
    """Make a model from its spelling.

    ``local:FOLDER`` or ``local:NAME`` is a model in this process, ``any:PROVIDER/NAME`` one of
    another provider (``PROVIDER/NAME`` too, as LiteLLM spells it), ``PLUGIN:NAME`` one that a
    plugin makes (entry points ``heedful.models``), and anything else a name on the server at
    ``base_url``. A path, or a folder with a ``config.json``, is a model in this process too, unless
    a server other than OpenAI's is given: those name models by folders.
    """
    base_url = options.get("base_url", OPENAI_URL)
    timeout_s = options.get("timeout", 600.0)
    if base_url == OPENAI_URL:
        spelling = _from_litellm(spelling)
    if spelling.startswith(ANY_LLM):
        from heedful.models.anyllm import AnyLLMModel

        name = spelling.removeprefix(ANY_LLM)
        return AnyLLMModel(name, timeout_s=timeout_s, limiter=limiter)
    if (plugin := _plugin(spelling, base_url)) is not None:
        return plugin
    if _is_local(spelling, base_url):
        from heedful.models.local import LocalModel

        folder = spelling.removeprefix(LOCAL)
        return LocalModel(
            folder,
            device=options.get("device"),
            dtype=options.get("dtype"),
            batch_size=options.get("batch_size", 16),
        )
    if "," in spelling:
        hint = "give several one by one: --model ONE --model OTHER, or a list in Python"
        raise UsageError(f"the name of the model has a comma: {spelling!r:.80}", hint=hint)
    from heedful.models.openai import OpenAIModel

    served = OpenAIModel(
        spelling,
        base_url=base_url,
        api_key=options.get("api_key"),
        api_key_env=options.get("api_key_env", "OPENAI_API_KEY"),
        headers=options.get("headers"),
        timeout_s=timeout_s,
        limiter=limiter,
    )
    served.protocol = read_protocol(Path(spelling, RECORD))  # vLLM names a model by its folder
    return served


def connect(models: AnyModel | Sequence[AnyModel], **options: Unpack[CallOptions]) -> list[Model]:
    """Connect to models, which share one limit on calls in flight."""
    from heedful.models.limiter import AdaptiveLimiter

    many = isinstance(models, Sequence) and not isinstance(models, str)
    each = cast("Sequence[AnyModel]", models if many else [models])
    for name in ABOVE_ZERO:
        value = options.get(name)
        if isinstance(value, int | float) and not value > 0:
            raise UsageError(f"{flag(name)} is {value}", hint="give a number above 0")
    objects = [model if isinstance(model, str) else as_model(model) for model in each]
    limiter = AdaptiveLimiter(
        options.get("max_concurrency", CONCURRENCY), rpm=options.get("rpm"), tpm=options.get("tpm")
    )
    return [
        make(model, limiter=limiter, **options) if isinstance(model, str) else model
        for model in objects
    ]


def _from_litellm(spelling: str) -> str:
    """Read a provider before a slash, where no server is given that may name its models so."""
    provider, slash, name = spelling.partition("/")
    if not slash or Path(spelling).exists():
        return spelling
    if provider == "openai":
        return name
    return f"{ANY_LLM}{_PROVIDERS[provider]}/{name}" if provider in _PROVIDERS else spelling


def _is_local(spelling: str, base_url: str) -> bool:
    """Check whether a model is run in this process; a folder is, unless there is a server."""
    path = spelling.startswith(("/", "./", "../", "~"))
    folder = path or Path(spelling, "config.json").is_file()
    return spelling.startswith(LOCAL) or (base_url == OPENAI_URL and folder)


def _plugin(spelling: str, base_url: str) -> Model | None:
    """Make a plugin's model, where the spelling names one."""
    group, colon, name = spelling.partition(":")
    if colon:
        needs = ("name", "config", "generate", "close")
        made: Model | None = plugins.make(
            _PLUGINS, group, needs=needs, built_in=("any", "local"), name=name
        )
        return made
    if base_url == OPENAI_URL and spelling in plugins.names(_PLUGINS):
        raise UsageError(
            f"--model {spelling} names a plugin without a model", hint=f"give {spelling}:NAME"
        )
    return None
