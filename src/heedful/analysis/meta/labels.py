"""Known verdicts, and those of each judge on the labelled rows.

A row's labels are its ``labels``; where it has none, the majority of its ``annotations``; where it
has neither, the verdicts of the critique that the file holds (an expert's, as in IF-Critic's
data). What is a label is never also measured.

A judge is a line of a leaderboard. One that votes makes two: the majority, and its members, each of
whose votes counts as a verdict. So ten sampled critiques are both a judge whose majority decides,
and ten samples of a judge that decides alone.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import product
from typing import TYPE_CHECKING, Any

from heedful.analysis.calibration import labelled_judgments
from heedful.core.errors import RowError, UsageError
from heedful.core.nouns import Critique, Judgment, Recording, Status
from heedful.core.rubric import value
from heedful.core.scale import LABEL_LEVELS
from heedful.core.text import amount
from heedful.judges import Cascade, Judge, Panel, Recorded, make_judge
from heedful.judges.base import CODE
from heedful.judges.prompts import read_recording
from heedful.metrics.agreement import Confusion, rate_estimates, weighted_kappa_estimate
from heedful.metrics.clusters import cluster_of
from heedful.metrics.rates import Share, measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from heedful.core.nouns import Constraint, Sample, Scoring
    from heedful.data.formats import Row
    from heedful.jobs.results import Scored


Answer = tuple[str, float | None]
"""A level, ``met``, ``unmet`` or ``not_applicable``, and its value: ``None`` for the last one."""


@dataclass(frozen=True, slots=True)
class Target:
    """One labelled row."""

    id: str
    cluster: int  # of its instruction, which several responses may share
    labels: str  # a letter for each constraint
    group: str | None  # its value of the tag that averages per type go by
    types: tuple[str | None, ...]
    annotations: Mapping[str, str]  # letters by annotator
    print: bytes
    preferred_to: tuple[str, ...] | None = None  # rows known to be worse; None: not ranked
    compared_to: Mapping[str, bool | None] = field(default_factory=dict)  # shown before them: won?
    weights: tuple[float, ...] = ()  # empty where all are worth the same
    answers: tuple[Answer | None, ...] = ()  # empty where no label names a level


Pair = tuple["Answer", "Answer | None"]
"""What the label says of a criterion, and the judge."""


def answer(constraint: Constraint, judgment: Judgment) -> Answer | None:
    """Return the answer that a verdict gives, and its value; ``None`` where it isn't decided."""
    if judgment.status is Status.NOT_APPLICABLE:
        return judgment.status.value, None
    share = value(constraint, judgment)
    return None if share is None else (judgment.level or judgment.status.value, share)


def labelled_answers(sample: Sample) -> tuple[Answer | None, ...]:
    """Return what labels say of each criterion; nothing where none names a level."""
    levels = (sample.model_extra or {}).get(LABEL_LEVELS)
    if not isinstance(levels, list) or len(levels) != len(sample.checklist):
        return ()
    return tuple(
        None if judgment is None else answer(constraint, judgment)
        for constraint, judgment in zip(sample.checklist, labelled_judgments(sample), strict=True)
    )


def level_agreement(
    targets: Iterable[Target], answers: Mapping[str, Sequence[Answer | None]]
) -> dict[str, Any] | None:
    """Measure how a judge's answers agree with labels of rows that name levels."""
    clusters: dict[int, list[Pair]] = defaultdict(list)
    for target in targets:
        given = answers.get(target.id, ())
        for place, label in enumerate(target.answers):
            if label is not None:
                said = given[place] if place < len(given) else None
                clusters[target.cluster].append((label, said))
    if not clusters:
        return None
    return {
        "labels": sum(map(len, clusters.values())),
        "exact": measure(Counter(map(_exact, clusters.values()))),
        "weighted_kappa": weighted_kappa_estimate(_counted(map(_sums, clusters.values()))),
        "not_applicable_kappa": rate_estimates(
            _counted(map(_applicability, clusters.values())), ["kappa"]
        )["kappa"],
    }


def _exact(pairs: Sequence[Pair]) -> Share:
    return Share.of([None if said is None else label[0] == said[0] for label, said in pairs])


def _counted(rows: Iterable[tuple[float, ...]]) -> Counter[tuple[float, ...]]:
    return Counter(row for row in rows if any(row))


def _sums(pairs: Sequence[Pair]) -> tuple[float, ...]:
    """Add up a cluster's pairs of values for the weighted kappa."""
    values = [
        (a[1], b[1]) for a, b in pairs if b is not None and a[1] is not None and b[1] is not None
    ]
    columns = zip(*((1.0, a, b, a * a + b * b, a * b) for a, b in values), strict=True)
    return tuple(map(math.fsum, columns))


def _applicability(pairs: Sequence[Pair]) -> Confusion:
    """Count what applies: by label, and by the judge."""
    counts = Counter((said[1] is None, label[1] is None) for label, said in pairs if said)
    return Confusion(*(float(counts[key]) for key in product((True, False), (True, False))))


def preferred(sample: Sample) -> tuple[str, ...] | None:
    """Read a row's field ``preferred_to``: the ids of rows that are worse responses."""
    given = (sample.model_extra or {}).get("preferred_to")
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(each, str | int) for each in given):
        raise RowError("preferred_to isn't a list of ids", hint="name the worse responses' rows")
    worse = tuple(dict.fromkeys(map(str, given)))
    if sample.id in worse:
        raise RowError("preferred_to names the row itself", hint="name the worse responses' rows")
    return worse


def compared(sample: Sample) -> dict[str, bool | None]:
    """Read a row's field ``compared_to``: the ids of others, and whether a judge preferred it."""
    given = (sample.model_extra or {}).get("compared_to") or {}
    said = isinstance(given, dict) and all(won in (True, False, None) for won in given.values())
    if not said or sample.id in given:
        hint = "give true, false or null (neither) for each other row's id"
        raise RowError("compared_to isn't an object of other rows' ids", hint=hint)
    return dict(given)


def checked(targets: dict[str, Target], spare: dict[str, Target]) -> list[str]:
    """Complete the rows by those without labels that others name, and leave out odd pairs."""
    odd: dict[str, list[str]] = {"absent": [], "other": []}
    for target in list(targets.values()):
        kept = []
        for name in target.preferred_to or ():
            if name not in targets and name in spare:
                targets[name] = spare[name]
            worse = targets.get(name)
            pair = f"{target.id} > {name}"
            if worse is not None and worse.cluster != target.cluster:
                odd["other"].append(pair)
                continue
            kept.append(name)
            if worse is None:
                odd["absent"].append(pair)
        if len(kept) < len(target.preferred_to or ()):
            targets[target.id] = replace(target, preferred_to=tuple(kept))
    words = {
        "absent": "with rows that are not in the file, which stay undecided",
        "other": "of responses to different instructions, which are left out",
    }
    return [
        f"preferred_to: {amount(len(pairs), 'pair')} {words[kind]}: {pairs[0]}"
        + (", …" if len(pairs) > 1 else "")
        for kind, pairs in odd.items()
        if pairs
    ]


MET, UNMET, UNKNOWN = "m", "u", "-"
"""A verdict as a letter: a row of them is a short string, and a data set fits into memory."""

PROBLEMS_LISTED = 20


@dataclass
class Labelled:
    """The labelled rows of a file."""

    targets: dict[str, Target] = field(default_factory=dict)
    origins: Counter[str] = field(default_factory=Counter)  # where rows have their labels from
    instructions: int = 0
    read: int = 0
    failed: int = 0
    problems: list[dict[str, Any]] = field(default_factory=list)
    circular: int = 0  # rows whose only recorded critique is their label
    notes: list[str] = field(default_factory=list)
    spare: dict[str, Target] = field(
        default_factory=dict
    )  # rows without labels, until all are read

    @classmethod
    def of(cls, rows: Iterable[Row], by: str, truth: Mapping[str, str] | None = None) -> Labelled:
        """Take the labels of all rows."""
        labelled = cls()
        clusters: dict[bytes, int] = {}
        for row in rows:
            problem = row.problem
            if row.sample is not None:
                try:
                    labelled.add(row.sample, by, clusters, truth)
                except RowError as error:
                    problem = str(error)
            if problem is not None:
                labelled.failed += 1
                if len(labelled.problems) < PROBLEMS_LISTED:
                    ident = row.id or f"line-{row.line}"
                    labelled.problems.append({"line": row.line, "id": ident, "problem": problem})
        known = len(labelled.targets)
        labelled.notes = checked(labelled.targets, labelled.spare)
        if len(labelled.targets) > known:
            labelled.origins["preferences"] += len(labelled.targets) - known
        labelled.spare.clear()
        labelled.instructions = len({target.cluster for target in labelled.targets.values()})
        return labelled

    def add(
        self,
        sample: Sample,
        by: str,
        clusters: dict[bytes, int],
        truth: Mapping[str, str] | None,
    ) -> None:
        """Add a row."""
        annotations = _annotations(sample)
        if sample.id in self.targets:
            raise RowError(f"duplicate id {sample.id!r}", hint="give each row its own id")
        self.read += 1
        labels, origin = _labels(sample, annotations)
        if truth is not None:
            labels, origin = truth.get(sample.id, UNKNOWN * len(sample.checklist)), "code"
        worse, others = preferred(sample), compared(sample)
        answers = labelled_answers(sample)
        unlabelled = set(labels) <= {UNKNOWN} and not any(answers)
        group = sample.tags.get(by)
        about = cluster_of(sample)
        target = Target(
            id=sample.id,
            cluster=clusters.setdefault(about, len(clusters)),
            labels=labels,
            group=None if group is None else str(group),
            types=tuple(map(_kind, sample.checklist)),
            annotations=annotations,
            print=fingerprint(sample),
            preferred_to=worse,
            compared_to=others,
            weights=_weights(sample.checklist),
            answers=answers,
        )
        # Annotators of whom no majority agrees are still measured against each other.
        if unlabelled and worse is None and len(annotations) < 2:  # noqa: PLR2004
            self.spare[sample.id] = target
            return
        if origin.startswith("recorded") and not _critiques(sample):
            self.circular += 1
        ranked = unlabelled and worse is not None
        self.origins["preferences" if ranked else origin] += 1
        self.targets[sample.id] = target

    @property
    def recorded(self) -> bool:
        """Whether recorded critiques are among the labels."""
        return any(origin.startswith("recorded") for origin in self.origins)

    def count(self, letter: str) -> int:
        """Count the labels of one kind."""
        return sum(target.labels.count(letter) for target in self.targets.values())

    def counts(self) -> dict[str, Any]:
        """Return the counts of rows, instructions and labels, as a summary has them."""
        return {
            "rows": len(self.targets),
            "instructions": self.instructions,
            "met": self.count(MET),
            "unmet": self.count(UNMET),
            "from": dict(self.origins),
        }


async def verdicts_of_code(names: str, rows: Iterable[Row]) -> dict[str, str]:
    """Have code judge rows, so that its verdicts can stand in the place of labels."""
    for name in names.split(","):
        if name.strip() not in CODE:
            what = f"{name.strip()!r} isn't a judge that is code"
            raise UsageError(what, hint=f"--truth takes {', '.join(CODE)}, or both with a comma")
    judge = make_judge(names)
    verdicts = {}
    for row in rows:
        if row.sample is not None:
            critique = await judge.judge(row.sample)
            verdicts[row.sample.id] = "".join(map(_stated, critique.judgments))
    return verdicts


class RecordedCritiques:
    """Read the critiques that a file holds beside its labels, never the labels.

    Several critiques of one row are a judge's independent samples: the majority of their verdicts
    decides, and each sample's verdicts are its votes.
    """

    name = "recorded"

    def __init__(self, scoring: Scoring = "strict") -> None:
        self._scoring = scoring

    @property
    def config(self) -> Mapping[str, Any]:
        """Its name: the verdicts depend on the file alone."""
        return {"judge": self.name, "critiques": "beside the labels"}

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Read the recorded critiques; what they do not hold is not decided."""
        recordings = _critiques(sample)
        if not recordings:
            positions = range(len(sample.checklist)) if requested is None else requested
            constraints = [sample.checklist[position] for position in positions]
            reason = "the file holds no critique of this row but its labels"
            return Critique.undecided(constraints, Status.UNSUPPORTED, reason, self.name)
        members = [_RecordedCritique(recording, self._scoring) for recording in recordings]
        judge = members[0] if len(members) == 1 else Panel(*members)
        return await judge.judge(sample, requested)


class _RecordedCritique:
    """One recorded critique as a judge."""

    def __init__(self, recording: Recording, scoring: Scoring) -> None:
        self._recording = recording
        self._scoring = scoring
        self.name = f"recorded:{recording.prompt}"

    @property
    def config(self) -> Mapping[str, Any]:
        return {"judge": self.name}

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        alone = sample.model_copy(update={"recording": self._recording})
        return await Recorded(self._scoring).judge(alone, requested)


def without_labels(judge: Judge) -> Judge:
    """Return a judge in which every reader of recordings leaves the labels alone."""
    if isinstance(judge, Recorded):
        return RecordedCritiques(judge.scoring)
    if isinstance(judge, Cascade):
        return Cascade(*map(without_labels, judge.judges))
    if isinstance(judge, Panel):
        members = map(without_labels, judge.judges)
        return Panel(*members, min_confidence=judge.min_confidence)
    return judge


def fingerprint(sample: Sample) -> bytes:
    """Tell one checklist from another."""
    digest = blake2b(digest_size=8)
    for constraint in sample.checklist:
        digest.update(constraint.text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.digest()


def letter(status: Status) -> str:
    """Write a verdict as a letter: its status' first, but ``s`` for unsupported."""
    return "s" if status is Status.UNSUPPORTED else "p" if status is Status.UNPARSED else status[0]


def _labels(sample: Sample, annotations: Mapping[str, str]) -> tuple[str, str]:
    """Return a row's labels and where they are from; "recorded" where they are a critique.

    A label decides where annotators differ; without one their majority does.
    """
    known = "".join(map(_known, sample.labels or ())).ljust(len(sample.checklist), UNKNOWN)
    votes = ["".join(vote) for vote in zip(*annotations.values(), strict=True)]
    if set(known) - {UNKNOWN}:
        majority = map(_majority, votes) if votes else known
        pairs = zip(known, majority, strict=True)
        return "".join(vote if label == UNKNOWN else label for label, vote in pairs), "labels"
    if annotations:
        return "".join(map(_majority, votes)), "majority of annotations"
    recording = sample.recording
    if recording is None or (recording.text is None and recording.verdicts is None):
        return UNKNOWN * len(sample.checklist), ""
    judgments = read_recording(recording, sample)
    return "".join(map(_stated, judgments)), f"recorded:{recording.prompt}"


def _critiques(sample: Sample) -> list[Recording]:
    """Return the recordings of a row that are not its labels."""
    recording = sample.recording
    if recording is None:
        return []
    others = [Recording(prompt=recording.prompt, text=text) for text in recording.others]
    labelled = any(label is not None for label in sample.labels or ()) or _annotations(sample)
    return [recording, *others] if labelled else others


def _annotations(sample: Sample) -> dict[str, str]:
    """Read a row's field ``annotations``: each annotator's verdicts, in checklist order."""
    given = (sample.model_extra or {}).get("annotations")
    if given is None:
        return {}
    hint = 'write {"annotator": [true, false, null]}, one value for each constraint'
    if not isinstance(given, dict):
        raise RowError("annotations isn't an object", hint=hint)
    for name, verdicts in given.items():
        if not isinstance(verdicts, list) or len(verdicts) != len(sample.checklist):
            raise RowError(f"annotations.{name} does not fit the checklist", hint=hint)
        if any(verdict not in (True, False, None) for verdict in verdicts):
            raise RowError(f"annotations.{name} has other values than verdicts", hint=hint)
    return {str(name): "".join(map(_known, verdicts)) for name, verdicts in given.items()}


def _weights(checklist: Sequence[Constraint]) -> tuple[float, ...]:
    if all(each.weight is None for each in checklist):
        return ()
    return tuple(1.0 if each.weight is None else each.weight for each in checklist)


def _known(label: bool | None) -> str:  # noqa: FBT001 - a label is true, false or unknown
    return UNKNOWN if label is None else MET if label else UNMET


def _stated(judgment: Judgment) -> str:
    return letter(judgment.status) if judgment.status.decided else UNKNOWN


def _kind(constraint: Constraint) -> str | None:
    if constraint.type is None and constraint.check is not None:
        return constraint.check.id
    return constraint.type


def _majority(votes: str) -> str:
    met, unmet = votes.count(MET), votes.count(UNMET)
    return UNKNOWN if met == unmet else MET if met > unmet else UNMET


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
    constraints: int = 0  # verdicts, decided or not
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
        entry.constraints += len(row.critique.judgments)
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
