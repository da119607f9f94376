"""Runs side by side: what one had right and another not, and a sample of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.analysis.compare.tables import GROUPS_SHOWN, head, notes, tables
from heedful.core.errors import RunError, UsageError
from heedful.pages.passages import differences
from heedful.pages.viewer.index import Filter
from heedful.pages.viewer.pages_samples import PAGE, laid_out, page_number
from heedful.reporting.html.environment import said
from heedful.reporting.notation import percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from heedful.jobs.results import Scored
    from heedful.pages.viewer.state import ViewedItem, Viewer


PAIR, MOST = 2, 8
"""Runs that are compared at a time: a page of more has no room for its columns."""

WAYS = {"met": "only_first", "unmet": "only_second"}
"""Ways in which a verdict flips, by its status in the first run."""


def compare(request: Request) -> Response:
    """Show how runs differ: of two first the verdicts that flipped, of more a matrix."""
    viewer: Viewer = request.app.state.viewer
    items = _chosen(viewer, request, MOST)
    anyway = "anyway" in request.query_params
    outcome = viewer.comparisons.ask([item.path for item in items], anyway=anyway)
    values: dict[str, Any] = {"items": items, "anyway": anyway, "outcome": outcome, "pair": None}
    if outcome.found is None:
        return viewer.page("compare.html", **values)
    names = dict(zip(("first", "second"), (item.name for item in items), strict=False))
    values |= {"head": head(outcome.found), "notes": notes(outcome.found)}
    if len(items) > PAIR:
        shown = list(tables(outcome.found, groups=GROUPS_SHOWN, flips=0))
        shown.sort(key=lambda table: not table.title.startswith("Leaderboard"))
        return viewer.page("compare.html", **values, tables=shown)
    pair = values["pair"] = outcome.found["pairs"][0]
    way, kind = request.query_params.get("way", ""), request.query_params.get("type")
    flips = [
        flip
        for flip in pair["flips"]["listed"]
        if (way not in WAYS or flip["first"]["status"] == way)
        and (kind is None or (flip["type"] or "") == kind)
    ]
    number = page_number(request, len(flips))
    return viewer.page(
        "compare.html",
        **values,
        names=names,
        tables=list(tables(outcome.found, flips=0)),
        flips=[_flip(flip) for flip in flips[number * PAGE : (number + 1) * PAGE]],
        listed=len(flips),
        way=way,
        kind=kind,
        page=number,
        more=(number + 1) * PAGE < len(flips),
        percent=percent,
    )


def _flip(flip: Mapping[str, Any]) -> dict[str, Any]:
    """Mark what differs in the two explanations, where they have words in common."""
    texts = [flip[side]["explanation"][:EXPLANATION_CUT] for side in ("first", "second")]
    return {**flip, "explanations": differences(*texts) or [said(text) for text in texts]}


EXPLANATION_CUT = 400


def compared_sample(request: Request) -> Response:
    """Show the same sample in two runs."""
    viewer: Viewer = request.app.state.viewer
    items = _chosen(viewer, request, PAIR)
    sides = []
    for item, name in zip(items, ("id", "other"), strict=True):
        key = request.query_params.get(name, "")
        row, position = _row_of(viewer, item, key)
        sides.append(
            {
                "item": item,
                "row": row,
                "position": position,
                **laid_out(row, Filter(), whole="whole" in request.query_params),
            }
        )
    texts = [(side["row"].sample and side["row"].sample.response) or "" for side in sides]
    changed = differences(*texts) if texts[0] != texts[1] else None
    return viewer.page(
        "compare_sample.html",
        first=items[0],
        second=items[1],
        sides=sides,
        changed=changed,
        same=texts[0] == texts[1],
    )


def _row_of(viewer: Viewer, item: ViewedItem, key: str) -> tuple[Scored, int]:
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
