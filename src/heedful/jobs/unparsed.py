"""Replies of a judge that could not be read: one of them as an example, and the likely reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from heedful.core.nouns import Status
from heedful.core.text import one_line

if TYPE_CHECKING:
    from heedful.jobs.evaluation import Evaluation
    from heedful.jobs.results import Scored

__all__ = ["example"]

SHOWN = 300
"""Characters of a reply that are shown."""

ROWS_LOOKED_AT = 1000


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
    return UnreadReply(row.id, reason, one_line(text, SHOWN) or "(nothing)", _hint(row, text))


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
