"""Runs side by side; of two, where they differ first, then what the differences come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.analysis.compare.tables import GROUPS_SHOWN, head, notes, tables
from heedful.core.errors import RunError, UsageError
from heedful.pages.viewer.index import Filter
from heedful.pages.viewer.pages_samples import PAGE, laid_out, page_number
from heedful.reporting.notation import percent

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from heedful.jobs.results import Scored
    from heedful.pages.viewer.state import ViewedItem, Viewer

PAIR, MOST = 2, 8
"""Runs that are compared at a time: a page of more has no room for its columns."""


def compare(request: Request) -> Response:
    """Show how runs differ: of two also the verdicts, of more each beside the others."""
    viewer: Viewer = request.app.state.viewer
    items = _chosen(viewer, request, MOST)
    anyway = "anyway" in request.query_params
    outcome = viewer.comparisons.ask([item.path for item in items], anyway=anyway)
    values: dict[str, Any] = {"items": items, "anyway": anyway, "outcome": outcome, "pair": None}
    if outcome.found is None:
        return viewer.page("compare.html", **values)
    values |= {"head": head(outcome.found), "notes": notes(outcome.found)}
    if len(items) > PAIR:
        shown = list(tables(outcome.found, groups=GROUPS_SHOWN, flips=0))
        return viewer.page("compare.html", **values, tables=shown)
    pair = values["pair"] = outcome.found["pairs"][0]
    flips = pair["flips"]["listed"]
    way = request.query_params.get("way", "")
    if way in ("met", "unmet"):
        flips = [flip for flip in flips if flip["first"]["status"] == way]
    number = page_number(request, len(flips))
    return viewer.page(
        "compare.html",
        **values,
        tables=list(tables(outcome.found, flips=0)),
        flips=flips[number * PAGE : (number + 1) * PAGE],
        listed=len(flips),
        way=way,
        page=number,
        more=(number + 1) * PAGE < len(flips),
        percent=percent,
    )


def sample(request: Request) -> Response:
    """Show the same sample in two runs."""
    viewer: Viewer = request.app.state.viewer
    items = _chosen(viewer, request, PAIR)
    sides = []
    for item, name in zip(items, ("id", "other"), strict=True):
        key = request.query_params.get(name, "")
        row, position = _row(viewer, item, key)
        sides.append(
            {
                "item": item,
                "row": row,
                "position": position,
                **laid_out(row, Filter(), whole="whole" in request.query_params),
            }
        )
    return viewer.page("compare_sample.html", first=items[0], second=items[1], sides=sides)


def _row(viewer: Viewer, item: ViewedItem, key: str) -> tuple[Scored, int]:
    with viewer.open(item) as opened:
        record = next(opened.saved.query("SELECT position FROM inputs WHERE id = ?", key), None)
        if record is None:
            raise RunError(f"no sample {key!r}", where=item.name)
        position = int(str(record[0]))
        return opened.row(position), position


def _chosen(viewer: Viewer, request: Request, most: int) -> list[ViewedItem]:
    keys = list(dict.fromkeys(request.query_params.getlist("run")))
    if not PAIR <= len(keys) <= most:
        what = f"{PAIR} to {MOST} runs are compared at a time, and samples of two"
        raise UsageError(what, hint="go back and choose others")
    return [viewer.item(key, "run") for key in keys]
