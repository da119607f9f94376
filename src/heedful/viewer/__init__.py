"""A local web application to look at runs: what was asked, what was answered, who decided what."""

from __future__ import annotations

from heedful.viewer.app import Viewer, make_app
from heedful.viewer.serving import serve

__all__ = ["Viewer", "make_app", "serve"]
