"""The samples of a run, filtered, sorted, grouped and paged, and the page of one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import Response, StreamingResponse

from heedful.core.errors import HeedfulError, UsageError
from heedful.core.turns import pieces
from heedful.jobs.results import record
from heedful.metrics.reliability import CHANCES
from heedful.pages.passages import LONG, Span, excerpt, marked, passages, spans
from heedful.pages.viewer.building import STATUSES, fact
from heedful.pages.viewer.index import DEFAULT, DISAGREEMENTS, GROUPS, PROBLEM, SHOWN, Filter
from heedful.pages.viewer.pages_writing import labelling
from heedful.reporting.notation import interval, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markupsafe import Markup
    from starlette.requests import Request
    from starlette.responses import Response

    from heedful.core.nouns import Judgment, Sample
    from heedful.jobs.results import Scored
    from heedful.pages.viewer.runs import Run
    from heedful.pages.viewer.state import Viewer


PAGE = 50

SNIPPET = 180
"""Characters of a prompt that the list shows, and of the text around what was looked for."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a conversation, ready to be shown."""

    role: str  # who said it
    text: Markup  # what was said, with marks
    length: int  # its length in characters


@dataclass(frozen=True, slots=True)
class JudgedConstraint:
    """A constraint and the judgment on it."""

    number: int  # the constraint's, from 1
    constraint: Any  # the constraint
    judgment: Judgment | None  # the judgment; None where there is none
    label: bool | None  # what the data says the verdict should be
    wanted: bool  # whether it is what the filter asks for


def samples(request: Request) -> Response:
    """Show the samples that a filter wants, a page at a time."""
    viewer: Viewer = request.app.state.viewer
    item = viewer.item(request.path_params["key"], "run")
    problem = ""
    try:
        wanted = Filter.of(request.query_params)
    except UsageError as error:
        wanted, problem = Filter(), str(error)
    with viewer.open(item) as opened:
        viewer.builds.bring_up(opened)
        selection = None
        if not problem:
            try:
                selection = opened.select(wanted)
            except UsageError as error:
                problem = str(error)
        listed = [] if selection is None else selection.positions
        groups = _groups(opened, wanted, listed) if wanted.group else []
        number = page_number(request, len(groups or listed))
        shown = listed[number * PAGE : number * PAGE + PAGE]
        rows = [] if wanted.group else [_line(opened, position, wanted) for position in shown]
        return viewer.page(
            "samples.html",
            400 if problem else 200,
            item=item,
            run=opened,
            wanted=wanted,
            given=request.query_params,
            problem=problem,
            selection=selection,
            rows=rows,
            shared=_shared(rows),
            groups=[
                _group_line(opened, group) for group in groups[number * PAGE : (number + 1) * PAGE]
            ],
            listed=len(groups or listed),
            first=number * PAGE,
            page=number,
            more=(number + 1) * PAGE < len(groups or listed),
            choices=opened.index.choices(),
            statuses=[*STATUSES[:2], *GROUPS, *STATUSES[2:], PROBLEM],
            disagreements=list(DISAGREEMENTS),
            orders=SHOWN,
            default=DEFAULT,
            asked_for=_asked_for(rows, wanted),
            state=opened.state(),
            building=viewer.builds.under_way(opened),
        )


def download(request: Request) -> Response:
    """Give the samples that a filter wants as JSON lines, in constant memory."""
    viewer: Viewer = request.app.state.viewer
    item = viewer.item(request.path_params["key"], "run")
    wanted = Filter.of(request.query_params)

    def lines() -> Iterator[str]:
        with viewer.open(item) as opened:
            for entry in opened.saved.entries():
                row = opened.parsed(entry)
                if row is not None and (not wanted or opened.wants(wanted, entry)):
                    said = record(row, "strict")
                    yield json.dumps(said, ensure_ascii=False, default=str) + "\n"

    name = "".join(
        c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in item.path.name
    )
    headers = {"content-disposition": f'attachment; filename="{name}.jsonl"'}
    return StreamingResponse(lines(), media_type="application/x-ndjson", headers=headers)


def page_number(request: Request, rows: int) -> int:
    """Return the number of the requested page, from 0; the last where there are fewer."""
    page = request.query_params.get("page", "1")
    number = int(page) - 1 if page.isdecimal() and len(page) < 10 else 0  # noqa: PLR2004
    return min(max(0, number), max(0, (rows - 1) // PAGE))


def _shared(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the checklist that all rows of a page have, if it is one: it heads a matrix."""
    checklists = {tuple(each.constraint.text for each in row["judged"]) for row in rows}
    checklists.discard(())
    return list(checklists.pop()) if len(checklists) == 1 else []


def _asked_for(rows: Sequence[Mapping[str, Any]], wanted: Filter) -> str:
    """Return the words of the constraint that a filter asks for, from a row that has it."""
    judged = (each for row in rows for each in row["judged"] if each.wanted)
    found = next(judged, None) if wanted.constraint is not None else None
    return "" if found is None else str(found.constraint.text)


def _groups(opened: Run, wanted: Filter, positions: Sequence[int]) -> list[tuple[Any, ...]]:
    """Return the groups of repeats in which a filter wants a row."""
    groups = opened.index.repeats(wanted.sort)
    if not wanted:
        return groups
    there = opened.index.repeats_of(positions)
    return [group for group in groups if group[-1] in there]


def _group_line(opened: Run, group: tuple[Any, ...]) -> dict[str, Any]:
    """Lay out the repeats of a prompt: how many pass, and how far they are apart."""
    first, total, passed, failed, least, most, repeats = group
    settled = passed + failed == total
    places = opened.index.members(repeats)
    return {
        **_line(opened, first, Filter()),
        "total": total,
        "passed": f"{passed} of {total}" if settled else f"{passed} to {total - failed} of {total}",
        "pass_2": percent(CHANCES["pass_all"](passed, total, 2), 1) if settled else "–",
        "spread": interval([least, most]),
        "members": [_line(opened, place, Filter()) for place in places[:MEMBERS]],
        "left": len(places) - MEMBERS,
    }


MEMBERS = 16
"""Repeats of a prompt that its line shows."""


def _line(opened: Run, position: int, wanted: Filter) -> dict[str, Any]:
    """Lay out a sample in a line of the list."""
    row = _row(opened, position)
    if isinstance(row, str):
        nothing: dict[str, Any] = {"id": "", "judged": [], "tags": {}, "text": "", "hit": None}
        nothing |= {"response": "", "judges": "", "confidence": None, "tokens": 0}
        return {"position": position, "problem": row, **nothing}
    sample = row.sample
    text = ""
    if sample is not None:
        prompts = [turn.content for turn in sample.conversation if turn.role == "user"]
        text = prompts[-1] if prompts else sample.response or ""
    judged = judged_of(row, wanted)
    made = {each.number: each.judgment for each in judged if each.judgment is not None}
    sought = {each.number: made[each.number] for each in judged if each.wanted}
    response = (sample and sample.response) or ""
    known = [each.confidence for each in made.values() if each.confidence is not None]
    spent = () if row.critique is None else row.critique.expenses
    return {
        "position": position,
        "id": row.id,
        "problem": row.problem,
        "judged": judged,
        "tags": {} if sample is None else sample.tags,
        "text": text if len(text) <= SNIPPET else f"{text[:SNIPPET]}…",
        "response": excerpt(response, passages(response, sought)) if response else "",
        "judges": ", ".join(dict.fromkeys(each.judge or "" for each in made.values())),
        "confidence": min(known, default=None),
        "tokens": sum(each.prompt_tokens + each.completion_tokens for each in spent or ()),
        "hit": _hit(row, wanted.text),
    }


def _row(opened: Run, position: int) -> Scored | str:
    """Return a row, or what is wrong with it: one damaged row costs the list itself only."""
    try:
        return opened.row(position)
    except (HeedfulError, KeyError) as error:
        return str(error)


def _hit(row: Scored, text: str) -> tuple[str, Markup] | None:
    """Return where a text stands that was looked for: in what, and with what around it."""
    if not text or row.sample is None:
        return None
    for name, whole in _texts(row, row.sample):
        at = whole.lower().find(text.lower())
        if at >= 0:
            start = max(0, at - SNIPPET // 3)
            cut = whole[start : at + len(text) + SNIPPET]
            span = Span(at - start, at - start + len(text), 0)
            return name, marked(cut, [span], None)
    return None


def _texts(row: Scored, sample: Sample) -> list[tuple[str, str]]:
    texts = [piece for turn in sample.conversation for piece in pieces(turn)]
    texts += [("reasoning", sample.reasoning or ""), ("response", sample.response or "")]
    texts += [("tool call", each.shown) for each in sample.tool_calls]
    texts += [
        (f"constraint {n}", constraint.text) for n, constraint in enumerate(sample.checklist, 1)
    ]
    if row.critique is not None:
        for number, judgment in enumerate(row.critique.judgments, 1):
            texts.append((f"explanation {number}", judgment.explanation))
    return [*texts, ("reference", sample.reference or ""), ("id", row.id)]


def judged_of(row: Scored, wanted: Filter) -> list[JudgedConstraint]:
    """Pair constraints with their judgments; a critique may end before its checklist does."""
    if row.sample is None:
        return []
    judgments: Sequence[Judgment] = () if row.critique is None else row.critique.judgments
    labels = row.sample.labels or ()
    judged = []
    for place, constraint in enumerate(row.sample.checklist):
        judgment = judgments[place] if place < len(judgments) else None
        label = labels[place] if place < len(labels) else None
        hit = False
        if judgment is not None and wanted.of_constraint:
            asked = constraint.model_dump(mode="json", include={"text", "type", "check"})
            hit = wanted.wants(fact(asked, judgment.model_dump(mode="json"), label))
        judged.append(JudgedConstraint(place + 1, constraint, judgment, label, hit))
    return judged


def sample(request: Request) -> Response:
    """Show one sample, with the way to the ones before and after it within the filter."""
    viewer: Viewer = request.app.state.viewer
    item = viewer.item(request.path_params["key"], "run")
    wanted = Filter.of(request.query_params)
    position = request.path_params["number"] - 1
    with viewer.open(item) as opened:
        viewer.builds.bring_up(opened)
        row = opened.row(position)
        selection = opened.select(wanted)
        place = selection.place(position)
        before = after = None
        if place is not None:
            before = selection.positions[place - 1] if place else None
            last = place + 1 == len(selection.positions)
            after = None if last else selection.positions[place + 1]
        return viewer.page(
            "sample.html",
            item=item,
            run=opened,
            row=row,
            position=position,
            wanted=wanted,
            selection=selection,
            place=place,
            page=1 if place is None else place // PAGE + 1,
            before=before,
            after=after,
            **labelling(opened, row.sample, viewer.annotator),
            **laid_out(row, wanted, whole="whole" in request.query_params),
        )


def laid_out(row: Scored, wanted: Filter, *, whole: bool) -> dict[str, Any]:
    """Lay out a row for its page."""
    judged = judged_of(row, wanted)
    limit = None if whole else LONG
    sample = row.sample
    if sample is None:
        return {"turns": [], "response": None, "judged": [], "cut": False, "source": ""}
    parts = [(judgment.number, judgment.constraint.text) for judgment in judged]
    turns = [
        Turn(role, marked(text, spans(text, parts), limit), len(text))
        for turn in sample.conversation
        for role, text in pieces(turn)
    ]
    if sample.reasoning:
        thought = marked(sample.reasoning, [], limit)
        turns.append(Turn("reasoning", thought, len(sample.reasoning)))
    calls = [each.shown for each in sample.tool_calls]
    response = None
    if sample.response is not None:
        made = {each.number: each.judgment for each in judged if each.judgment is not None}
        text = marked(sample.response, passages(sample.response, made), limit)
        response = Turn("response", text, len(sample.response))
    turns += [Turn("tool call", marked(c, [], limit), len(c)) for c in calls]
    lengths = [turn.length for turn in (*turns, *filter(None, [response]))]
    extra = {**sample.source, **(sample.model_extra or {})}
    return {
        "turns": turns,
        "response": response,
        "judged": judged,
        "cut": not whole and any(length > LONG for length in lengths),
        "source": json.dumps(extra, ensure_ascii=False, indent=2, default=str) if extra else "",
    }
