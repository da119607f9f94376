"""The facts that a row is searched by: texts, verdicts, tags.

The index is made of them, and rows that are not in it yet are looked through by the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json

from heedful.core.nouns import Critique, Status
from heedful.core.turns import ToolCall
from heedful.jobs.results import Scored, scored_entry
from heedful.jobs.rows import generated_entry
from heedful.judges.prompts import read_recording

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from heedful.engine.store import Entry

STATUSES = tuple(status.value for status in Status)

VOTES, LABEL = 1, 2
"""Kinds of disagreement: within a panel, with the label."""

WAITING = "not judged yet"

DECIDED = ("met", "unmet")


class Fact(NamedTuple):
    """Facts of one judgment.

    Attributes:
        status: its status.
        type: its constraint's type, empty where it has none.
        judge: who decided.
        confidence: from 0 to 1, where there is one.
        disagreement: :data:`VOTES` and :data:`LABEL`, added up.
    """

    status: str
    type: str
    judge: str
    confidence: float | None
    disagreement: int


class Facts(NamedTuple):
    """Facts of one row.

    Attributes:
        text: all of its texts, one after another.
        judgments: its judgments, in the order of the checklist.
        tags: its tags.
        problem: whether it came to nothing.
    """

    text: str
    judgments: tuple[Fact, ...] = ()
    tags: Mapping[str, Any] = {}
    problem: bool = False


def row(entry: Entry, *, judged: bool) -> Scored:
    """Read a row of a run."""
    if judged:
        scored = scored_entry(entry)
        return scored._replace(critique=None, problem=WAITING) if _waits(entry) else scored
    made, _ = generated_entry(entry)
    critique = None
    if made.sample is not None and made.sample.recording is not None:
        judgments = read_recording(made.sample.recording, made.sample)
        critique = Critique(judgments=tuple(judgments), text=made.sample.recording.text)
    return Scored(made.line, made.id, made.sample, critique, made.problem)


def facts(entry: Entry, *, judged: bool) -> Facts:
    """Say what a row is found by; a row that cannot be read is found by its id and problem."""
    try:
        if judged and entry.input is not None and entry.output is not None:
            return _quick(entry.id or "", from_json(entry.input), from_json(entry.output))
        scored = row(entry, judged=judged)
    except (ValueError, KeyError, TypeError, AttributeError):  # JSON, but of something else
        return Facts(entry.id or f"line-{entry.line}", problem=True)
    if scored.sample is None:
        return Facts(f"{scored.id}\n{scored.problem}", problem=True)
    sample = scored.sample.model_dump(mode="json", exclude_defaults=True)
    critique = {} if scored.critique is None else scored.critique.model_dump(exclude_defaults=True)
    known = _quick(scored.id, sample, critique)
    problem = scored.problem is not None and not _waits(entry)
    return known._replace(text=f"{known.text}\n{scored.problem or ''}", problem=problem)


def _waits(entry: Entry) -> bool:
    """Say whether a row is yet to be worked on, which isn't a failure."""
    return entry.output is None and entry.failure is None and entry.problem is None


def _quick(key: str, sample: Mapping[str, Any], critique: Mapping[str, Any]) -> Facts:
    """Take facts from a sample and a critique as JSON: to make models of all would take thrice."""
    checklist = sample.get("checklist") or ()
    judgments = critique.get("judgments") or ()
    return Facts(
        "\n".join(text for text in _texts(key, sample, checklist, judgments) if text),
        tuple(_judgments(checklist, judgments, sample.get("labels") or ())),
        sample.get("tags") or {},
    )


def _texts(key: str, sample: Mapping[str, Any], checklist: Any, judgments: Any) -> Iterator[str]:
    yield key
    for turn in sample.get("conversation") or ():
        yield turn["content"]
        yield from _calls(turn)
    yield sample.get("response") or ""
    yield from _calls(sample)
    yield sample.get("reference") or ""
    for constraint in checklist:
        yield constraint["text"]
    for judgment in judgments:
        yield judgment.get("explanation") or ""


def _calls(turn: Mapping[str, Any]) -> Iterator[str]:
    for call in turn.get("tool_calls") or ():
        yield ToolCall.model_validate(call).shown


def _judgments(checklist: Any, judgments: Any, labels: Any) -> Iterator[Fact]:
    for place, (constraint, judgment) in enumerate(zip(checklist, judgments, strict=False)):
        label = labels[place] if place < len(labels) else None
        yield fact(constraint.get("type"), judgment, label)


def fact(kind: str | None, judgment: Mapping[str, Any], label: bool | None) -> Fact:  # noqa: FBT001
    """Say what is known of a judgment."""
    status = str(judgment["status"])
    cast = {vote["status"] for vote in judgment.get("votes") or () if vote["status"] in DECIDED}
    against = label is not None and status in DECIDED and label != (status == "met")
    return Fact(
        status,
        kind or "",
        judgment.get("judge") or "",
        judgment.get("confidence"),
        VOTES * (len(cast) > 1) + LABEL * against,
    )
