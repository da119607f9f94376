"""What tests share: the real data, where it is at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def data() -> Path:
    """The folder of real benchmark data, which is not part of the project."""
    if not DATA.is_dir():
        pytest.skip("the benchmarks' real data is not here (looked for ../shared/data)")
    return DATA
