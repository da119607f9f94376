"""The list of runs, and the page of one: its results, its progress."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import Response

from heedful.core.errors import RunError
from heedful.core.text import amount
from heedful.jobs.evaluate_tables import breakdowns_of, notes, tables
from heedful.pages.hardest import WORDS, hardest, hardest_kinds, of_words
from heedful.pages.overview import line_of
from heedful.pages.passages import excerpt, passages
from heedful.pages.viewer.building import EXAMPLES, constraint_number
from heedful.pages.viewer.index import Filter
from heedful.pages.viewer.pages_samples import judged_of
from heedful.pages.viewer.state import TRAINING
from heedful.reporting.metric_names import label, ranked
from heedful.reporting.notation import cells, cost_line, percent, undecided

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from markupsafe import Markup
    from starlette.requests import Request

    from heedful.pages.hardest import Hard
    from heedful.pages.overview import RunLine
    from heedful.pages.viewer.runs import Run
    from heedful.pages.viewer.state import ViewedItem, Viewer
    from heedful.reporting.document import Document


def accuracy_of(path: Path) -> Document:
    """Return what is known of judges: from ``heedful judge-accuracy``, or the card of a critic."""
    from heedful.analysis.meta.tables import card, document

    try:
        measured = json.loads(path.read_text(encoding="utf-8"))
        if path.name == TRAINING:
            from heedful.critic.training.report import document as trained

            whole = trained(measured)
            named = [(measured.get(key), key.replace("_", "-")) for key in ("test", "held_out")]
            cards = [part for judge, name in named if judge for part in card(judge, name)]
        else:
            whole = document(measured)
            cards = [part for judge in measured["judges"] for part in card(judge)]
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise RunError(
            f"its results cannot be read ({type(error).__name__}: {error})",
            where=str(path),
            hint="make it again with this heedful: the files are of another version, or damaged",
        ) from error
    shown = {part.title for part in cards}
    rest = [part for part in whole.parts if part.title not in shown]
    return replace(whole, parts=[*rest[:1], *cards, *rest[1:]])


HEADLINES, FIGURES = 2, 3
"""Rates of a run that the list shows, and that its own page begins with."""

UNKNOWN = percent(None)

UNREADABLE = (
    "The summary is of another version of heedful, or damaged, so no rates are shown. The command "
    "that made the run makes it again, without a call."
)

MINUTE, HOUR, DAY = 60, 3600, 86400


@dataclass(frozen=True, slots=True)
class Listed:
    """A run of the list."""

    item: ViewedItem  # which it is
    line: RunLine  # what it is, and what came of it

    @property
    def comparable(self) -> bool:
        """Whether it can be compared."""
        return self.line.judged and self.line.state == "finished" and not self.line.problem

    @property
    def failed(self) -> bool:
        """Whether it looks failed: it came to nothing, or cannot be read."""
        return bool(self.line.problem)


class Hardest(NamedTuple):
    """A constraint, or a kind of them, that few responses met."""

    hard: Hard
    wanted: Filter  # what wants the samples that did not meet it
    examples: Sequence[int]  # places of some of them


class FailedConstraint(NamedTuple):
    """A constraint that a response did not meet."""

    position: int  # the row's place in the run
    id: str
    number: int  # the constraint's, from 1
    text: str
    explanation: str
    passage: Markup  # what the verdict speaks of, with what is around it
    query: str  # that finds more


HARDEST_SHOWN = 6
FAILURES_SHOWN = 5

NEWEST = "newest"


def overview(request: Request) -> Response:
    """Show what there is to look at: a list of runs that can be searched and sorted."""
    viewer: Viewer = request.app.state.viewer
    items = viewer.items().values()
    listed = _listed(viewer, request)
    sort = request.query_params.get("sort", NEWEST)
    return viewer.page(
        "runs.html",
        lines=listed,
        columns=_columns(listed, sort),
        q=request.query_params.get("q", ""),
        sort=sort,
        sorts=[NEWEST, *_sorts(listed, sort)],
        query=request.url.query,
        total=sum(item.kind == "run" for item in items),
        audits=[item for item in items if item.kind == "audit"],
        judges=[item for item in items if item.kind == "accuracy"],
        ago=_ago,
        percent=percent,
        live=any(each.line.state == "running" for each in listed),
    )


def _listed(viewer: Viewer, request: Request) -> list[Listed]:
    """Return the runs that are searched for, sorted as requested."""
    sought = request.query_params.get("q", "").casefold().split()
    sort = request.query_params.get("sort", NEWEST)
    pairs = [(item, line_of(item.path)) for item in viewer.items().values() if item.kind == "run"]
    listed = [
        Listed(item, line)
        for item, line in pairs
        for said in [f"{item.name} {line.what} {line.judge} {line.problem}".casefold()]
        if all(word in said for word in sought)
    ]
    listed.sort(key=lambda each: (each.line.state != "running", -each.line.changed))
    if sort != NEWEST:
        listed.sort(key=lambda each: each.line.rank(sort))
    return listed


def _columns(listed: list[Listed], sort: str) -> list[str]:
    """Name the rates that the list shows: that by which it is sorted, then the commonest."""
    first = Counter(name for each in listed for name in list(each.line.rates)[:HEADLINES])
    known = any(sort in each.line.rates for each in listed)
    names = [sort] if known else []
    return [*names, *(name for name, _ in first.most_common() if name != sort)][:HEADLINES]


def _sorts(listed: list[Listed], sort: str) -> list[str]:
    """Name what the list can be sorted by."""
    names = dict.fromkeys(name for each in listed for name in each.line.rates)
    known = ["coverage", "cost", *names]
    return known if sort in (NEWEST, *known) else [*known, sort]


def _rates(summary: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for family in ranked(summary["metrics"]):
        for name, measure in summary["metrics"][family].items():
            shown, between, *_ = cells(measure, 1)
            left = undecided(measure)
            detail = f"{between}, {left} undecided" if left else between
            yield label(family, name, summary), shown, detail


def _first(summary: Mapping[str, Any], number: int) -> list[tuple[str, str, str]]:
    """Return the first rates, of those that are known where any is."""
    rates = list(_rates(summary))
    return [rate for rate in rates if rate[1] != UNKNOWN][:number] or rates[:1]


def run(request: Request) -> Response:
    """Show one run."""
    viewer: Viewer = request.app.state.viewer
    item = viewer.item(request.path_params["key"], "run")
    with viewer.open(item) as opened:
        viewer.builds.bring_up(opened)
        state = opened.state()
        summary = _readable(opened.summary) if opened.saved.judged else None
        line = line_of(item.path)
        hard = [] if summary is None else _hardest(opened, summary)
        if state == "finished" and "hx-request" in request.headers:
            # The page was looking at the run; now there is more to see than how far it is.
            return Response(headers={"hx-refresh": "true"})
        return viewer.page(
            "run.html",
            item=item,
            run=opened,
            state=state,
            line=line,
            failed=state == "finished" and bool(line.problem),
            summary=summary,
            hardest=hard,
            failures=list(_failures(opened, [each for _, rows in hard for each in rows])),
            breakdowns=[] if summary is None else breakdowns_of(summary),
            tables=[] if summary is None else list(tables(summary)),
            notes=_notes(opened, summary),
            progress=None if state == "finished" else list(_progress(opened)),
            sessions=opened.saved.sessions,
            audits=_audits(viewer, item),
            configuration=json.dumps(
                {"about": opened.saved.about, "config": opened.saved.config},
                ensure_ascii=False,
                indent=2,
            ),
            percent=percent,
            cost_line=cost_line,
            rates=[] if summary is None else _first(summary, FIGURES),
        )


def _progress(opened: Run) -> Iterator[tuple[str, str]]:
    """Say how far a run is, in figures with their names."""
    ((done, failed),) = opened.saved.query("SELECT count(*), count(problem) FROM outputs")
    ((unread,),) = opened.saved.query("SELECT count(problem) FROM inputs")
    assert isinstance(done, int)  # noqa: S101 - counts are
    assert isinstance(failed, int)  # noqa: S101
    assert isinstance(unread, int)  # noqa: S101
    if expected := opened.saved.expected_rows:
        yield "of the input read", f"{min(1.0, opened.total / expected):.0%}"
    yield "rows done", f"{done + unread:,} of {opened.total:,} read"
    yield "failed", f"{failed + unread:,}"


def _hardest(opened: Run, summary: Mapping[str, Any]) -> list[tuple[str, list[Hardest]]]:
    """Rank types and constraints, each with some samples that failed it."""
    by = summary["by"]
    counted = {number: (counts, found) for number, *counts, found in opened.index.hardest()}
    texts = []
    numbers: dict[str, int] = {}
    for number, (counts, found) in counted.items():
        text = _words(opened, number, found) if number >= 0 else None
        if text is not None:
            numbers[text] = number
            texts.append(of_words(text, *counts))
    kinds = []
    for row in hardest_kinds(by)[:HARDEST_SHOWN]:
        wanted = Filter(status="unmet", type=row.key)
        if row.unmet and row.known == "type":
            kinds.append(Hardest(row, wanted, opened.index.examples(wanted, EXAMPLES)))
    constraints = []
    for row in hardest(texts, by)[:HARDEST_SHOWN]:
        number = numbers[row.name] if row.known == WORDS else constraint_number("", row.key)
        if row.unmet:
            _, found = counted.get(number, ((), []))
            wanted = Filter(status="unmet", constraint=number)
            constraints.append(Hardest(row, wanted, found))
    groups = [("By type", kinds), ("By constraint", constraints)]
    return [group for group in groups if group[1]]


def _words(opened: Run, number: int, places: Sequence[int]) -> str | None:
    """Find the words of a constraint in a sample that did not meet it."""
    sample = opened.row(places[0]).sample if places else None
    texts = () if sample is None else (each.text for each in sample.checklist)
    return next((text for text in texts if constraint_number(text, None) == number), None)


def _failures(opened: Run, hard: Sequence[Hardest]) -> Iterator[FailedConstraint]:
    """Show a failure of each of the hardest constraints, of as many samples as there are."""
    seen: set[tuple[int, int]] = set()
    for each in sorted(hard, key=lambda one: one.wanted.constraint is None):
        if len(seen) == FAILURES_SHOWN:
            return
        for position in each.examples:
            row = opened.row(position)
            judged = next((one for one in judged_of(row, each.wanted) if one.wanted), None)
            if judged is None or (position, judged.number) in seen or judged.judgment is None:
                continue
            seen.add((position, judged.number))
            response = (row.sample and row.sample.response) or ""
            yield FailedConstraint(
                position,
                row.id,
                judged.number,
                judged.constraint.text,
                judged.judgment.explanation,
                excerpt(response, passages(response, {judged.number: judged.judgment})),
                each.wanted.query(),
            )
            break


def _readable(summary: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return a summary of ``evaluate`` if it holds what this version of heedful puts into it."""
    try:
        if summary is not None:
            _ = [*_rates(summary), *tables(summary), *notes(summary)]
            _ = [summary[key] for key in ("scoring", "coverage", "constraints", "samples")]
    except (KeyError, TypeError, AttributeError, ValueError, StopIteration):
        return None
    return summary


def _notes(opened: Run, summary: Mapping[str, Any] | None) -> list[str]:
    if summary is not None:
        return list(notes(summary))
    if opened.problem or (opened.saved.judged and opened.summary is not None):
        return [*filter(None, [opened.problem]), UNREADABLE]
    return []


def _audits(viewer: Viewer, item: ViewedItem) -> list[ViewedItem]:
    """Return the audits that lie in a run's directory."""
    return [
        other
        for other in viewer.items().values()
        if other.kind == "audit" and other.path.parent == item.path
    ]


def accuracy(request: Request) -> Response:
    """Show how good judges are, or a trained critic."""
    viewer: Viewer = request.app.state.viewer
    item = viewer.item(request.path_params["key"], "accuracy")
    return viewer.page("report.html", item=item, document=accuracy_of(item.path))


def _ago(when: float) -> str:
    """Say how long ago something was, or on which day."""
    past = time.time() - when
    if past < MINUTE:
        return "now"
    if past < HOUR:
        return f"{past / MINUTE:.0f} min ago"
    if past < DAY:
        return f"{amount(round(past / HOUR), 'hour')} ago"
    return time.strftime("%Y-%m-%d", time.localtime(when))
