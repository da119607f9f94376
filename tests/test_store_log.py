"""The log of a store stays short while a run goes on, and nothing in it gets lost."""

from __future__ import annotations

import shutil
import threading
import time
from typing import TYPE_CHECKING

from heedful.engine.records import Input
from heedful.engine.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ROW = "x" * 100_000


def test_a_long_run_keeps_its_log_short_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("SHORT_S", 0.0), ("PAUSE_S", 0.001), ("MOST_PAGES", 100)):
        monkeypatch.setattr(f"heedful.engine.store_log.{name}", value)
    threads = threading.active_count()
    with Store(tmp_path / "run") as store:
        for position in range(150):
            store.add_inputs([Input(position, position + 1, str(position), ROW, None)])
            store.flush()
            time.sleep(0.002)
        assert threading.active_count() == threads + 1
        log = (tmp_path / "run" / "run.sqlite-wal").stat().st_size
        assert log < 150 * len(ROW) / 2
        shutil.copytree(tmp_path / "run", tmp_path / "killed")
        store.empty_log()
        assert threading.active_count() == threads
        assert not (tmp_path / "run" / "run.sqlite-wal").stat().st_size
    for name in ("run", "killed"):
        with Store(tmp_path / name) as store:
            assert [entry.input for entry in store.entries()] == [ROW] * 150


def test_a_store_that_is_forgotten_leaves_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heedful.engine.store_log.SHORT_S", 0.0)
    threads = threading.active_count()
    store = Store(tmp_path)
    store.add_inputs([Input(0, 1, "a", "x", None)])
    store.flush()
    assert threading.active_count() == threads + 1
    del store
    assert threading.active_count() == threads
