"""From how a model is spelled on the command line to the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from heedful.core import plugins
from heedful.core.errors import UsageError
from heedful.models.openai import OPENAI_URL, OpenAIModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.models.base import Model
    from heedful.models.limiter import AdaptiveLimiter

_PLUGINS = "heedful.models"

LOCAL = "local:"
ANY_LLM = "any:"


def make(  # noqa: PLR0913 - the flags of a connection
    spelling: str,
    *,
    base_url: str = OPENAI_URL,
    api_key: str | None = None,
    api_key_env: str = "OPENAI_API_KEY",
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 600.0,
    limiter: AdaptiveLimiter | None = None,
    device: str | None = None,
    dtype: str | None = None,
    batch_size: int = 16,
) -> Model:
    """Make a model.

    Args:
        spelling: ``local:FOLDER`` or ``local:NAME`` is a model in this process,
            ``any:PROVIDER/NAME`` one of another provider, ``PLUGIN:NAME`` one that a plugin makes
            (entry points ``heedful.models``), and anything else a name on the server at
            ``base_url``. A path, or a folder with a ``config.json``, is a model in this process
            too, unless a server other than OpenAI's is given: those name models by folders.
        base_url: of a server; this and the following as in
            :class:`~heedful.models.options.CallOptions`.
        api_key: likewise.
        api_key_env: likewise.
        headers: likewise.
        timeout_s: seconds for one attempt over a network.
        limiter: bounds the calls in flight over a network.
        device: of a model in this process.
        dtype: likewise.
        batch_size: likewise.

    Raises:
        UsageError: the folder or provider does not exist, an extra is not installed, or the
            connection makes no sense.
    """
    if spelling.startswith(ANY_LLM):
        from heedful.models.anyllm import AnyLLMModel

        name = spelling.removeprefix(ANY_LLM)
        return AnyLLMModel(name, timeout_s=timeout_s, limiter=limiter)
    if (plugin := _plugin(spelling, base_url)) is not None:
        return plugin
    if _is_local(spelling, base_url):
        from heedful.models.local import LocalModel

        folder = spelling.removeprefix(LOCAL)
        return LocalModel(folder, device=device, dtype=dtype, batch_size=batch_size)
    if "," in spelling:
        hint = "give several one by one: --model ONE --model OTHER, or a list in Python"
        raise UsageError(f"the name of the model has a comma: {spelling!r:.80}", hint=hint)
    return OpenAIModel(
        spelling,
        base_url=base_url,
        api_key=api_key,
        api_key_env=api_key_env,
        headers=headers,
        timeout_s=timeout_s,
        limiter=limiter,
    )


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
