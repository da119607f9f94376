"""Pages that write: answers of audits, labels of judgments."""

from __future__ import annotations

import csv
import io
import json
import os
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from heedful.analysis.calibration import DRAW, blank
from heedful.core.errors import InputError, UsageError
from heedful.core.outputs import replacing
from heedful.core.text import spreadsheet_cell
from heedful.critic.data.audit import ANSWERS, MARK, Audit
from heedful.critic.data.audit import draw as draw_audit
from heedful.data.formats.files import records
from heedful.reporting.notation import interval, percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

    from heedful.core.nouns import Sample
    from heedful.pages.viewer.runs import Run
    from heedful.pages.viewer.state import Viewer


NOTE_LONGEST = 10_000

_writing = threading.Lock()
"""Two answers at a time must not each write the file without the other."""


def open_row(audit: Audit, since: int = 0) -> int | None:
    """Return the first row from a place on, then from the start, with a question open."""
    size = len(audit.rows)
    places: list[int] = [*range(since, size), *range(min(since, size))]
    for at in places:
        if not all(audit.answer(at, question) for question in audit.questions(at)):
            return at
    return None


def put_answer(path: Path, at: int, column: str, value: str) -> Audit:
    """Write an answer or a note into an audit; what else was changed there meanwhile stays.

    The file is replaced as a whole once all of it is on the disk.
    """
    with _writing:
        audit = Audit(path)
        if not 0 <= at < len(audit.rows):
            raise UsageError(f"the audit has no row {at + 1}", where=str(path))
        if column == "note":
            if len(value) > NOTE_LONGEST:
                raise UsageError(f"the note is longer than {NOTE_LONGEST:,} characters")
            value = value if path.suffix == ".jsonl" else spreadsheet_cell(value)
        elif column not in audit.questions(at) or value not in (*ANSWERS, ""):
            raise UsageError(f"{column!r} cannot be answered {value!r}", where=str(path))
        audit.rows[at][column] = value
        put_in_place(path, _text(audit))
    return audit


def _text(audit: Audit) -> str:
    if audit.path.suffix == ".jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in audit.rows)
    text = io.StringIO()
    table = csv.DictWriter(text, list(audit.rows[0]), lineterminator="\r\n")
    table.writeheader()
    table.writerows(audit.rows)
    return MARK + text.getvalue()


def put_in_place(path: Path, text: str) -> None:
    """Put a file in the place of another, on the disk before it is there by name."""
    try:
        with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        hint = "make it and its folder writable, then say it again"
        raise UsageError(
            f"cannot be written: {error.strerror}", where=str(path), hint=hint
        ) from error


LABELS = {"met": True, "unmet": False, "": None}
"""By what a form says; the empty one takes a label back."""


ANNOTATIONS = "annotations"


class LabelFile:
    """The labels beside a run."""

    def __init__(self, run: Path, annotator: str | None = None) -> None:
        run = run.resolve()
        self.annotator = annotator  # whose labels are shown and written; None: the final ones
        self.path = run.with_name(f"{run.name}.labels.jsonl")  # where they are, or would be
        self.rows: dict[str, dict[str, Any]] = {}  # by the sample's id
        for line, data, problem in records(self.path) if self.path.exists() else ():
            if problem is not None or "id" not in data:
                raise InputError(problem or "the row has no id", where=f"{self.path}:{line}")
            self.rows[str(data["id"])] = dict(data)

    @property
    def drawn(self) -> bool:
        """Whether its rows were drawn at random, to which none may be added."""
        return any(DRAW in row for row in self.rows.values())

    def takes(self, sample: Sample) -> bool:
        """Say whether a sample may be labelled."""
        return sample.id in self.rows or not self.drawn

    def labels(self, sample: Sample) -> Sequence[bool | None]:
        """Return a sample's labels, one for each constraint."""
        given = self._own(self.rows.get(sample.id, {}))
        places = len(sample.checklist)
        return given if isinstance(given, list) and len(given) == places else [None] * places

    def _own(self, row: Mapping[str, Any]) -> Any:
        if self.annotator is None:
            return row.get("labels")
        return (row.get(ANNOTATIONS) or {}).get(self.annotator)

    def disputed(self, sample: Sample) -> list[int]:
        """Return the constraints that annotators label differently and that have no final label."""
        row = self.rows.get(sample.id, {})
        given = zip(*(row.get(ANNOTATIONS) or {}).values(), strict=False)
        final = self.labels(sample)
        said = [{label for label in each if label is not None} for each in given]
        return [
            at for at, (each, label) in enumerate(zip(said, final, strict=False), 1)
            if len(each) > 1 and label is None
        ]  # fmt: skip

    def open_ids(self) -> list[str]:
        """Return the ids of the rows with a label missing."""
        return [ident for ident, row in self.rows.items() if None in (self._own(row) or [None])]

    @classmethod
    def put(
        cls, run: Path, sample: Sample, number: int, said: str, annotator: str | None = None
    ) -> None:
        """Write a label; the file is replaced as a whole once all of it is on the disk."""
        with _writing:
            file = cls(run, annotator)
            if said not in LABELS or not 1 <= number <= len(sample.checklist):
                what = f"constraint {number} cannot be labelled {said!r}"
                raise UsageError(what, where=str(file.path))
            if not file.takes(sample):
                what = f"{sample.id!r} is none of the rows that were drawn to be labelled"
                raise UsageError(what, where=str(file.path), hint="move that file away first")
            labels = list(file.labels(sample))
            labels[number - 1] = LABELS[said]
            row = file.rows.setdefault(sample.id, blank(sample))
            if annotator is None:
                row["labels"] = labels
            else:
                row[ANNOTATIONS] = {**(row.get(ANNOTATIONS) or {}), annotator: labels}
            text = "".join(
                json.dumps(row, ensure_ascii=False) + "\n"
                for row in file.rows.values()
                if file.drawn or row.get(ANNOTATIONS) or {*row["labels"]} != {None}
            )
            put_in_place(file.path, text)


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
        first = open_row(audit_file)
        at = len(audit_file.rows) - 1 if first is None else first
    questions = audit_file.questions(at)
    answers = {question: audit_file.answer(at, question) for question in questions}
    turn = next((question for question in questions if not answers[question]), questions[0])
    by_question, by_verdict = audit_file.measures()
    asked = [
        (place, name)
        for place in range(len(audit_file.rows))
        for name in audit_file.questions(place)
    ]
    return viewer.page(
        "audit.html",
        item=item,
        audit=audit_file,
        at=at,
        row=audit_file.rows[at],
        answers=answers,
        words=QUESTIONS,
        turn=turn,
        open_row=open_row(audit_file, at + 1),
        answered=sum(bool(audit_file.answer(*place)) for place in asked),
        asked=len(asked),
        by_question=by_question,
        by_verdict=by_verdict,
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
        lambda: put_answer(item.path, at, question, form.get("answer", ""))
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
        said = form.get("label", "")
        LabelFile.put(item.path, sample, int(number), said, viewer.annotator)

    await run_in_threadpool(save)
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"{request.url.path}{query}#constraint-{int(number)}", 303)


def labelling(opened: Run, sample: Sample | None, annotator: str | None) -> dict[str, Any]:
    """Return what a sample's page says of its labels."""
    nothing: dict[str, Any] = dict.fromkeys(("given", "labels", "disputed", "to_label"))
    if sample is None or not opened.saved.judged:
        return nothing
    try:
        file = LabelFile(opened.saved.directory, annotator)
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
        "disputed": [] if annotator else file.disputed(sample),
        "to_label": None if found is None else int(str(found[0])),
    }
