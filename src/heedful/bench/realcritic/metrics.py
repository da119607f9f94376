"""RealCritic's numbers, from what critics have done.

Strict: a given solution is correct if our grader says so, and a rate of which something is not
decided is a range. Faithful: as the published code counts, the given solution is
what the file's label says, so is an answer that repeats it, and whatever was not decided (no
answer, a time-out, a failed call) is wrong. Under both, repeating answers gains nothing.

The published labels were made by code, from an answer that code extracted. Items on which our
grader disagreed, or that it could not decide, were read by hand; ``adjudicated.jsonl`` has the
verdicts, each with its reason. An item is known by a digest of its question and solution.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from heedful.bench.realcritic.critic import read_review
from heedful.metrics.contrasts import contrast
from heedful.metrics.rates import Share, macro_measure, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from heedful.bench.realcritic.critic import (
        Paradigm,
        RealCriticItem,
        RealCriticOutcome,
        Round,
        SolutionVerdict,
    )
    from heedful.bench.realcritic.run import RealCriticRow
    from heedful.core.nouns import Scoring
    from heedful.metrics.rates import RateEstimate

__all__ = ["numbers"]


Labels = Literal["shipped", "corrected"]
"""Whether a given solution is correct by the file's label, or by the adjudicated one if any."""


class Adjudication(NamedTuple):
    """A verdict on a given solution."""

    correct: bool
    shipped: bool
    reason: str


@cache
def adjudications() -> dict[str, Adjudication]:
    """Read all verdicts, by the digest of question and solution."""
    text = resources.files(__package__).joinpath("adjudicated.jsonl").read_text(encoding="utf-8")
    rows = map(json.loads, text.splitlines())
    return {
        row["text"]: Adjudication(row["correct"], row["shipped"], row["reason"]) for row in rows
    }


def digest_of(item: RealCriticItem) -> str:
    """Compute the digest that an item is known by."""
    text = f"{item.problem.question}\n{item.solution.text or ''}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def adjudication_of(item: RealCriticItem) -> Adjudication | None:
    """Find the verdict on an item, if it was adjudicated."""
    return adjudications().get(digest_of(item))


def corrected(rows: Iterable[RealCriticRow]) -> Iterator[RealCriticRow]:
    """Put adjudicated verdicts in the place of the given solutions' labels and grades."""
    for row in rows:
        verdict = adjudication_of(row.item) if row.item else None
        if row.item is None or verdict is None:
            yield row
            continue
        solution = row.item.solution.model_copy(update={"label": verdict.correct})
        outcome = row.outcome
        if outcome is not None:
            graded = {"correct": verdict.correct, "reason": verdict.reason}
            outcome = outcome.model_copy(update={"given": outcome.given.model_copy(update=graded)})
        item = row.item.model_copy(update={"solution": solution})
        yield replace(row, item=item, outcome=outcome)


def numbers(
    rows: Iterable[RealCriticRow],
    scoring: Scoring = "strict",
    labels: Labels = "shipped",
) -> dict[str, Any]:
    """Compute all numbers of a run, by critic, in the order of the rows."""
    if labels == "corrected":
        rows = corrected(rows)
    critics: dict[str, list[RealCriticRow]] = {}
    unread = 0
    for row in rows:
        if row.item is None:
            unread += 1
        else:
            critics.setdefault(row.critic, []).append(row)
    read = sum(map(len, critics.values()))
    readable = read / (read + unread) if read else 0.0
    by_critic = {name: critic_numbers(mine, scoring, readable) for name, mine in critics.items()}
    about = {"scoring": scoring, "labels": labels}
    return {**about, "unread": unread, "critics": by_critic}


def critic_numbers(
    rows: Sequence[RealCriticRow], scoring: Scoring = "strict", readable: float = 1.0
) -> dict[str, Any]:
    """Compute one critic's numbers."""
    result: dict[str, Any] = {"items": len(rows)}
    shipped = [(row.item.set if row.item else "", given(row, scoring)) for row in rows]
    result["baseline"] = _rate(shipped, readable)
    if scoring == "strict":
        result["labels"] = _agreement(rows)
    outcomes = [row.outcome for row in rows if row.outcome is not None]
    if any(outcome.direct for outcome in outcomes):
        solved = [(row.item.set if row.item else "", own(row.outcome, scoring)) for row in rows]
        result["direct"] = _rate(solved, readable)
    paradigms: tuple[Paradigm, ...] = ("self", "cross")
    for paradigm in paradigms:
        rounds = max((len(outcome.rounds(paradigm)) for outcome in outcomes), default=0)
        if rounds:
            result[paradigm] = [
                round_numbers(
                    [case_of(row, paradigm, number, scoring) for row in rows],
                    scoring,
                    readable,
                )
                for number in range(rounds)
            ]
    return result


def round_numbers(
    cases: Sequence[Case],
    scoring: Scoring = "strict",
    readable: float = 1.0,
) -> dict[str, Any]:
    """Compute the numbers of one round of critiques."""
    accuracy = _rate([(case.set, case.after) for case in cases], readable)
    delta = _delta(cases)
    moved = transitions((case.before, case.after) for case in cases)
    gains, losses = (moved[way]["count"] for way in _MOVES)
    assert delta["gained"] == gains - losses  # noqa: S101 - accuracy changes by just this
    result: dict[str, Any] = {
        **accuracy,
        "delta": delta,
        "transitions": moved,
        "step": transitions((case.previous, case.after) for case in cases),
        "generators": _generators(cases),
        "verdict": _verdict(cases, readable),
        "undecided": dict(
            Counter(case.reason or "?" for case in cases if case.after is None).most_common()
        ),
    }
    if any(case.qualified is not None for case in cases):
        result["post_check"] = _post_check(cases, readable)
    if any(case.marked is not None for case in cases):
        result["first_error"] = _first_error(cases, scoring, readable)
    return result


def transitions(pairs: Iterable[tuple[bool | None, bool | None]]) -> dict[str, Any]:
    """Count how solutions fare, from before the critique to after it.

    Both denominators in use are given: the published code divides by the solutions that were
    incorrect (or correct) before, the paper's figures by all N.
    """
    counts = Counter(pairs)
    cc, ci, ic, ii = (counts[pair] for pair in _PAIRS)
    n = cc + ci + ic + ii
    undecided = {
        label: sum(counts[pair] for pair in ((before, None), *_ends(before)))
        for label, before in (("correct", True), ("incorrect", False), ("unknown", None))
    }
    return {
        "n": n,
        "undecided": undecided,
        "correct_to_correct": cc,
        "correct_to_incorrect": {
            "count": ci,
            "of_correct": _share(ci, cc + ci),
            "of_all": _share(ci, n),
        },
        "incorrect_to_correct": {
            "count": ic,
            "of_incorrect": _share(ic, ic + ii),
            "of_all": _share(ic, n),
        },
        "incorrect_to_incorrect": ii,
    }


_MOVES = ("incorrect_to_correct", "correct_to_incorrect")
_PAIRS = ((True, True), (True, False), (False, True), (False, False))


def _ends(before: bool | None) -> tuple[tuple[None, bool], ...]:  # noqa: FBT001 - a count's key
    """Name the pairs of an unknown start; with a known one only the end can be open."""
    return ((None, True), (None, False)) if before is None else ()


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _units(values: Iterable[bool | None]) -> Counter[Share]:
    return Counter(Share.of([value]) for value in values)


def _measured(values: Iterable[bool | None], readable: float = 1.0) -> RateEstimate:
    return measure(_units(values), readable=readable)


def _by_set(values: Iterable[tuple[str, bool | None]]) -> dict[str, list[bool | None]]:
    sets: dict[str, list[bool | None]] = {}
    for key, value in values:
        sets.setdefault(key, []).append(value)
    return sets


def _rate(values: Sequence[tuple[str, bool | None]], readable: float) -> dict[str, Any]:
    """Compute a rate over all items, over each set, and its mean over sets."""
    sets = _by_set(values)
    strata = {key: _units(own) for key, own in sets.items()}
    return {
        "accuracy": _measured((value for _, value in values), readable),
        "macro": macro_measure(strata, readable=readable),
        "sets": {key: _measured(own) for key, own in sets.items()},
    }


def _delta(cases: Sequence[Case]) -> dict[str, Any]:
    """Compute what critique gained, over the items that are decided before and after."""
    pairs = _paired(cases)
    sums = Counter((float(after), 1.0, float(before), 1.0) for _, before, after in pairs)
    n = len(pairs)
    gained = sum(after - before for _, before, after in pairs)
    sets: dict[str, list[int]] = {}
    for key, before, after in pairs:
        sets.setdefault(key, []).append(after - before)
    means = {key: sum(own) / len(own) for key, own in sets.items()}
    gain = contrast({"": sums}, seed=0)  # of single items: McNemar's exact test, without chance
    return {
        "value": _share(gained, n),
        "gained": gained,
        "interval": gain["difference"]["interval"],
        "p": gain["p"],
        "n": n,
        "before": _share(sum(before for _, before, _ in pairs), n),
        "after": _share(sum(after for _, _, after in pairs), n),
        "macro": math.fsum(means.values()) / len(means) if means else None,
        "sets": means,
    }


def _paired(cases: Iterable[Case]) -> list[tuple[str, bool, bool]]:
    return [
        (case.set, case.before, case.after)
        for case in cases
        if case.before is not None and case.after is not None
    ]


def _generators(cases: Sequence[Case]) -> dict[str, Any]:
    """Break down by who wrote the solution: correct ones come mostly from weak models."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.generator, []).append(case)
    return {
        generator: {
            "items": len(own),
            "baseline": _measured(c.before for c in own),
            "accuracy": _measured(c.after for c in own),
            "verdict": _measured(map(_right, own)),
            "transitions": transitions((c.before, c.after) for c in own),
        }
        for generator, own in sorted(groups.items(), key=lambda pair: -len(pair[1]))
    }


def _right(case: Case) -> bool | None:
    """Say whether the critic's verdict on the solution is right."""
    if case.before is None or case.verdict is None:
        return None
    return case.verdict is case.before


def _verdict(cases: Sequence[Case], readable: float) -> dict[str, Any]:
    """Compute verdict accuracy and its relation to the correction (the paper's Table 2)."""
    table = Counter((case.after, _right(case)) for case in cases)
    quality = {"high": True, "low": False}
    cells = {
        f"{label}_{'right' if right else 'wrong'}": table[after, right]
        for label, after in quality.items()
        for right in (True, False)
    }

    def of(kind: bool) -> Callable[[Case], bool]:  # noqa: FBT001 - which solutions
        return lambda case: case.before is kind

    return {
        "accuracy": _measured(map(_right, cases), readable),
        "of_correct": _measured(map(_right, filter(of(True), cases))),  # noqa: FBT003
        "of_incorrect": _measured(map(_right, filter(of(False), cases))),  # noqa: FBT003
        "quality": {"n": sum(cells.values()), **cells},
    }


def _post_check(cases: Sequence[Case], readable: float) -> dict[str, Any]:
    """Compute the accuracy without the critiques that took a shortcut."""
    counts = Counter(case.qualified for case in cases)
    qualified = (case.after for case in cases if case.qualified is not False)
    return {
        "qualified": counts[True],
        "unqualified": counts[False],
        "undecided": counts[None],
        "accuracy_without_unqualified": _measured(qualified, readable),
    }


def _first_error(cases: Sequence[Case], scoring: Scoring, readable: float) -> dict[str, Any]:
    """Compute ProcessBench's scores: steps found exactly, flawless solutions recognised, F1."""

    def hit(case: Case) -> bool | None:
        return settled(None if case.found is None else case.found == case.marked, scoring)

    marked = [case for case in cases if case.marked is not None]
    erroneous = _measured((hit(c) for c in marked if c.marked != -1), readable)
    flawless = _measured((hit(c) for c in marked if c.marked == -1), readable)
    return {
        "erroneous": erroneous,
        "correct": flawless,
        "f1": harmonic_mean(erroneous["value"], flawless["value"]),
        "f1_bounds": _harmonic_bounds(erroneous["bounds"], flawless["bounds"]),
    }


def harmonic_mean(first: float | None, second: float | None) -> float | None:
    """Return 2ab/(a + b), 0 where both are 0; ``None`` where one is not known."""
    if first is None or second is None:
        return None
    return 2 * first * second / (first + second) if first + second else 0.0


def _harmonic_bounds(
    first: Sequence[float] | None, second: Sequence[float] | None
) -> list[float | None] | None:
    if first is None or second is None:
        return None
    return [harmonic_mean(a, b) for a, b in zip(first, second, strict=True)]


def _agreement(rows: Iterable[RealCriticRow]) -> Mapping[str, Any]:
    """Count how often our grade of the given solution is as the file labels it."""
    pairs = [
        (row.item.solution.label, row.outcome.given.correct)
        for row in rows
        if row.item is not None and row.outcome is not None and row.item.problem.answers
    ]
    decided = [(label, grade) for label, grade in pairs if label is not None and grade is not None]
    return {"agreed": sum(label is grade for label, grade in decided), "decided": len(decided)}


@dataclass(frozen=True, slots=True)
class Case:
    """One critique of one solution, as the numbers see it."""

    set: str = ""
    generator: str = ""
    before: bool | None = None
    after: bool | None = None
    previous: bool | None = None
    verdict: bool | None = None
    marked: int | None = None  # first wrong step, from 1; -1: none
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
