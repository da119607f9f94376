"""Rows shown where a run ends: the first faults, and a reply that could not be read.

A fault is a constraint that isn't met, or a mistake (of negative points) that was made.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from heedful.core.nouns import Status
from heedful.core.rubric import is_fault
from heedful.core.text import one_line
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful.jobs.evaluation import Evaluation
    from heedful.jobs.results import Scored

__all__ = ["example", "unmet"]

FAULTS_SHOWN = 5
ROWS_LOOKED_AT = 1000
LONGEST = {"id": 24, "constraint": 80, "why": 100}
"""Characters of a cell."""

REPLY_SHOWN = 300
"""Characters of a reply that are shown."""


def unmet(evaluation: Evaluation) -> Table | None:
    """Lay out the first faults, in the order of the input; ``None`` without any."""
    counts = evaluation.summary["verdicts"]
    penalised = any("negative weights" in note for note in evaluation.summary["notes"])
    count = counts["unmet"]
    rows = list(islice(_found(evaluation), FAULTS_SHOWN)) if count or penalised else []
    if not rows:
        return None
    note = ""
    if penalised:
        note = "Mistakes are marked −; heedful view shows all."
    elif count > len(rows):
        note = f"The first {len(rows)} of {count:,}; heedful view shows all."
    return Table(
        "Unmet, and mistakes made" if penalised else "Unmet",
        ("sample", "constraint", "why"),
        rows,
        note,
        words=3,
    )


def _found(evaluation: Evaluation) -> Iterator[tuple[str, ...]]:
    for row in islice(evaluation, ROWS_LOOKED_AT):
        if row.sample is None or row.critique is None:
            continue
        for constraint, judgment in zip(row.sample.checklist, row.critique.judgments, strict=False):
            if is_fault(constraint, judgment.status):
                mark = "− " if judgment.status is Status.MET else ""
                texts = (row.id, mark + constraint.text, judgment.explanation)
                yield tuple(map(one_line, texts, LONGEST.values()))


class UnreadReply(NamedTuple):
    """A reply from which a verdict is missing."""

    id: str
    reason: str
    text: str
    hint: str  # what to change, where that is known


def example(evaluation: Evaluation) -> UnreadReply | None:
    """Return one unreadable reply of a model, if there is one."""
    if not evaluation.summary["verdicts"]["unparsed"]:
        return None
    for number, row in enumerate(evaluation):
        if number >= ROWS_LOOKED_AT:
            break
        reply = _unread(row)
        if reply is not None:
            return reply
    return None


def _unread(row: Scored) -> UnreadReply | None:
    sample, critique = row.sample, row.critique
    if sample is None or critique is None or critique.text is None or not critique.expenses:
        return None
    reasons = (each.explanation for each in critique.judgments if each.status is Status.UNPARSED)
    reason = next(reasons, None)
    if reason is None:
        return None
    text = _once(critique.text)
    return UnreadReply(row.id, reason, one_line(text, REPLY_SHOWN) or "(nothing)", _hint(row, text))


def _once(text: str) -> str:
    """Drop the repetition where a second request got the same reply."""
    half = text[: len(text) // 2 - 1]
    return half if text == f"{half}\n\n{half}" else text


def _hint(row: Scored, text: str) -> str:
    """Name the prompt whose parser reads more of the reply, or another likely reason."""
    from heedful.judges import prompts

    sample, critique = row.sample, row.critique
    if sample is None or critique is None:
        return ""
    judged = [
        constraint
        for constraint, judgment in zip(sample.checklist, critique.judgments, strict=True)
        if judgment.judge == critique.expenses[-1].judge
    ]
    decided = sum(
        judgment.status.decided
        for judgment in critique.judgments
        if judgment.judge == critique.expenses[-1].judge
    )
    for name in prompts.NAMES:
        read = prompts.make(name).parse(text, judged)
        if sum(judgment.status.decided for judgment in read) > decided:
            return f"this looks like a reply to the prompt {name}: --prompt {name}"
    if not text.strip():
        return "the model says nothing: give it more --max-completion-tokens, or another --prompt"
    return ""
