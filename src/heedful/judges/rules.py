"""The judge that is code: verifiers decide, exactly and at no cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful import verify
from heedful.core.errors import VerifierError
from heedful.core.nouns import Critique, Judgment, Status
from heedful.core.turns import calls_by_turn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Constraint, Sample, Scoring


class Rules:
    """Decides each constraint that has a check; the others are ``unsupported``."""

    name = "rules"

    def __init__(self, scoring: Scoring = "strict", seed: int = 0) -> None:
        self.scoring = scoring
        self.seed = seed

    @property
    def config(self) -> Mapping[str, Any]:
        """All that verdicts depend on, the rules for sentences included: users may have others."""
        return {"judge": self.name, "sentences": verify.sentence_rules()}

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Run the verifiers on the response."""
        positions = range(len(sample.checklist)) if requested is None else requested
        if sample.response is None:
            constraints = [sample.checklist[position] for position in positions]
            return Critique.undecided(
                constraints, Status.FAILED, "the row has no response", self.name
            )
        seed = self.seed if self.scoring == "faithful" else None
        calls = calls_by_turn(sample.conversation, sample.tool_calls)
        readings = verify.Readings(sample.response, seed=seed, sample=sample.id, calls=calls)
        return Critique(
            judgments=tuple(
                self._judgment(readings, sample.checklist[position], position)
                for position in positions
            )
        )

    def _judgment(
        self, readings: verify.Readings, constraint: Constraint, position: int
    ) -> Judgment:
        if constraint.check is None:
            reason = "the constraint has no check for code to run"
            return Judgment(status=Status.UNSUPPORTED, explanation=reason, judge=self.name)
        try:
            strict, loose = readings.read(constraint.check, position)
        except VerifierError as error:
            return Judgment(status=Status.UNSUPPORTED, explanation=str(error), judge=self.name)
        return Judgment(
            status=Status.MET if strict.met else Status.UNMET,
            explanation=strict.found,
            judge=self.name,
            loose=Status.MET if loose else Status.UNMET,
        )
