"""Audits: a person says of each judgment whether it is right, by the keyboard."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.responses import RedirectResponse

from heedful.core.errors import InputError, UsageError
from heedful.core.text import one_line
from heedful.critic.data.audit import draw as draw_audit
from heedful.data.formats.base import atomically
from heedful.pages.viewer.auditing import Audit, LabelFile
from heedful.pages.viewer.index import Filter
from heedful.reporting.notation import interval, percent

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

    from heedful.core.nouns import Sample
    from heedful.pages.viewer.runs import Run
    from heedful.pages.viewer.state import Viewer


QUESTIONS = {
    "judgment_correct": "Is the verdict right?",
    "explanation_correct": "Is the explanation right?",
    "constraint_correct": "Does the instruction ask for this?",
    "checklist_complete": "Is the checklist complete?",
}

BODY_BYTES = 100_000
"""The longest request that writes; a note is shorter."""

AUDIT = "audit.csv"


def audit(request: Request) -> Response:
    """Show one judgment of an audit, and how far the audit is."""
    viewer: Viewer = request.app.state.viewer
    item = viewer.item(request.path_params["key"], "audit")
    audit_file = Audit(item.path)
    row = request.query_params.get("row", "")
    if row.isdecimal() and len(row) < 10 and 0 < int(row) <= len(audit_file.rows):  # noqa: PLR2004
        at = int(row) - 1
    else:
        first = audit_file.open_row()
        at = len(audit_file.rows) - 1 if first is None else first
    questions = audit_file.questions(at)
    answers = {question: audit_file.answer(at, question) for question in questions}
    turn = next((question for question in questions if not answers[question]), questions[0])
    return viewer.page(
        "audit.html",
        item=item,
        audit=audit_file,
        at=at,
        row=audit_file.rows[at],
        answers=answers,
        words=QUESTIONS,
        turn=turn,
        open_row=audit_file.open_row(at + 1),
        progress=audit_file.progress(),
        percent=percent,
        interval=interval,
    )


async def answer(request: Request) -> Response:
    """Save an answer or a note at once, and go on to what is open."""
    viewer: Viewer = request.app.state.viewer
    item = viewer.item(request.path_params["key"], "audit")
    form = await form_of(request)
    if not form.get("row", "").isdecimal():
        raise UsageError("the answer is to no row")
    at, question = int(form["row"]) - 1, form.get("question", "")
    audit = await run_in_threadpool(
        lambda: Audit.put(item.path, at, question, form.get("answer", ""))
    )
    done = all(audit.answer(at, question_name) for question_name in audit.questions(at))
    following = at + 1 < len(audit.rows)
    row = at + 2 if done and following and question != "note" and form.get("answer") else at + 1
    return RedirectResponse(f"/audit/{item.key}?row={row}", 303)


async def draw(request: Request) -> Response:
    """Draw an audit of a run's judgments, into its directory."""
    viewer: Viewer = request.app.state.viewer
    item = viewer.item(request.path_params["key"], "run")
    form = await form_of(request)
    samples, seed = form.get("samples", ""), form.get("seed", "")
    if not (samples.isdecimal() and seed.isdecimal()):
        raise UsageError("samples and seed are numbers", hint="go back and give both")
    path = item.path / AUDIT
    await run_in_threadpool(
        lambda: draw_audit(item.path, path, samples=int(samples), seed=int(seed))
    )
    viewer.forget()
    key = next(other.key for other in viewer.items().values() if other.path == path)
    return RedirectResponse(f"/audit/{key}", 303)


async def form_of(request: Request) -> dict[str, str]:
    """Read the fields of a form, as browsers send them."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_BYTES:
            raise UsageError("the request is too long", hint="shorten the note")
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[-1] for name, values in fields.items()}


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


FILTERS = "heedful-filters.json"
LONGEST = 40
MOST = 50


def path_of(root: Path) -> Path:
    """Return the file: in the folder, or beside a run, into which nothing is written."""
    inside = root.resolve()
    return (inside.parent if (inside / "run.sqlite").exists() else inside) / FILTERS


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
