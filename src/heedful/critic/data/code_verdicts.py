"""The verdicts of code in a run's results, as data to learn from.

Code knows its verdicts and says why, so nobody needs to write these critiques or to filter them. A
model's responses meet most of what they were asked, and a critic that is trained on that learns to
say "met". So verdicts are balanced, and the constraints of other rows may be checked on a response
too, which it seldom meets. Balanced by type alone, "at least" may be mostly met and "at most"
unmet, and whoever learns that needs no response; within one text, no word gives it away.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from heedful import verify
from heedful.core.nouns import Judgment, Recording, Sample, Status
from heedful.core.turns import calls_by_turn
from heedful.critic.data.contrast import Decided, contrasted, decide
from heedful.judges import prompts
from heedful.judges.base import CODE
from heedful.verify.compiler.compile import compile_constraint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from heedful.core.nouns import Constraint
    from heedful.critic.data.options import ExportSettings

POOL = 2000
"""Constraints of other rows that are kept at most; they are few, and repeat from row to row."""

BY_TEXT = 0.5
"""Share of what balancing by type and direction keeps that balancing by text must keep too."""

_LIMITS = {"at_least": "at least", "at_most": "at most"}

_Totals = dict[str, Counter[Status]]
"""How often each verdict occurs, by the group to balance."""


def kind(constraint: Constraint) -> str:
    """Return the id of its check, or of the compiled one, with the unit and the direction."""
    check = constraint.check or compile_constraint(constraint.text).check
    if check is None:
        return constraint.type or "other"
    words = [check.id]
    for name, value in sorted(check.args.items()):
        if isinstance(value, str) and (name == "unit" or name.endswith("relation")):
            words.append(value)
        elif name in _LIMITS and value is not None:
            words.append(f"{_LIMITS[name]} 0" if value == 0 else _LIMITS[name])
    return " ".join(words)


def _rarer(totals: Counter[Status]) -> int:
    return min(totals[Status.MET], totals[Status.UNMET])


def _pairs(groups: _Totals) -> int:
    return sum(map(_rarer, groups.values()))


def has_verdicts(sample: Sample) -> bool:
    """Tell whether a row is a run's result: it holds verdicts as data, and no critique's text."""
    recording = sample.recording
    return recording is not None and recording.verdicts is not None and not recording.text


class CodeVerdicts:
    """The verdicts of code in a run's results, balanced."""

    def __init__(self, samples: Callable[[], Iterable[Sample]], settings: ExportSettings) -> None:
        """Look through the rows once, if the choice depends on all of them."""
        self._settings = settings
        self._pool = self._pooled(samples()) if settings.cross else []
        self._balances = settings.balance and not settings.contrast
        by_kind: _Totals = defaultdict(Counter)
        by_text: _Totals = defaultdict(Counter)
        if self._balances:
            for decided in (each for sample in samples() for each in self.decided(sample)):
                by_kind[kind(decided.constraint)][decided.judgment.status] += 1
                by_text[decided.constraint.text][decided.judgment.status] += 1
        self.by_text = _pairs(by_text) >= BY_TEXT * _pairs(by_kind)  # rather than by type
        self._totals = by_text if self.by_text else by_kind
        self.begin()

    def begin(self) -> None:
        """Begin a pass over the rows, which is the same each time."""
        self.counts: Counter[str] = Counter()
        self._random = random.Random(f"{self._settings.seed} choice")
        self._left = {group: Counter(totals) for group, totals in self._totals.items()}
        self._wanted = {
            group: dict.fromkeys((Status.MET, Status.UNMET), _rarer(totals))
            for group, totals in self._totals.items()
        }

    def asked(self, sample: Sample) -> Iterator[tuple[Sample, list[Decided]]]:
        """Yield what a critic is asked of a row, and the verdicts that are the answer."""
        if self._settings.contrast:
            choice = random.Random(f"{self._settings.seed} {sample.id} contrast")
            constraints = [each.constraint for each in self.decided(sample)]
            versions = contrasted(sample.response or "", constraints, choice)
        else:
            versions = [(sample.response or "", list(filter(self._takes, self.decided(sample))))]
        groups = [
            (response, group)
            for response, taken in versions
            for group in self._divided(taken, f"{sample.id} {response}")
        ]
        for number, (response, group) in enumerate(groups, start=1):
            name = sample.id if len(groups) == 1 else f"{sample.id}/{number}"
            yield asked(sample, group, name, response), group

    def _divided(self, taken: list[Decided], seed: str) -> Iterator[list[Decided]]:
        """Divide verdicts into calls, of one to the most that one may have, at random."""
        most = self._settings.per_call or len(taken)
        sizes = random.Random(f"{self._settings.seed} {seed} sizes")
        at = 0
        while at < len(taken):
            size = most if self._settings.per_call is None else sizes.randint(1, most)
            yield taken[at : at + size]
            at += size

    def _takes(self, decided: Decided) -> bool:
        """Sample without replacement, one by one (Knuth, TAOCP 3.4.2, algorithm S)."""
        if not self._balances:
            return True
        group = decided.constraint.text if self.by_text else kind(decided.constraint)
        status = decided.judgment.status
        left, wanted = self._left[group][status], self._wanted[group][status]
        self._left[group][status] -= 1
        if self._random.random() * left >= wanted:
            self.counts[f"left out to balance:{status}"] += 1
            return False
        self._wanted[group][status] -= 1
        return True

    def decided(self, sample: Sample) -> list[Decided]:
        """Return what code decides of a row: what its run says, and constraints of other rows."""
        if not has_verdicts(sample) or sample.response is None:
            return []
        own = [
            Decided(constraint, judgment)
            for constraint, judgment in zip(sample.checklist, _judgments(sample), strict=True)
            if judgment.status.decided and judgment.judge in CODE
        ]
        return own + self._crossed(sample) if self._pool else own

    def _crossed(self, sample: Sample) -> list[Decided]:
        calls = calls_by_turn(sample.conversation, sample.tool_calls)
        response = verify.Response(sample.response or "", calls=calls)
        asked = {constraint.text for constraint in sample.checklist}
        choice = random.Random(f"{self._settings.seed} {sample.id}")
        others = choice.sample(self._pool, min(len(self._pool), 2 * self._settings.cross))
        found = (decide(each, response) for each in others if each.text not in asked)
        return [each for each in found if each is not None][: self._settings.cross]

    def _pooled(self, samples: Iterable[Sample]) -> list[Constraint]:
        """Collect constraints with a check, or that were compiled to one, each once."""
        pool: dict[str, Constraint] = {}
        for sample in samples:
            if len(pool) >= POOL or not has_verdicts(sample):
                continue
            for constraint, judgment in zip(sample.checklist, _judgments(sample), strict=True):
                check = constraint.check
                if check is None and judgment.status.decided and judgment.judge == CODE[1]:
                    check = compile_constraint(constraint.text).check
                if check is not None:
                    checked = constraint.model_copy(update={"check": check})
                    pool.setdefault(constraint.text, checked)
        return list(pool.values())


def asked(row: Sample, taken: Sequence[Decided], name: str, response: str | None) -> Sample:
    """Ask a row for these constraints only, of this response."""
    checklist = tuple(each.constraint.model_copy(update={"depends_on": ()}) for each in taken)
    alone = {"checklist": checklist, "labels": None, "recording": None}
    return row.model_copy(update={**alone, "id": name, "response": response})


def _judgments(sample: Sample) -> Iterator[Judgment]:
    recording = sample.recording
    verdicts = None if recording is None else recording.verdicts
    return iter(prompts.read(Recording(prompt="native", verdicts=verdicts), sample.checklist))
