"""Rewards and critiques over HTTP, for trainers in other processes and on other machines."""

from __future__ import annotations

from heedful.serving.limits import Limits
from heedful.serving.process import serve

__all__ = ["Limits", "serve"]
