"""The log of a store stays short while a run goes on, and nothing in it gets lost."""

import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from heedful.engine.schema import Input
from heedful.engine.store import Store

ROW = "x" * 20_000


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a place: a busy disk would take seconds for each move."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own in it
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as path:
        yield Path(path)


def test_a_long_run_keeps_its_log_short_and_loses_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("SHORT_S", 0.0), ("PAUSE_S", 0.005), ("MOST_PAGES", 100)):
        monkeypatch.setattr(f"heedful.engine.store.{name}", value)
    threads = threading.active_count()
    with Store(folder / "run") as store:
        ends = time.monotonic() + 30
        count = log = 0
        while count * len(ROW) < 2 * log or count < 50:  # until the log has been used again
            store.add_inputs([Input(count, count + 1, str(count), ROW, None)])
            store.flush()
            count += 1
            log = (folder / "run" / "run.sqlite-wal").stat().st_size
            time.sleep(0.002)
            assert time.monotonic() < ends
        assert threading.active_count() == threads + 1
        shutil.copytree(folder / "run", folder / "killed")
        store.empty_log()
        assert threading.active_count() == threads
        assert not (folder / "run" / "run.sqlite-wal").stat().st_size
    for name in ("run", "killed"):
        with Store(folder / name) as store:
            assert [entry.input for entry in store.entries()] == [ROW] * count


def test_a_store_that_is_forgotten_leaves_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heedful.engine.store.SHORT_S", 0.0)
    threads = threading.active_count()
    store = Store(tmp_path)
    store.add_inputs([Input(0, 1, "a", "x", None)])
    store.flush()
    assert threading.active_count() == threads + 1
    del store
    assert threading.active_count() == threads
