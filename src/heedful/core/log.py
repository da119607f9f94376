"""The package's log: silent until an application configures the logger ``heedful``."""

from __future__ import annotations

import logging

logger = logging.getLogger("heedful")
# Without a handler of ours, Python would print warnings on standard error by itself.
logger.addHandler(logging.NullHandler())
