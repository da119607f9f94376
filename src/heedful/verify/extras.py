"""Packages that only a few verifiers need, and that users may not have installed."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from heedful.core.errors import VerifierError


@functools.cache
def imported(module: str) -> Any:
    """Import a module of heedful's extra ``ifbench``."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        broken = "" if error.name in {package, module} else f", which cannot be imported: {error}"
        raise VerifierError(
            f"this constraint needs the package {package}{broken}",
            hint="pip install 'heedful[ifbench]'",
        ) from error
