"""What tests share: their lanes, and the real data where it is at hand."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# One thread: small models gain nothing by more, and lose much on a machine with neighbours.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Neither the tester's proxy nor the tester's key has a part in a test.
os.environ["NO_PROXY"] = "127.0.0.1"
os.environ.pop("OPENAI_API_KEY", None)

# The same examples at every run, so that a green suite stays green; HYPOTHESIS_PROFILE=explore
# draws others, and more of them. No deadlines: shared machines pause.
settings.register_profile("repeat", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)

UNIT_EXAMPLES = 20
"""Examples of a property in the unit suite; every other lane tries Hypothesis's hundred."""


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples a property is tried on, before the tests are read."""
    settings.register_profile(
        "unit", parent=settings.get_profile("repeat"), max_examples=UNIT_EXAMPLES
    )
    unit = config.getoption("markexpr") == UNIT
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "unit" if unit else "repeat"))


UNIT = "not heavy and not slow"
"""What ``pytest`` alone selects (addopts in pyproject.toml)."""

# Parsing and importing make millions of objects and no garbage: looking for some takes half the
# time of collection.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from here on, but not what reading the tests has made."""
    gc.freeze()
    gc.enable()


LANES = (
    *(
        "browser",
        "docs",
        "exhaustive",
        "integrations",
        "interrupted",
        "ray",
        "real",
        "sandbox",
        "served",
    ),
    "training",
)
"""Markers of the tests that need more than pip can install, or minutes: each is run on its own."""


@pytest.hookimpl(tryfirst=True)  # pytest deselects by -m in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the lanes as heavy, before pytest selects by ``-m``."""
    for item in items:
        if any(map(item.get_closest_marker, LANES)):
            item.add_marker(pytest.mark.heavy)


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def sandbox() -> Any:
    """A sandbox for programs, where one works."""
    from heedful.bench.grading.sandbox import open_sandbox
    from heedful.core.errors import UsageError

    try:
        return open_sandbox()
    except UsageError as error:
        pytest.skip(f"no sandbox program works here: {error.what}")


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[str]:
    """A cluster of two CPUs on this machine, to which this process is connected."""
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    options: dict[str, Any] = {"include_dashboard": False, "object_store_memory": 100 * 2**20}
    context = ray.init("local", num_cpus=2, log_to_driver=False, **options)
    yield context.address_info["gcs_address"]
    ray.shutdown()


DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def data() -> Path:
    """The folder of real benchmark data, which is not part of the project."""
    if not DATA.is_dir():
        pytest.skip("the benchmarks' real data is not here (looked for ../shared/data)")
    return DATA
