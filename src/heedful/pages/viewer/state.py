"""State that all pages of the viewer share: the folder, its runs, and background work."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse

from heedful.pages.viewer.finding import Builds, Comparisons, find, index_folder
from heedful.pages.viewer.runs import Memory, Run, Watch
from heedful.reporting.html.environment import CHART_SCRIPTS, environment

if TYPE_CHECKING:
    from heedful.pages.viewer.finding import ViewedItem

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
