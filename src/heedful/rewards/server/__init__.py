"""Rewards and critiques over HTTP, for trainers in other processes and on other machines."""

from __future__ import annotations

from heedful.rewards.server.admission import Limits
from heedful.rewards.server.process import serve

__all__ = ["Limits", "serve"]
