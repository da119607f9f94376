"""Verdicts of each judge on the labelled rows: a line of a leaderboard each.

A judge that votes makes two entries: the majority, and its members, each of whose votes counts as
a verdict. So ten sampled critiques are both a judge whose majority decides, and ten samples of a
judge that decides alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from heedful.analysis.meta.labels import MET, UNKNOWN, UNMET, answer, fingerprint, letter
from heedful.core.nouns import Status
from heedful.core.rubric import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from heedful.analysis.meta.labels import Answer, Labelled, Target
    from heedful.core.nouns import Constraint, Critique, Judgment
    from heedful.jobs.results import Scored


def open_bounds(counted: float, decided: float, of: float) -> list[float] | None:
    """Compute a share's bounds: no undecided verdict counted, and all of them."""
    return [counted / of, (counted + of - decided) / of] if of else None


class Sums:
    """Sums tuples of numbers by instruction, and counts the instructions that came to the same."""

    def __init__(self, width: int) -> None:
        """Begin with nothing."""
        self._zero = (0.0,) * width
        self._sums: dict[int, tuple[float, ...]] = {}

    def add(self, instruction: int, values: Iterable[float]) -> None:
        """Add to an instruction's sums."""
        before = self._sums.get(instruction, self._zero)
        self._sums[instruction] = tuple(a + b for a, b in zip(before, values, strict=True))

    def counted(self) -> Counter[tuple[float, ...]]:
        """Count the instructions by their sums."""
        return Counter(self._sums.values())

    def beside(self, other: Sums) -> Counter[tuple[float, ...]]:
        """Count the instructions by their sums here and there."""
        return Counter((*sums, *other._sums[key]) for key, sums in self._sums.items())

    def total(self) -> list[float]:
        """Add up over all instructions."""
        return [sum(column) for column in zip(self._zero, *self._sums.values(), strict=True)]


MISSING, NOT_APPLICABLE, NOT_REQUESTED = "x", "n", UNKNOWN
"""The judge's run doesn't have the row; the constraint wasn't requested of the judge."""

STATES = {
    MET: "met",
    UNMET: "unmet",
    "p": "unparsed",
    "f": "failed",
    "s": "unsupported",
    NOT_APPLICABLE: "not_applicable",
    MISSING: "missing",
}

LISTED = 50
"""Disagreements with the labels that a result names, for each entry."""


@dataclass
class JudgeEntry:
    """One judge, as measured."""

    name: str
    judge: str  # the judge that it is, or is a member of
    config: Mapping[str, Any] = field(default_factory=dict)
    verdicts: dict[str, list[str]] = field(default_factory=dict)
    """By row id, for each sample a letter for each constraint (see :data:`STATES`)."""
    votes: int = 0  # of how many votes a verdict is the majority, at most; 0 if it isn't one
    confidences: dict[int, Counter[tuple[float, bool]]] = field(default_factory=dict)
    """By instruction, how often a confidence came with a right or a wrong verdict."""
    cost: Mapping[str, Any] | None = None
    judged: int = 0  # decided verdicts, on labelled constraints or others
    disagreements: list[dict[str, Any]] = field(default_factory=list)
    disagreeing: int = 0
    run: str | None = None
    strangers: int = 0  # rows of a run whose checklist is not the file's
    shares: dict[str, tuple[float | None, ...]] = field(default_factory=dict)
    """By row id what each criterion earned, for rows whose criteria have levels."""
    answers: dict[str, tuple[Answer | None, ...]] = field(default_factory=dict)

    @property
    def samples(self) -> int:
        """The number of samples of a critique, which is that of verdicts on a constraint."""
        return max(map(len, self.verdicts.values()), default=1)

    def rows(self, labelled: Labelled) -> Iterator[tuple[Target, list[str]]]:
        """Go through the labelled rows; those that the judge's run lacks are missing."""
        number = self.samples
        for ident, target in labelled.targets.items():
            own = self.verdicts.get(ident)
            yield target, [MISSING * len(target.labels)] * number if own is None else own

    def padded(self, labelled: Labelled) -> JudgeEntry:
        """Return the entry with every verdict that was not decided as met, as IF-RewardBench."""
        pad = str.maketrans(dict.fromkeys("pfsx", MET))
        verdicts = {
            target.id: [states.translate(pad) for states in samples]
            for target, samples in self.rows(labelled)
        }
        return JudgeEntry(
            self.name, self.judge, verdicts=verdicts, shares=self.shares, answers=self.answers
        )


def collect(
    name: str,
    rows: Iterable[Scored],
    labelled: Labelled,
    config: Mapping[str, Any],
    *,
    cost: Mapping[str, Any] | None = None,
) -> list[JudgeEntry]:
    """Collect a judge's verdicts."""
    entry = JudgeEntry(name, name, config, cost=cost)
    members: dict[str, JudgeEntry] = {}
    for row in rows:
        if row.sample is None or row.critique is None:
            continue
        entry.judged += sum(judgment.status.decided for judgment in row.critique.judgments)
        target = labelled.targets.get(row.sample.id)
        if target is None:
            continue
        if target.print != fingerprint(row.sample):
            entry.strangers += 1
            continue
        _take(entry, target, row.critique, row.sample.checklist)
        ballots = _ballots(row.critique.judgments)
        entry.votes = max(entry.votes, sum(map(len, ballots.values())))
        for voter, samples in ballots.items():
            members.setdefault(voter, JudgeEntry(voter, name)).verdicts[target.id] = samples
    if entry.votes < 2:  # noqa: PLR2004 - a single vote is a verdict like any other
        entry.votes = 0
        entry.confidences.clear()
        return [entry]
    entry.name = f"{name}, majority of {entry.votes}"
    alone = len(members) == 1
    for member in members.values():
        _complete(member, entry)
        if member.samples > 1:
            member.name = f"{name if alone else member.name}, each of {member.samples}"
    return [entry, *members.values()]


def _complete(member: JudgeEntry, panel: JudgeEntry) -> None:
    """Give a member the rows without votes: not requested, or failed for all."""
    samples = member.samples
    for ident, (states,) in panel.verdicts.items():
        unrequested = states.replace(MET, NOT_REQUESTED).replace(UNMET, NOT_REQUESTED)
        member.verdicts.setdefault(ident, [unrequested] * samples)


def _take(
    entry: JudgeEntry, target: Target, critique: Critique, checklist: Sequence[Constraint]
) -> None:
    """Add a row's verdicts, and those that contradict the labels."""
    judgments = critique.judgments[: len(target.labels)]
    states = "".join(letter(judgment.status) for judgment in judgments)
    entry.verdicts[target.id] = [states.ljust(len(target.labels), MISSING)]
    if any(constraint.scale is not None for constraint in checklist):
        shares = [*map(value, checklist, judgments)]
        entry.shares[target.id] = (*shares, *[None] * (len(checklist) - len(shares)))
    if target.answers:
        entry.answers[target.id] = tuple(map(answer, checklist, judgments))
    for position, (judgment, label) in enumerate(zip(judgments, target.labels, strict=False)):
        if label == UNKNOWN or not judgment.status.decided:
            continue
        right = letter(judgment.status) == label
        if judgment.confidence is not None:
            of_instruction = entry.confidences.setdefault(target.cluster, Counter())
            of_instruction[judgment.confidence, right] += 1
        if not right:
            entry.disagreeing += 1
            if len(entry.disagreements) < LISTED:
                entry.disagreements.append(
                    {
                        "id": target.id,
                        "constraint": position + 1,
                        "text": checklist[position].text,
                        "label": STATES[label],
                        "verdict": judgment.status.value,
                        "explanation": judgment.explanation,
                    }
                )


def _ballots(judgments: Sequence[Judgment]) -> dict[str, list[str]]:
    """Sort votes by who cast them: for each member its samples, a letter for each constraint."""
    statuses = [judgment.status for judgment in judgments]
    states = [NOT_REQUESTED if status.settled else letter(status) for status in statuses]
    ballots: dict[str, list[list[str]]] = {}
    for position, judgment in enumerate(judgments):
        cast: Counter[str] = Counter()
        for vote in judgment.votes or ():
            name = vote["judge"]
            samples = ballots.setdefault(name, [])
            if cast[name] == len(samples):
                samples.append(list(states))
            samples[cast[name]][position] = letter(Status(vote["status"]))
            cast[name] += 1
    return {name: ["".join(sample) for sample in samples] for name, samples in ballots.items()}
