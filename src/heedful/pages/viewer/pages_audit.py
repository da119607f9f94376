"""Audits: a person says of each judgment whether it is right, by the keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from heedful.core.errors import UsageError
from heedful.critic.data.audit import draw as draw_audit
from heedful.pages.viewer.auditing import Audit
from heedful.reporting.notation import interval, percent

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from heedful.pages.viewer.state import Viewer

QUESTIONS = {
    "judgment_correct": "Is the verdict right?",
    "explanation_correct": "Is the explanation right?",
    "constraint_correct": "Does the instruction ask for this?",
    "checklist_complete": "Is the checklist complete?",
}

BODY_BYTES = 100_000
"""The longest request that writes; a note is shorter."""

FILE = "audit.csv"


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
    path = item.path / FILE
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
