"""Rows boiled down to what they can contribute to a rate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.nouns import Judgment, Status
from heedful.metrics.rubrics import FAMILY_SCORES, RubricOutcome, rubric_outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Constraint, Critique, Sample, Scoring

__all__ = [
    "MET",
    "NOT_APPLICABLE",
    "UNDECIDED",
    "UNMET",
    "RowOutcome",
    "Verdicts",
    "outcome",
    "sort_verdicts",
    "unpack",
]

MET, UNMET, UNDECIDED = 0, 1, 2
"""States of a verdict, as positions in a :class:`VerdictCounts`."""

NOT_APPLICABLE = 4
"""State of a verdict that counts nowhere (3 is a missing turn, in :mod:`.gathering`)."""

_BITS = 20
_UNITS = (*(1 << _BITS * state for state in range(3)), 0, 0)
"""One verdict of each state in packed counts: three counts in one number, because it is quick to
add and to hash, and every verdict of a run passes here."""

# Looking a member up in its class is slow in Python 3.11.
_MET, _UNMET, _NA = Status.MET, Status.UNMET, Status.NOT_APPLICABLE

_NONE = Judgment(status=Status.UNPARSED)  # where a critique ends before its checklist does


RATED = {"profbench_judge": "profbench", "researchrubrics_judge": "researchrubrics"}
"""Benchmarks whose rows are a judge's verdicts on one criterion each, and their scores."""

_BENCHMARKS = frozenset(
    {
        "advancedif",
        "sysbench",
        "multiif",
        "structflow",
        "infobench",
        "multichallenge",
        "followbench",
        *RATED,
        *FAMILY_SCORES,
    }
)
"""Benchmarks with rates of their own."""


class VerdictCounts(NamedTuple):
    """Verdicts by state."""

    met: int = 0
    unmet: int = 0
    undecided: int = 0

    @property
    def decided(self) -> int:
        """Verdicts that are met or unmet."""
        return self.met + self.unmet

    @property
    def total(self) -> int:
        """All verdicts."""
        return self.met + self.unmet + self.undecided

    def __add__(self, other: object) -> VerdictCounts:
        """Add up by state (a plain tuple would concatenate)."""
        if not isinstance(other, VerdictCounts):
            return NotImplemented
        return VerdictCounts(
            self.met + other.met, self.unmet + other.unmet, self.undecided + other.undecided
        )


class CFBenchReply(NamedTuple):
    """Reading of a judge's reply by CFBench's own parser.

    Attributes:
        parsing: ``1`` strict parse, ``0`` fallback parse, ``-1`` nothing found.
        primary: points of primary criteria, after a strict parse.
        other: all other points.
    """

    parsing: str
    primary: VerdictCounts
    other: VerdictCounts


class AdvancedIFReply(NamedTuple):
    """Verdicts that an AdvancedIF judge declared.

    Attributes:
        satisfied_all: ``YES``, ``NO``, or ``None`` where it said neither.
        yes: answers that contain "yes".
        answers: all answers.
        passes: those of ``yes`` whose numbers the checklist has.
    """

    satisfied_all: str | None
    yes: int
    answers: int
    passes: int


class RowOutcome(NamedTuple):
    """Contributions of a row to all rates. Rows with equal outcomes are interchangeable.

    Attributes:
        primary: verdicts on constraints of primary priority.
        other: verdicts on all others.
        prioritised: whether the row has priorities at all.
        checked: verdicts on constraints that have a check.
        loose: the same under IFEval's loose reading; no loose verdict is an undecided one.
        benchmark: one that has rates of its own, else ``""``.
        cfbench: CFBench's own parse, under faithful scoring where the critique declares it.
        advancedif: an AdvancedIF judge's declaration.
        all_ok: SysBench's shipped flag.
        rubric: points of a rubric, ``None`` for a plain checklist.
        penalised: whether a criterion has a negative weight, so that to meet all of them isn't
            what was asked for.
    """

    primary: VerdictCounts
    other: VerdictCounts
    prioritised: bool = False
    checked: VerdictCounts = VerdictCounts()
    loose: VerdictCounts = VerdictCounts()
    benchmark: str = ""
    cfbench: CFBenchReply | None = None
    advancedif: AdvancedIFReply | None = None
    all_ok: bool | None = None
    rubric: RubricOutcome | None = None
    penalised: bool = False
    asked: int | None = None

    @property
    def verdicts(self) -> VerdictCounts:
        """All verdicts of the row."""
        return self.primary + self.other


@dataclass(slots=True)
class Verdicts:
    """A row's verdicts, sorted by what their constraints are.

    Attributes:
        states: the state of each constraint's verdict, in checklist order.
        types: packed counts for each type, constraints without one left out.
        subtypes: the same by subtype.
        priorities: the same by priority.
        verifiers: the same by the id of the check.
        loose: packed counts of the checked constraints under IFEval's loose reading.
    """

    states: list[int]
    types: dict[str, int]
    subtypes: dict[str, int]
    priorities: dict[str, int]
    verifiers: dict[str, int]
    loose: int


def sort_verdicts(sample: Sample, critique: Critique) -> Verdicts:
    """Sort a row's verdicts.

    Constraints that the critique does not reach are undecided; judgments past the checklist's end
    are ignored. Constraints that don't apply, and criteria with a negative weight, are not counted.
    """
    checklist = sample.checklist
    judgments = _as_long(checklist, critique.judgments)
    types: dict[str, int] = {}
    subtypes: dict[str, int] = {}
    priorities: dict[str, int] = {}
    verifiers: dict[str, int] = {}
    states, loose = [], 0
    for constraint, judgment in zip(checklist, judgments, strict=True):
        status = judgment.status
        if status is _NA:
            states.append(NOT_APPLICABLE)
            continue
        state = MET if status is _MET else UNMET if status is _UNMET else UNDECIDED
        states.append(state)
        weight = constraint.weight
        if weight is not None and weight < 0:  # ``is_penalty``, without its calls
            continue
        unit = _UNITS[state]
        if (name := constraint.type) is not None:
            types[name] = types.get(name, 0) + unit
        if (name := constraint.subtype) is not None:
            subtypes[name] = subtypes.get(name, 0) + unit
        if (name := constraint.priority) is not None:
            priorities[name] = priorities.get(name, 0) + unit
        if (check := constraint.check) is not None:
            verifiers[check.id] = verifiers.get(check.id, 0) + unit
            reading = judgment.loose
            loose += _UNITS[MET if reading is _MET else UNMET if reading is _UNMET else UNDECIDED]
    return Verdicts(states, types, subtypes, priorities, verifiers, loose)


def _as_long(
    checklist: Sequence[Constraint], judgments: tuple[Judgment, ...]
) -> tuple[Judgment, ...]:
    if len(judgments) == len(checklist):
        return judgments
    missing = max(0, len(checklist) - len(judgments))
    return judgments[: len(checklist)] + (_NONE,) * missing


def outcome(sample: Sample, critique: Critique, verdicts: Verdicts, scoring: Scoring) -> RowOutcome:
    """Boil a row down to what it can contribute to a rate."""
    states = verdicts.states
    total = sum([_UNITS[state] for state in states])
    primary = verdicts.priorities.get("primary", 0)
    benchmark = sample.tags.get("benchmark")
    declared = critique.declared
    judgments = _as_long(sample.checklist, critique.judgments)
    rubric = rubric_outcome(sample.checklist, judgments)
    return RowOutcome(
        unpack(primary),
        unpack(total - primary),
        bool(verdicts.priorities),
        unpack(sum(verdicts.verifiers.values())),
        unpack(verdicts.loose),
        str(benchmark) if benchmark in _BENCHMARKS else "",
        _cfbench_reply(declared, sample.checklist) if declared and scoring == "faithful" else None,
        _advancedif_reply(declared, len(states))
        if declared and benchmark == "advancedif"
        else None,
        _all_ok(declared) if declared and benchmark == "sysbench" else None,
        rubric,
        rubric is not None and any(each.is_penalty for each in sample.checklist),
        _asked(declared) if declared and benchmark == "infobench" else None,
    )


def packed_verdict(state: int) -> int:
    """Return one verdict as packed counts."""
    return _UNITS[state]


@lru_cache(maxsize=4096)
def unpack(packed: int) -> VerdictCounts:
    """Unpack counts of verdicts."""
    return VerdictCounts(*(packed >> _BITS * state & (1 << _BITS) - 1 for state in range(3)))


def _cfbench_reply(
    declared: Mapping[str, Any], checklist: Sequence[Constraint]
) -> CFBenchReply | None:
    """Read a declaration; ``None`` where it is absent or not one that CFBench's code can make."""
    reply = declared.get("cfbench")
    try:
        points = [float(point) for point in reply["scores"]]  # type: ignore[index]
        parsing = str(reply["parsing"])  # type: ignore[index]
    except (KeyError, TypeError, ValueError):
        return None
    if not points or not set(points) <= {0.0, 1.0} or parsing not in {"1", "0", "-1"}:
        return None
    primary, other = [0, 0], [0, 0]
    if parsing == "1":
        if len(points) != len(checklist):
            return None
        for point, constraint in zip(points, checklist, strict=True):
            counts = primary if constraint.priority == "primary" else other
            counts[0 if point else 1] += 1
    else:
        other = [points.count(1), points.count(0)]
    return CFBenchReply(parsing, VerdictCounts(*primary), VerdictCounts(*other))


def _advancedif_reply(declared: Mapping[str, Any], rubrics: int) -> AdvancedIFReply | None:
    reply = declared.get("advancedif")
    if not isinstance(reply, dict):
        return None
    answers = reply.get("answers")
    answers = answers if isinstance(answers, dict) else {}
    word = str(reply.get("satisfied_all")).strip().upper()
    yes = [key for key, text in answers.items() if "yes" in str(text).lower()]
    passes = sum(_answers_a_rubric(key, rubrics) for key in yes)
    declared_word = word if word in {"YES", "NO"} else None
    return AdvancedIFReply(declared_word, len(yes), len(answers), min(passes, rubrics))


def _answers_a_rubric(key: str, rubrics: int) -> bool:
    """Tell whether a key has a number (``question_1``) that the published code counts."""
    try:
        return int(key.split("_")[1]) <= rubrics
    except (IndexError, ValueError):
        return False


def _asked(declared: Mapping[str, Any]) -> int | None:
    asked = declared.get("asked")
    return asked if isinstance(asked, int) else None


def _all_ok(declared: Mapping[str, Any]) -> bool | None:
    value = declared.get("all_ok")
    return None if value is None else str(value).strip().lower() in {"1", "1.0", "true"}
