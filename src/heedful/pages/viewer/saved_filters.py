"""Filters under a name, in a file of the folder that is shown: whoever opens it has them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.responses import RedirectResponse

from heedful.core.errors import UsageError
from heedful.core.text import one_line
from heedful.data.formats.base import atomically
from heedful.pages.viewer.filters import Filter
from heedful.pages.viewer.pages_audit import form_of

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

    from heedful.pages.viewer.state import Viewer

FILE = "heedful-filters.json"
LONGEST = 40
MOST = 50


def path_of(root: Path) -> Path:
    """Return the file: in the folder, or beside a run, into which nothing is written."""
    inside = root.resolve()
    return (inside.parent if (inside / "run.sqlite").exists() else inside) / FILE


def saved_filters(root: Path) -> dict[str, str]:
    """Return the queries by name; none where the file isn't there or isn't ours."""
    try:
        read = json.loads(path_of(root).read_text(encoding="utf-8"))
        named = read.items() if isinstance(read, dict) else ()
        return {str(name): Filter.of(QueryParams(str(query))).query() for name, query in named}
    except (OSError, ValueError, UsageError):
        return {}


async def save(request: Request) -> Response:
    """Save a filter under a name, or remove it, and show the samples that it wants."""
    viewer: Viewer = request.app.state.viewer
    item = viewer.item(request.path_params["key"], "run")
    form = await form_of(request)
    name = one_line(form.get("name", ""), LONGEST)
    query = Filter.of(QueryParams(form.get("query", ""))).query()

    def write() -> None:
        known = saved_filters(viewer.root)
        if "remove" in form:
            known.pop(name, None)
        elif not name or not query:
            raise UsageError("a saved filter needs a name and a condition")
        elif len(known) >= MOST and name not in known:
            raise UsageError(f"there are {MOST} saved filters", hint="remove one")
        else:
            known[name] = query
        with atomically(path_of(viewer.root)) as file:
            file.write(json.dumps(known, ensure_ascii=False, indent=2) + "\n")

    await run_in_threadpool(write)
    return RedirectResponse(f"/run/{item.key}/samples{f'?{query}' if query else ''}", 303)
