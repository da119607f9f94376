"""Tests of extras: skipped where these are not installed, and their libraries not imported.

``pytest.importorskip`` at the top of a module imports the library even where no test of the module
is run; torch alone takes seconds.
"""

from importlib.util import find_spec

import pytest


def needs(*libraries: str, extra: str) -> None:
    """Skip the calling module unless the libraries are installed."""
    missing = [library for library in libraries if not _is_installed(library)]
    if missing:
        reason = f"{', '.join(missing)} not installed (the extra {extra})"
        pytest.skip(reason, allow_module_level=True)


def _is_installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:  # it is part of a package that isn't there either
        return False
