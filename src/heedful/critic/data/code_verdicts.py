"""Verdicts of code as training data: what a run judged by rules decided, laid out as critiques.

Code knows its verdicts and says why, so nobody needs to write these critiques or to filter them. A
model's responses meet most of what they were asked, and a critic that is trained on that learns to
say "met". So verdicts are balanced by type, and the constraints of other rows may be checked on a
response too, which it seldom meets.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from heedful import verify
from heedful.core.errors import VerifierError
from heedful.core.nouns import Judgment, Recording, Status
from heedful.core.turns import calls_by_turn
from heedful.judges import prompts
from heedful.judges.base import CODE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from heedful.core.nouns import Check, Constraint, Sample
    from heedful.critic.data.options import ExportSettings

POOL = 2000
"""Constraints of other rows that are kept at most; they are few, and repeat from row to row."""


class Decided(NamedTuple):
    """A constraint, and what code decided of it."""

    constraint: Constraint
    judgment: Judgment

    @property
    def kind(self) -> str:
        """The group for balancing: the id of its check, or of the compiled one, with the unit."""
        check = self.constraint.check or _compiled(self.constraint.text)
        if check is None:
            return self.constraint.type or "other"
        unit = check.args.get("unit")
        return f"{check.id} {unit}" if isinstance(unit, str) else check.id


@lru_cache(8192)
def _compiled(text: str) -> Check | None:
    from heedful.verify.compiler.compile import compile_constraint

    return compile_constraint(text).check


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
        self._totals: dict[str, Counter[Status]] = defaultdict(Counter)
        if settings.balance:
            for sample in samples():
                for decided in self.decided(sample):
                    self._totals[decided.kind][decided.judgment.status] += 1
        self.begin()

    def begin(self) -> None:
        """Begin a pass over the rows, which is the same each time."""
        self.counts: Counter[str] = Counter()
        self._random = random.Random(f"{self._settings.seed} choice")
        self._left = {kind: Counter(totals) for kind, totals in self._totals.items()}
        self._wanted = {
            kind: dict.fromkeys(
                (Status.MET, Status.UNMET), min(totals[Status.MET], totals[Status.UNMET])
            )
            for kind, totals in self._totals.items()
        }

    def groups(self, sample: Sample) -> list[list[Decided]]:
        """Return the verdicts of a row that are taken, those of one example together."""
        taken = [decided for decided in self.decided(sample) if self._takes(decided)]
        size = self._settings.per_call or max(1, len(taken))
        return [taken[start : start + size] for start in range(0, len(taken), size)]

    def _takes(self, decided: Decided) -> bool:
        """Sample without replacement, one by one (Knuth, TAOCP 3.4.2, algorithm S)."""
        if not self._settings.balance:
            return True
        kind, status = decided.kind, decided.judgment.status
        left, wanted = self._left[kind][status], self._wanted[kind][status]
        self._left[kind][status] -= 1
        if self._random.random() * left >= wanted:
            self.counts[f"left out to balance:{status}"] += 1
            return False
        self._wanted[kind][status] -= 1
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
        crossed: list[Decided] = []
        for constraint in others:
            if len(crossed) == self._settings.cross or constraint.check is None:
                break
            if constraint.text in asked:
                continue
            try:
                finding = verify.check(constraint.check, response)
            except VerifierError:  # also where two readings disagree
                continue
            status = Status.MET if finding.met else Status.UNMET
            judgment = Judgment(status=status, explanation=finding.found, judge=CODE[0])
            crossed.append(Decided(constraint, judgment))
        return crossed

    def _pooled(self, samples: Iterable[Sample]) -> list[Constraint]:
        """Collect constraints with a check, or that were compiled to one, each once."""
        pool: dict[str, Constraint] = {}
        for sample in samples:
            if len(pool) >= POOL or not has_verdicts(sample):
                continue
            for constraint, judgment in zip(sample.checklist, _judgments(sample), strict=True):
                check = constraint.check
                if check is None and judgment.status.decided and judgment.judge == CODE[1]:
                    check = _compiled(constraint.text)
                if check is not None:
                    checked = constraint.model_copy(update={"check": check})
                    pool.setdefault(constraint.text, checked)
        return list(pool.values())


def _judgments(sample: Sample) -> Iterator[Judgment]:
    recording = sample.recording
    verdicts = None if recording is None else recording.verdicts
    return iter(prompts.read(Recording(prompt="native", verdicts=verdicts), sample.checklist))
