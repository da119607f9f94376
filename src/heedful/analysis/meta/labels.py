"""Known verdicts, and the recorded critiques that are measured against them.

A row's labels are its ``labels``; where it has none, the majority of its ``annotations``; where it
has neither, the verdicts of the critique that the file holds (an expert's, as in IF-Critic's
data). What is a label is never also measured.
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
from heedful.core.scale import LABEL_LEVELS, NOT_APPLICABLE
from heedful.core.text import amount
from heedful.judges import Cascade, Judge, Panel, Recorded, make_judge
from heedful.judges.base import CODE
from heedful.judges.prompts import read_recording
from heedful.metrics.agreement import Confusion
from heedful.metrics.agreement_intervals import rate_estimates, weighted_kappa_estimate
from heedful.metrics.clusters import cluster_of
from heedful.metrics.rates import Share, measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from heedful.core.nouns import Constraint, Sample, Scoring
    from heedful.data.formats import Row


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
    measured: tuple[bool, ...]  # whether code can measure a constraint
    annotations: Mapping[str, str]  # letters by annotator
    print: bytes
    preferred_to: tuple[str, ...] | None = None  # rows known to be worse; None: not ranked
    weights: tuple[float, ...] = ()  # empty where all are worth the same
    answers: tuple[Answer | None, ...] = ()  # empty where no label names a level


Pair = tuple["Answer", "Answer | None"]
"""What the label says of a criterion, and the judge."""


def answer(constraint: Constraint, judgment: Judgment) -> Answer | None:
    """Return the answer that a verdict gives, and its value; ``None`` where it isn't decided."""
    if judgment.status is Status.NOT_APPLICABLE:
        return NOT_APPLICABLE, None
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


def checked(targets: dict[str, Target], spare: dict[str, Target]) -> list[str]:
    """Complete the rows by those without labels that others name, and leave out odd pairs."""
    odd: dict[str, list[str]] = {"absent": [], "other": [], "both": []}
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
            elif target.id in (worse.preferred_to or ()) and target.id < name:
                odd["both"].append(pair)
        if len(kept) < len(target.preferred_to or ()):
            targets[target.id] = replace(target, preferred_to=tuple(kept))
    words = {
        "absent": "with rows that are not in the file, which stay undecided",
        "other": "of responses to different instructions, which are left out",
        "both": "said both ways, of which one is wrong",
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
        worse = preferred(sample)
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
            measured=tuple(
                constraint.check is not None or constraint.type == "numerical"
                for constraint in sample.checklist
            ),
            annotations=annotations,
            print=fingerprint(sample),
            preferred_to=worse,
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
        members = (_RecordedCritique(recording, self._scoring) for recording in recordings)
        return await Panel(*members).judge(sample, requested)


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
    """Return a row's labels and where they are from; "recorded" where they are a critique."""
    known = sample.labels or ()
    if any(label is not None for label in known):
        return "".join(map(_known, known)).ljust(len(sample.checklist), UNKNOWN), "labels"
    if annotations:
        votes = zip(*annotations.values(), strict=True)
        return "".join(_majority("".join(vote)) for vote in votes), "majority of annotations"
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
