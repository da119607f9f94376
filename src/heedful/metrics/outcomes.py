"""Rows boiled down to what they can contribute to a rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.schema import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.schema import Constraint, Critique, Sample, Scoring

__all__ = [
    "MET",
    "UNDECIDED",
    "UNMET",
    "AdvancedIFReply",
    "CFBenchReply",
    "Outcome",
    "Tally",
    "outcome",
    "verdict_states",
]

MET, UNMET, UNDECIDED = 0, 1, 2
"""States of a verdict, as positions in a :class:`Tally`."""

_MET, _UNMET = Status.MET, Status.UNMET  # looking a member up in its class is slow in Python 3.11


class Tally(NamedTuple):
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

    def __add__(self, other: object) -> Tally:
        """Add up by state (a plain tuple would concatenate)."""
        if not isinstance(other, Tally):
            return NotImplemented
        return Tally(
            self.met + other.met, self.unmet + other.unmet, self.undecided + other.undecided
        )


class CFBenchReply(NamedTuple):
    """What CFBench's own parser read from a judge's reply.

    Attributes:
        parsing: ``1`` strict parse, ``0`` fallback parse, ``-1`` nothing found.
        primary: points of primary criteria, after a strict parse.
        other: all other points.
    """

    parsing: str
    primary: Tally
    other: Tally


class AdvancedIFReply(NamedTuple):
    """What an AdvancedIF judge declared.

    Attributes:
        satisfied_all: ``YES``, ``NO``, or ``None`` where it said neither.
        yes: answers that contain "yes".
        answers: all answers.
    """

    satisfied_all: str | None
    yes: int
    answers: int


class Outcome(NamedTuple):
    """All that a row can contribute to a rate. Rows with equal outcomes are interchangeable.

    Attributes:
        primary: verdicts on constraints of primary priority.
        other: verdicts on all others.
        prioritised: whether the row has priorities at all.
        checked: verdicts on constraints that have a check.
        loose: the same under IFEval's loose reading; no loose verdict is an undecided one.
        benchmark: ``advancedif``, ``sysbench`` or ``""``.
        cfbench: CFBench's own parse, under faithful scoring where the critique declares it.
        advancedif: an AdvancedIF judge's declaration.
        all_ok: SysBench's shipped flag.
    """

    primary: Tally
    other: Tally
    prioritised: bool = False
    checked: Tally = Tally()
    loose: Tally = Tally()
    benchmark: str = ""
    cfbench: CFBenchReply | None = None
    advancedif: AdvancedIFReply | None = None
    all_ok: bool | None = None

    @property
    def verdicts(self) -> Tally:
        """All verdicts of the row."""
        return self.primary + self.other


def verdict_states(sample: Sample, critique: Critique) -> list[int]:
    """Return the state of each constraint's verdict, in checklist order.

    Constraints that the critique does not reach are undecided; judgments past the checklist's end
    are ignored.
    """
    states = [
        MET if (status := judgment.status) is _MET else UNMET if status is _UNMET else UNDECIDED
        for judgment in critique.judgments
    ]
    missing = len(sample.checklist) - len(states)
    if missing > 0:
        states += [UNDECIDED] * missing
    elif missing < 0:
        del states[missing:]
    return states


def outcome(
    sample: Sample, critique: Critique, scoring: Scoring, states: Sequence[int] | None = None
) -> Outcome:
    """Boil a row down to what it can contribute to a rate.

    Args:
        sample: the row.
        critique: the judgments on its checklist.
        scoring: which declarations of the critique matter.
        states: :func:`verdict_states` of the two, where the caller has them already.
    """
    if states is None:
        states = verdict_states(sample, critique)
    primary, other, checked, loose = [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]
    prioritised = False
    for position, constraint in enumerate(sample.checklist):
        state = states[position]
        (primary if constraint.priority == "primary" else other)[state] += 1
        if constraint.priority is not None:
            prioritised = True
        if constraint.check is not None:
            checked[state] += 1
            loose[_loose_state(critique, position)] += 1
    benchmark = sample.tags.get("benchmark")
    declared = critique.declared
    return Outcome(
        Tally(*primary),
        Tally(*other),
        prioritised,
        Tally(*checked),
        Tally(*loose),
        str(benchmark) if benchmark in {"advancedif", "sysbench"} else "",
        _cfbench_reply(declared, sample.checklist) if declared and scoring == "faithful" else None,
        _advancedif_reply(declared) if declared and benchmark == "advancedif" else None,
        _all_ok(declared) if declared and benchmark == "sysbench" else None,
    )


def _loose_state(critique: Critique, position: int) -> int:
    if position >= len(critique.judgments):
        return UNDECIDED
    status = critique.judgments[position].loose
    return MET if status is _MET else UNMET if status is _UNMET else UNDECIDED


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
            (primary if constraint.priority == "primary" else other)[point == 0] += 1
    else:
        other = [points.count(1), points.count(0)]
    return CFBenchReply(parsing, Tally(*primary), Tally(*other))


def _advancedif_reply(declared: Mapping[str, Any]) -> AdvancedIFReply | None:
    reply = declared.get("advancedif")
    if not isinstance(reply, dict):
        return None
    answers = reply.get("answers")
    texts = list(answers.values()) if isinstance(answers, dict) else []
    word = str(reply.get("satisfied_all")).strip().upper()
    yes = sum("yes" in str(text).lower() for text in texts)
    return AdvancedIFReply(word if word in {"YES", "NO"} else None, yes, len(texts))


def _all_ok(declared: Mapping[str, Any]) -> bool | None:
    value = declared.get("all_ok")
    return None if value is None else str(value).strip().lower() in {"1", "1.0", "true"}
