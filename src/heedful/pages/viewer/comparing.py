"""Comparing runs while a page waits: in a process of its own, once for all who ask."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

CACHED_COMPARISONS = 8
"""Comparisons that are cached."""

DONE = (0, 1)
"""Exit codes of a comparison that was made, of all samples or of some."""


@dataclass(frozen=True, slots=True)
class ComparisonPage:
    """Result of a comparison."""

    # as :func:`heedful.compare` returns it; None where it is under way or refused
    found: dict[str, Any] | None = None
    refused: str = ""  # why there is none


class Comparisons:
    """Makes comparisons, and keeps the last ones."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="heedful-compare-"))
        # Also where nobody closes it.
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._cache: OrderedDict[object, ComparisonPage] = OrderedDict()
        self._processes: dict[object, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()

    def ask(self, runs: Sequence[Path], *, anyway: bool) -> ComparisonPage:
        """Return a comparison as far as it is; begin it where it is new or its runs changed."""
        key = anyway, *((run, _stamp(run)) for run in runs)
        with self._lock:
            cached = self._cache.get(key)
            if cached is not None:
                self._cache.move_to_end(key)
                return cached
            process = self._processes.get(key)
            if process is None:
                self._processes[key] = self._begin(runs, anyway=anyway)
                return ComparisonPage()
            if process.poll() is None:
                return ComparisonPage()
            del self._processes[key]
            self._cache[key] = self._read(process)
            while len(self._cache) > CACHED_COMPARISONS:
                self._cache.popitem(last=False)
            return self._cache[key]

    def close(self) -> None:
        """End what is under way."""
        for process in self._processes.values():
            process.kill()
            process.wait()

    def _begin(self, runs: Sequence[Path], *, anyway: bool) -> subprocess.Popen[bytes]:
        named = [str(run.resolve()) for run in runs]
        with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".json", delete=False) as file:
            output = file.name
        command = [sys.executable, "-m", "heedful", "compare", *named, "--quiet", "-o", output]
        command += ["--anyway"] * anyway
        with Path(output).with_suffix(".err").open("wb") as errors:
            return subprocess.Popen(  # noqa: S603 - ourselves
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
            )

    def _read(self, process: subprocess.Popen[bytes]) -> ComparisonPage:
        assert isinstance(process.args, list)  # noqa: S101 - as given above
        output = Path(process.args[process.args.index("-o") + 1])
        errors = output.with_suffix(".err")
        try:
            if process.returncode in DONE:
                with suppress(ValueError):
                    return ComparisonPage(json.loads(output.read_text(encoding="utf-8")))
            said = errors.read_text(encoding="utf-8", errors="replace").strip()
            return ComparisonPage(
                refused=said.removeprefix("heedful: ") or "the comparison ended early"
            )
        finally:
            output.unlink(missing_ok=True)
            errors.unlink(missing_ok=True)


def _stamp(run: Path) -> tuple[int, ...]:
    """Say of which state of a run a comparison is."""
    try:
        status = (run / "summary.json").stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size
