"""State that all pages of the viewer share: the folder, its runs, and background work."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import tempfile
import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse

from heedful.core.errors import HeedfulError
from heedful.critic.data.audit import KINDS
from heedful.pages.overview import folders
from heedful.pages.viewer.building import about, build
from heedful.pages.viewer.runs import CACHED_SELECTIONS, Recent, RowSelection, Run
from heedful.reporting.html.environment import CHART_SCRIPTS, environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess


Kind = Literal["run", "audit", "accuracy"]

HEAD_BYTES = 65_536
"""How much of a file is read to see whether it is an audit."""


TRAINING = "training.json"


@dataclass(frozen=True, slots=True)
class ViewedItem:
    """A run, audit or measured judge that can be viewed."""

    # a run's directory, the file of an audit, or of heedful judge-accuracy or a training
    kind: Kind
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
    for name in files:
        if name.endswith((".csv", ".jsonl")) and _is_audit(folder / name):
            yield "audit", folder / name
        elif name.endswith(".json") and "run.sqlite" not in files and _is_accuracy(folder / name):
            yield "accuracy", folder / name


def _is_audit(path: Path) -> bool:
    """Look at a file's first line for the questions of an audit."""
    try:
        with path.open("rb") as file:
            head = file.readline(HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return False
    return "number" in head and any(all(q in head for q in kind.each) for kind in KINDS.values())


def _is_accuracy(path: Path) -> bool:
    """Look at a file's beginning for what judge-accuracy and trainings write."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return False
    return path.name == TRAINING or (b'"labels"' in head and b'"judges"' in head)


def _key(kind: Kind, name: str) -> str:
    """Name a item in an address: readable, and one of its own."""
    words = "".join(c if c.isascii() and c.isalnum() else "-" for c in Path(name).name.lower())
    digest = blake2b(f"{kind} {name}".encode("utf-8", "surrogateescape"), digest_size=4)
    return f"{words.strip('-')[:40] or kind}-{digest.hexdigest()}"


SPAWN = multiprocessing.get_context("spawn")
"""Starts processes that share nothing with this one and its threads."""

AT_ONCE = 500
"""Rows that are put in while a page waits: that takes less than to start a process."""

PAUSE_SECONDS = 5.0
"""Between two processes for one run, which may be growing."""


class Builds:
    """Starts what brings indexes up to date, and ends it with the viewer."""

    def __init__(self) -> None:
        self._processes: dict[Path, BaseProcess] = {}
        self._begun: dict[Path, float] = {}
        self._lock = threading.Lock()

    def bring_up(self, run: Run) -> None:
        """Have a run's index brought up to date; a large step is taken in the background."""
        missing = run.missing
        if not missing or not run.has_samples:
            return
        path = run.index_path
        with self._lock:
            process = self._processes.get(path)
            if process is not None and process.is_alive():
                return
            if missing <= AT_ONCE:
                with suppress(sqlite3.Error):
                    build(run.directory, path, AT_ONCE)
                del run.covered
                return
            if time.monotonic() - self._begun.get(path, -PAUSE_SECONDS) < PAUSE_SECONDS:
                return
            self._begun[path] = time.monotonic()
            self._processes[path] = SPAWN.Process(
                target=build, args=(run.directory, path), daemon=True
            )
            self._processes[path].start()

    def under_way(self, run: Run) -> bool:
        """Say whether a run's index is being made."""
        process = self._processes.get(run.index_path)
        return process is not None and process.is_alive()

    def close(self) -> None:
        """End what is under way; the next time it goes on where it stood."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.join()


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


@dataclass(frozen=True, slots=True)
class ComparisonPage:
    """Result of a comparison."""

    # as :func:`heedful.compare` returns it; None where it is under way or refused
    found: dict[str, Any] | None = None
    refused: str = ""  # why there is none


class Comparisons:
    """Compares runs in processes of their own, and keeps the last comparisons."""

    def __init__(self) -> None:
        self._cache: Recent[ComparisonPage] = Recent(CACHED_COMPARISONS)
        self._under_way: dict[object, tuple[BaseProcess, Connection]] = {}
        self._lock = threading.Lock()

    def ask(self, runs: Sequence[Path], *, anyway: bool) -> ComparisonPage:
        """Return a comparison as far as it is; begin it where it is new or its runs changed."""
        key = anyway, *((run, _stamp(run)) for run in runs)
        with self._lock:
            cached = self._cache.get(key)
            if cached is not None:
                return cached
            if key not in self._under_way:
                self._under_way[key] = self._begin(runs, anyway=anyway)
            process, result = self._under_way[key]
            if not result.poll():
                return ComparisonPage()
            del self._under_way[key]
            try:
                page: ComparisonPage = result.recv()
            except EOFError:
                page = ComparisonPage(refused="the comparison ended early")
            process.join()
            self._cache.keep(key, page)
            return page

    def close(self) -> None:
        """End what is under way."""
        for process, _ in self._under_way.values():
            process.kill()
            process.join()

    def _begin(self, runs: Sequence[Path], *, anyway: bool) -> tuple[BaseProcess, Connection]:
        result, sender = SPAWN.Pipe(duplex=False)
        named = [str(run.resolve()) for run in runs]
        process = SPAWN.Process(target=_compare, args=(named, anyway, sender), daemon=True)
        process.start()
        sender.close()  # so that the end of the process is seen
        return process, result


def _compare(runs: Sequence[str], anyway: bool, sender: Connection) -> None:  # noqa: FBT001 - one call
    from heedful.analysis.compare.job import compare

    try:
        sender.send(ComparisonPage(compare(*runs, anyway=anyway)))
    except HeedfulError as error:
        sender.send(ComparisonPage(refused=str(error)))


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

    def __init__(
        self, root: Path, indexes: Path | None = None, annotator: str | None = None
    ) -> None:
        self.root = root  # the folder whose runs are shown
        self.annotator = annotator  # who labels
        self.builds = Builds()  # keeps indexes up to date
        self.comparisons = Comparisons()  # compares runs
        self._indexes = indexes or index_folder()
        self._memory: Recent[RowSelection] = Recent(CACHED_SELECTIONS)
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
            raise HTTPException(404, f"No {kinds[0]} of that name.")
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
