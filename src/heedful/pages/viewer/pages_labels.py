"""Labels on the page of a sample: what a person says of each constraint, by one click."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from heedful.core.errors import InputError, UsageError
from heedful.pages.viewer.labelling import LabelFile
from heedful.pages.viewer.pages_audit import form_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from heedful.core.nouns import Sample
    from heedful.pages.viewer.runs import Run
    from heedful.pages.viewer.state import Viewer


async def label(request: Request) -> Response:
    """Save a label at once, and show the sample again."""
    viewer: Viewer = request.app.state.viewer
    item = viewer.item(request.path_params["key"], "run")
    form = await form_of(request)
    number = form.get("constraint", "")
    if not (number.isdecimal() and len(number) < 10):  # noqa: PLR2004
        raise UsageError("the label is of no constraint")

    def save() -> None:
        with viewer.open(item) as opened:
            sample = opened.row(request.path_params["number"] - 1).sample
        if sample is None:
            raise UsageError("the row has no sample to label")
        LabelFile.put(item.path, sample, int(number), form.get("label", ""))

    await run_in_threadpool(save)
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"{request.url.path}{query}#constraint-{int(number)}", 303)


def labelling(opened: Run, sample: Sample | None) -> dict[str, Any]:
    """Return what a sample's page says of its labels."""
    nothing = {"given": None, "labels": None, "to_label": None}
    if sample is None or not opened.judged:
        return nothing
    try:
        file = LabelFile(opened.saved.directory)
    except (InputError, OSError):
        return nothing  # the file is for whoever damaged it; the sample can be read all the same
    following = next((one for one in file.open_ids() if file.drawn and one != sample.id), None)
    found = None
    if following is not None:
        found = next(
            opened.saved.query("SELECT position FROM inputs WHERE id = ?", following), None
        )
    return {
        "given": file.labels(sample) if file.takes(sample) else None,
        "labels": file,
        "to_label": None if found is None else int(str(found[0])),
    }
