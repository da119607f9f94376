"""State that all pages of the viewer share: the folder, its runs, and background work."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections import OrderedDict
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse

from heedful.critic.data.audit import KINDS
from heedful.pages.overview import folders
from heedful.pages.viewer.building import Builder, about
from heedful.pages.viewer.runs import Memory, Run, Watch
from heedful.reporting.html.environment import CHART_SCRIPTS, environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


Kind = Literal["run", "report", "audit"]

HEAD_BYTES = 65_536
"""How much of a file is read to see whether it is an audit."""


@dataclass(frozen=True, slots=True)
class ViewedItem:
    """A run, report or audit that can be viewed."""

    kind: Kind  # a run's directory, a folder with a report.json, or the file of an audit
    path: Path  # where it is
    name: str  # its path below the folder that was searched
    key: str  # names it in an address


def find(root: Path) -> dict[str, ViewedItem]:
    """Search a folder, by name and in the same order each time."""
    items: dict[str, ViewedItem] = {}
    for folder, files in folders(root):
        for kind, path in _items(folder, files):
            name = path.relative_to(root).as_posix() if path != root else root.resolve().name
            item = ViewedItem(kind, path, name, _key(kind, name))
            items[item.key] = item
    return items


def _items(folder: Path, files: list[str]) -> Iterator[tuple[Kind, Path]]:
    if "run.sqlite" in files:
        yield "run", folder
    elif "report.json" in files:
        yield "report", folder
    for name in files:
        if name.endswith((".csv", ".jsonl")) and _is_audit(folder / name):
            yield "audit", folder / name


def _is_audit(path: Path) -> bool:
    """Look at a file's first line for the questions of an audit."""
    try:
        with path.open("rb") as file:
            head = file.readline(HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return False
    return "number" in head and any(all(q in head for q in kind.each) for kind in KINDS.values())


def _key(kind: Kind, name: str) -> str:
    """Name a item in an address: readable, and one of its own."""
    words = "".join(c if c.isascii() and c.isalnum() else "-" for c in Path(name).name.lower())
    digest = blake2b(f"{kind} {name}".encode("utf-8", "surrogateescape"), digest_size=4)
    return f"{words.strip('-')[:40] or kind}-{digest.hexdigest()}"


AT_ONCE = 500
"""Rows that are put in while a page waits: that takes less than to start a process."""

PAUSE_SECONDS = 5.0
"""Between two processes for one run, which may be growing."""


class Builds:
    """Starts what brings indexes up to date, and ends it with the viewer."""

    def __init__(self) -> None:
        self._processes: dict[Path, subprocess.Popen[bytes]] = {}
        self._begun: dict[Path, float] = {}
        self._lock = threading.Lock()

    def bring_up(self, run: Run) -> None:
        """Have a run's index brought up to date; a large step is taken in the background."""
        missing = run.total - min(run.covered)
        if not missing or not run.has_samples:
            return
        path = run.index_path
        with self._lock:
            process = self._processes.get(path)
            if process is not None and process.poll() is None:
                return
            if missing <= AT_ONCE:
                with suppress(sqlite3.Error), closing(Builder(run.directory, path)) as builder:
                    builder.update(AT_ONCE)
                del run.covered
                return
            if time.monotonic() - self._begun.get(path, -PAUSE_SECONDS) < PAUSE_SECONDS:
                return
            self._begun[path] = time.monotonic()
            command = [
                sys.executable,
                "-m",
                "heedful.pages.viewer.building",
                str(run.directory),
            ]
            command.append(str(path))
            self._processes[path] = subprocess.Popen(  # noqa: S603 - ourselves
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )

    def under_way(self, run: Run) -> bool:
        """Say whether a run's index is being made."""
        process = self._processes.get(run.index_path)
        return process is not None and process.poll() is None

    def close(self) -> None:
        """End what is under way; the next time it goes on where it stood."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait()


def index_folder() -> Path:
    """Return the folder of indexes, without those whose runs are gone.

    It is in the user's cache; in a temporary folder where none can be made there.
    """
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    folder = (Path(home) if home else Path.home() / ".cache") / "heedful" / "view"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        return Path(tempfile.mkdtemp(prefix="heedful-view-"))
    for path in folder.glob("*.sqlite"):
        if not _needed(path):
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
    return folder


def _needed(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            run = about(db, "run")
    except sqlite3.Error:
        return True  # it is being made
    return run is not None and (Path(run) / "run.sqlite").is_file()


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


TEMPLATES = Path(__file__).parent / "templates"

SEARCH_SECONDS = 2.0
"""How long what was found below the folder is taken to be there, at least."""


class Viewer:
    """State that all pages share."""

    def __init__(self, root: Path, indexes: Path | None = None) -> None:
        self.root = root  # the folder whose runs are shown
        self.builds = Builds()  # keeps indexes up to date
        self.watch = Watch()  # looks at runs under way
        self.comparisons = Comparisons()  # compares runs
        self._indexes = indexes or index_folder()
        self._memory = Memory()
        self._items: dict[str, ViewedItem] = {}
        self._due = 0.0
        self._templates = environment(TEMPLATES)

    def items(self) -> dict[str, ViewedItem]:
        """Return what there is to look at, by key."""
        now = time.monotonic()
        if now > self._due:
            self._items = find(self.root)
            took = time.monotonic() - now
            self._due = now + max(SEARCH_SECONDS, 10 * took)
        return self._items

    def forget(self) -> None:
        """Search again the next time: something was made."""
        self._due = 0.0

    def item(self, key: str, *kinds: str) -> ViewedItem:
        """Return one of them."""
        item = self.items().get(key)
        if item is None or item.kind not in kinds:
            raise HTTPException(404, "It is not there (any more).")
        return item

    def open(self, item: ViewedItem) -> Run:
        """Open a run."""
        return Run(item.path, self._indexes, self._memory)

    def page(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Make a page of a template."""
        values = {"root": self.root, "chart_scripts": CHART_SCRIPTS, **values}
        return HTMLResponse(self._templates.get_template(template).render(values), status)

    def close(self) -> None:
        """End what is under way in the background."""
        self.builds.close()
        self.comparisons.close()
