"""The command line, run in this process."""

from __future__ import annotations

import pytest

from heedful.cli import main


def run(*words: object) -> int:
    """Run a command; return its exit code."""
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    assert isinstance(stopped.value.code, int)
    return stopped.value.code
