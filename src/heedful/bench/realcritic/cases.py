"""One critique of one solution, as a scoring sees it.

Both sides of a critique go by one grader, so that a critic that repeats an answer gains and loses
nothing. Strict: ours. Faithful: the published one, which made the file's labels and is known by
them: an answer that is the given one has the given one's label; any other has our grade.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from heedful.bench.realcritic.replies import read_review

if TYPE_CHECKING:
    from heedful.bench.realcritic.critic import (
        Paradigm,
        RealCriticItem,
        RealCriticOutcome,
        Round,
        SolutionVerdict,
    )
    from heedful.bench.realcritic.run import RealCriticRow
    from heedful.core.nouns import Scoring


@dataclass(frozen=True, slots=True)
class Case:
    """One critique of one solution, as the numbers see it.

    Attributes:
        set: the item's set.
        generator: who wrote the solution.
        before: whether the solution is correct.
        after: whether the correction is.
        previous: whether the correction of the round before is; as ``before`` in the first.
        verdict: whether the critic calls the solution correct.
        marked: the first wrong step as people marked it, from 1; -1 for none, ``None`` unmarked.
        found: the first wrong step by the critic.
        qualified: whether the critique took no shortcut.
        reason: why ``after`` was not decided.
    """

    set: str = ""
    generator: str = ""
    before: bool | None = None
    after: bool | None = None
    previous: bool | None = None
    verdict: bool | None = None
    marked: int | None = None
    found: int | None = None
    qualified: bool | None = None
    reason: str = ""


def given(row: RealCriticRow, scoring: Scoring) -> bool | None:
    """Say whether the given solution is correct; without a gold answer only the label can tell."""
    if row.item is None:
        return None
    label = row.item.solution.label
    if scoring == "faithful" or not row.item.problem.answers:
        return label
    return row.outcome.given.correct if row.outcome else None


def own(outcome: RealCriticOutcome | None, scoring: Scoring) -> bool | None:
    """Say whether the critic's own solution is correct."""
    answer = outcome.direct if outcome else None
    return settled(answer.grade.correct if answer else None, scoring)


def settled(correct: bool | None, scoring: Scoring) -> bool | None:  # noqa: FBT001 - a grade
    """Return a grade, or for the published code the one that stands for it."""
    return bool(correct) if scoring == "faithful" else correct


def case_of(row: RealCriticRow, paradigm: Paradigm, number: int, scoring: Scoring) -> Case:
    """Lay out one critique; where none was made, all that came of it is undecided."""
    item, outcome = row.item, row.outcome
    assert item is not None  # noqa: S101 - rows that were not read are left out before
    rounds: tuple[Round, ...] = outcome.rounds(paradigm) if outcome else ()
    this: Round | None = rounds[number] if number < len(rounds) else None
    last: Round | None = rounds[number - 1] if 0 < number <= len(rounds) else None
    before = own(outcome, scoring) if paradigm == "self" else given(row, scoring)
    start = _start(item, outcome, paradigm) if outcome else None
    after = _after(this, start, before, scoring)
    previous = _after(last, start, before, scoring)
    if scoring == "strict" and this and start and before != after and _is_files_own(this, start):
        # The file gives two answers for one solution, and this is one of them: nobody can say
        # whether the critique changed anything.
        before = None
    if number == 0:
        previous = before
    qualified = this.qualified if this else None
    if scoring == "faithful" and this is not None and this.checked is not None:
        qualified = bool(qualified)
    return Case(
        set=item.set,
        generator=row.critic if paradigm == "self" else item.solution.model or "unknown",
        before=before,
        after=after,
        previous=previous,
        verdict=this.verdict if this else None,
        marked=item.solution.first_error if paradigm == "cross" else None,
        found=this.first_error if this else None,
        qualified=qualified,
        reason=(this.grade.reason if this else row.problem) or "",
    )


@dataclass(frozen=True, slots=True)
class _Start:
    """The solution that is criticised."""

    grade: SolutionVerdict
    text: str | None
    answer: str | None = None


def _start(item: RealCriticItem, outcome: RealCriticOutcome, paradigm: Paradigm) -> _Start | None:
    if paradigm == "cross":
        return _Start(outcome.given, item.solution.text, item.solution.answer)
    return _Start(outcome.direct.grade, outcome.direct.text) if outcome.direct else None


def _after(
    this: Round | None,
    start: _Start | None,
    before: bool | None,  # noqa: FBT001 - a grade
    scoring: Scoring,
) -> bool | None:
    """Say whether a correction is correct, by the grader that says so of the solution."""
    if this is None:
        return settled(None, scoring)
    graded = start is not None and (scoring == "faithful" or start.grade.correct is not None)
    if start is None or not graded or before is None or this.failed:
        return settled(this.grade.correct, scoring)
    same = _same(this.grade.extracted, start.grade.extracted) or _is_whole(this, start)
    if scoring == "faithful":
        # Two answers that equal the gold one equal each other.
        same = same or _is_files_own(this, start)
        same = same or (this.grade.correct is True and start.grade.correct is True)
    return before if same else settled(this.grade.correct, scoring)


def _is_files_own(this: Round, start: _Start) -> bool:
    """Whether a correction ends on what the file says that the solution ends on."""
    return _same(this.grade.extracted, start.answer)


def _is_whole(this: Round, start: _Start) -> bool:
    """Whether a correction without a final answer is the solution itself, which has none."""
    if this.text is None or start.text is None:
        return False
    if this.grade.extracted is not None or start.grade.extracted is not None:
        return False
    return _same(read_review(this.text).correction, start.text)


def _same(answer: str | None, other: str | None) -> bool:
    """Whether two answers are the same words; white space does not count."""
    return answer is not None and other is not None and answer.split() == other.split()
