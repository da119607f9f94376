"""The command line, run in this process."""

from functools import cache
from typing import Any
from unittest import mock

import pydantic
import pytest

from heedful.cli import main

adapter = cache(pydantic.TypeAdapter[Any])
"""Once pydantic is loaded, cyclopts makes one for every flag of every command line: a third of the
time. In a process of its own the command line is read before pydantic is loaded."""


def run(*words: object) -> int:
    """Run a command; return its exit code."""
    with pytest.raises(SystemExit) as stopped, mock.patch("pydantic.TypeAdapter", adapter):
        main([str(word) for word in words])
    assert isinstance(stopped.value.code, int)
    return stopped.value.code
