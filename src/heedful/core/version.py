"""The package's version, where every room may read it."""

from __future__ import annotations

__version__ = "0.1.0"
