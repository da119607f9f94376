"""The examples in docstrings."""

import doctest
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"


@pytest.mark.slow
def test_examples_in_docstrings_print_what_they_say() -> None:
    attempted = 0
    for path in sorted(SOURCE.rglob("*.py")):
        if ">>>" in path.read_text(encoding="utf-8"):
            name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
            module = importlib.import_module(name.removesuffix(".__init__"))
            result = doctest.testmod(module)
            assert not result.failed, name
            attempted += result.attempted
    assert attempted
