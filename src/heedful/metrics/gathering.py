"""Other metrics that a run gathers row by row, in bounded memory."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from heedful.core.nouns import Status
from heedful.core.rubric import named_tags
from heedful.metrics.family import Units
from heedful.metrics.outcomes import MET, NOT_APPLICABLE, UNDECIDED, UNMET
from heedful.metrics.rates import EndSpreads, Share, macro_measure, measure
from heedful.metrics.rubrics import rubric_outcome, score_measure, score_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from heedful.core.nouns import Constraint, Critique, Judgment, Sample, Scoring
    from heedful.metrics.family import Mean, Steps
    from heedful.metrics.outcomes import RowOutcome
    from heedful.metrics.rates import RateEstimate
    from heedful.metrics.rubrics import RubricScore


GROUPS = 500
"""A breakdown by more values than this helps nobody and would grow with the data."""

TURNS = 5
"""Steps of a unit: turns of a conversation, or levels."""

MISSING = 3
WORSE = (MISSING, MET, UNDECIDED, UNMET)
"""States of a turn: it is as its worst verdict, and a turn that comes twice as its worse one."""

NO_TURNS = bytes([MISSING]) * TURNS

LISTED_TURNS = 100
LISTED_LABELS = 20

Key = TypeVar("Key")


class GroupCounts(Generic[Key]):
    """Counts of contributions by group; dropped past :data:`GROUPS` groups."""

    def __init__(self) -> None:
        self.cells: dict[str, Counter[Key]] = {}
        self.dropped = False

    def add(self, value: str, key: Key) -> None:
        """Count one contribution to a group."""
        cell = self.cells.get(value)
        if cell is None:
            if self.dropped:
                return
            if len(self.cells) == GROUPS:
                self.dropped = True
                self.cells = {}
                return
            cell = self.cells[value] = Counter()
        cell[key] += 1

    def merge(self, other: GroupCounts[Key], renumbered: Callable[[Key], Key]) -> None:
        """Add another's counts, whose keys have other numbers."""
        self.dropped |= other.dropped or len({*self.cells, *other.cells}) > GROUPS
        if self.dropped:
            self.cells = {}
            return
        for value, cell in other.cells.items():
            counts = self.cells.setdefault(value, Counter())
            for key, count in cell.items():
                counts[renumbered(key)] += count

    def tells_apart(self, rows: int) -> bool:
        """Check whether the groups are neither one group of all rows nor one row each."""
        sizes = [cell.total() for cell in self.cells.values()]
        return max(sizes, default=0) > 1 and (len(sizes) > 1 or sizes[0] < rows)

    def __iter__(self) -> Iterator[tuple[str, Counter[Key]]]:
        """Go through the groups by name, so that the order of the rows does not matter."""
        return iter(sorted(self.cells.items()))


class SessionStability(Units):
    """A rate over the leading steps of each unit that are all met: :mod:`.families.sysbench`."""

    def __init__(self, scoring: Scoring, rate: str, steps: Steps, family: str = "") -> None:
        """Count by two tags; ``family``: whose declarations are flags of steps."""
        self._rate, self._of, self._family = rate, steps, family
        self._faithful = scoring == "faithful"
        self._turns: dict[tuple[str, str], bytes] = {}
        self._contradicting: list[dict[str, Any]] = []
        self._contradictions = 0
        self._unplaced = 0

    def add(
        self, sample: Sample, _critique: Critique, row: RowOutcome, states: Sequence[int]
    ) -> None:
        """Take in one step."""
        if not row.verdicts.total and not self._family:
            return
        all_ok = row.said(self._family)
        state = _worst(states)
        tags = sample.tags
        system, turn = tags.get(self._of.group), _turn_number(tags.get(self._of.step))
        if all_ok is not None and all_ok != (state == MET):
            self._contradictions += 1
            if self._contradictions <= LISTED_TURNS:
                place = {"id": sample.id, self._of.group: system, self._of.step: turn}
                self._contradicting.append(place | {"declared": all_ok, "verdicts": state == MET})
        if system is None or turn is None:
            self._unplaced += 1
            return
        if self._faithful:
            passed = state == MET if all_ok is None else all_ok
            state = MET if passed else UNMET
        key = (str(tags.get("model", "")), str(system))
        turns = self._turns.get(key, NO_TURNS)
        worse = max(turns[turn - 1], state, key=WORSE.index)
        self._turns[key] = turns[: turn - 1] + bytes([worse]) + turns[turn:]

    def metrics(self, *, readable: float) -> dict[str, RateEstimate]:
        """Measure; the units of one group, each of a model, are one cluster."""
        groups: dict[str, list[Share]] = {}
        for (_, group), turns in self._turns.items():
            groups.setdefault(group, []).append(self._share(turns))
        if not groups:
            return {}
        together = EndSpreads.of_clusters(groups.values())
        counts = Counter(share for shares in groups.values() for share in shares)
        return {self._rate: measure(counts, readable=readable, together=together)}

    def extend(self, summary: dict[str, Any], *, readable: float) -> None:  # noqa: ARG002
        """Count the steps that are in no unit."""
        if self._unplaced:
            name, group, step, _, steps = self._of
            summary["notes"].append(
                f"{steps}s without a {group} or a {step} from 1 to {TURNS}, which are not in "
                f"{name}: {self._unplaced}"
            )

    def contradictions(self) -> dict[str, Any]:
        """Return how many turns have a flag that contradicts the verdicts, and the first ones."""
        return {"count": self._contradictions, "turns": self._contradicting}

    def _share(self, turns: bytes) -> Share:
        certain = _leading(turns, {MET})
        possible = certain if self._faithful else _leading(turns, {MET, UNDECIDED, MISSING})
        return Share(certain / TURNS, possible / TURNS, 1)


class Labels:
    """Agreement of verdicts with known ones."""

    def __init__(self) -> None:
        self._agreement: dict[str, Counter[Share]] = {
            "strict": Counter(),
            "loose": Counter(),
        }
        self._disagreements: list[dict[str, Any]] = []

    def add(
        self, sample: Sample, critique: Critique, states: Sequence[int]
    ) -> list[tuple[str, Share]]:
        """Compare one row's verdicts with its labels; a label of ``None`` is not compared."""
        known = [
            (position, MET if label else UNMET)
            for position, label in enumerate((sample.labels or ())[: len(states)])
            if label is not None
        ]
        if not known:
            return []
        strict = agreement(
            [states[position] == label for position, label in known],
            [states[position] not in {UNDECIDED, NOT_APPLICABLE} for position, _ in known],
        )
        readings = [("strict", strict)]
        loose = [
            critique.judgments[position].loose if position < len(critique.judgments) else None
            for position, _ in known
        ]
        if any(loose):
            wanted = [Status.MET if label == MET else Status.UNMET for _, label in known]
            equal = [verdict is label for verdict, label in zip(loose, wanted, strict=True)]
            decided = [bool(verdict and verdict.decided) for verdict in loose]
            readings.append(("loose", agreement(equal, decided)))
        for reading, share in readings:
            self._agreement[reading][share] += 1
        for position, label in known:
            if states[position] not in {UNDECIDED, NOT_APPLICABLE, label}:
                self._disagree(sample, position, label)
        return readings

    def merge(self, other: Labels) -> None:
        """Add another's rows."""
        for reading, shares in other._agreement.items():
            self._agreement[reading].update(shares)
        self._disagreements = [*self._disagreements, *other._disagreements][:LISTED_LABELS]

    def result(self, together: Mapping[str, EndSpreads], *, readable: float) -> dict[str, Any]:
        """Sum up."""
        if not self._agreement["strict"]:
            return {}
        agreement = {
            name: measure(shares, readable=readable, together=together.get(name))
            for name, shares in self._agreement.items()
            if shares
        }
        return {"agreement": agreement, "disagreements": self._disagreements}

    def _disagree(self, sample: Sample, position: int, label: int) -> None:
        if len(self._disagreements) < LISTED_LABELS:
            names = ("met", "unmet")
            self._disagreements.append(
                {
                    "id": sample.id,
                    "constraint": position + 1,
                    "text": sample.checklist[position].text,
                    "label": names[label],
                    "verdict": names[1 - label],
                }
            )


def _turn_number(tag: object) -> int | None:
    """Read the number of a step, 1 to 5."""
    try:
        turn = int(str(tag))
    except ValueError:
        return None
    return turn if 1 <= turn <= TURNS else None


def _leading(turns: bytes, states: set[int]) -> int:
    """Count the leading turns that are in one of the states."""
    for position, state in enumerate(turns):
        if state not in states:
            return position
    return len(turns)


def _worst(states: Sequence[int]) -> int:
    return max(states, key=WORSE.index, default=UNDECIDED)


def agreement(equal: Sequence[bool], decided: Sequence[bool]) -> Share:
    """Contribute a row's verdicts to their agreement with known ones."""
    agreed = sum(equal)
    return Share(agreed, agreed + len(decided) - sum(decided), len(decided))


def tags_of(sample: Sample) -> Iterator[tuple[str, Any]]:
    """Go through a row's tags, and its ``example_tags`` (HealthBench) of kinds that come twice."""
    yield from sample.tags.items()
    several = sample.source.get("example_tags") if sample.source else None
    for kind, value in dict.fromkeys(named_tags(several)):
        if kind in sample.tags and sample.tags[kind] != value:
            yield kind, value


_STATUSES = tuple(status.value for status in Status)


class Votes:
    """Accumulator of votes. Several samples of one judge count together, under its name."""

    def __init__(self) -> None:
        self._split: Counter[Share] = Counter()
        self._judges: dict[str, Counter[str]] = {}

    def add(self, critique: Critique) -> Share | None:
        """Take in one row; judgments without votes are passed over."""
        split, comparable = [], []
        for judgment in critique.judgments:
            if judgment.votes is None:
                continue
            said = [vote["status"] for vote in judgment.votes]
            decided = [status for status in said if Status(status).decided]
            split.append(len({*decided}) > 1)
            comparable.append(len(decided) > 1)
            self._count(judgment)
        if not split:
            return None
        share = agreement(split, comparable)
        self._split[share] += 1
        return share

    def _count(self, judgment: Judgment) -> None:
        for vote in judgment.votes or ():
            counts = self._judges.setdefault(vote["judge"], Counter())
            counts[vote["status"]] += 1
            if judgment.status.decided and Status(vote["status"]).decided:
                counts["compared"] += 1
                counts["with the majority"] += vote["status"] == judgment.status

    def merge(self, other: Votes) -> None:
        """Add another's rows."""
        self._split.update(other._split)
        for judge, counts in other._judges.items():
            self._judges.setdefault(judge, Counter()).update(counts)

    def result(self, together: EndSpreads | None, *, readable: float) -> dict[str, Any]:
        """Sum up."""
        if not self._split:
            return {}
        return {
            "disagreement": measure(self._split, readable=readable, together=together),
            "judges": {judge: _laid_out(counts) for judge, counts in sorted(self._judges.items())},
        }


def _laid_out(counts: Counter[str]) -> dict[str, Any]:
    compared = counts["compared"]
    return {
        **{status: counts[status] for status in _STATUSES},
        "with_majority": counts["with the majority"] / compared if compared else None,
    }


class CriterionRows(Units):
    """A judge's rows on one criterion each, put together by the response that they are about."""

    def __init__(self, scoring: Scoring, score: RubricScore, mean: Mean | None = None) -> None:
        """Score by the criteria together; ``mean``: over the values of a tag."""
        self._scoring, self._score, self._mean = scoring, score, mean
        self._responses: dict[tuple[str, ...], tuple[list[Constraint], list[Judgment]]] = {}

    def add(
        self, sample: Sample, critique: Critique, row: RowOutcome, _states: Sequence[int]
    ) -> None:
        """Take in a row; those of whole responses have their rates without it."""
        if not row.of_judge:
            return
        text = blake2b((sample.response or "").encode("utf-8", "surrogatepass"), digest_size=8)
        task = str((sample.model_extra or {}).get("instruction_id"))
        tag = "" if self._mean is None else self._mean.tag
        key = (
            str(sample.tags.get(tag, "")),
            task,
            str(sample.tags.get("model", "")),
            text.hexdigest(),
        )
        checklist, judgments = self._responses.setdefault(key, ([], []))
        for constraint, judgment in zip(sample.checklist, critique.judgments, strict=False):
            checklist.append(constraint)
            judgments.append(judgment)

    def metrics(self, *, readable: float) -> dict[str, RateEstimate]:
        """Measure."""
        outcomes = []
        groups: dict[str, Counter[Share]] = {}
        for (group, *_), judged in self._responses.items():
            outcome = rubric_outcome(*judged)
            share = score_share(self._score, outcome, self._scoring)
            if outcome is not None and share is not None:
                outcomes.append(outcome)
                groups.setdefault(group, Counter())[share] += 1
        if not groups:
            return {}
        shares: Counter[Share] = Counter()
        for counts in groups.values():
            shares.update(counts)
        score = score_measure(self._score, shares, outcomes, readable=readable)
        rates = {self._score.name: score}
        if self._mean is not None:
            digits = self._mean.faithful_digits if self._scoring == "faithful" else None
            rates[self._mean.name] = macro_measure(groups, readable=readable, digits=digits)
        return rates
