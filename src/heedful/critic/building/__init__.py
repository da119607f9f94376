"""From instructions to a tested critic in one command: ``heedful critic build``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.lazy import exports

if TYPE_CHECKING:
    from heedful.critic.building.config import BuildConfig, load_config
    from heedful.critic.building.steps import BuildResult, build

__all__ = ["BuildConfig", "BuildResult", "build", "load_config"]

__getattr__ = exports(
    __name__,
    {
        "BuildConfig": "config",
        "BuildResult": "steps",
        "build": "steps",
        "load_config": "config",
    },
)
