"""Judges that ask nobody: code, exact and at no cost, and the verdicts that a file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful import verify
from heedful.core.errors import UndecidedError, VerifierError
from heedful.core.noun import trusted
from heedful.core.nouns import Critique, Judgment, Status
from heedful.core.turns import calls_by_turn
from heedful.judges import prompts
from heedful.verify.compiler import digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Check, Constraint, Recording, Sample, Scoring


_NO_CHECK = Judgment(
    status=Status.UNSUPPORTED,
    explanation="the constraint has no check for code to run",
    judge="rules",
)


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
        judgments = [
            self._judgment(readings, sample.checklist[position], position) for position in positions
        ]
        return trusted(Critique, {"judgments": tuple(judgments)})

    def _judgment(
        self, readings: verify.Readings, constraint: Constraint, position: int
    ) -> Judgment:
        if constraint.check is None:
            return _NO_CHECK
        try:
            strict, loose = readings.read(constraint.check, position)
        except VerifierError as error:
            return Judgment(status=Status.UNSUPPORTED, explanation=str(error), judge=self.name)
        fields = {
            "status": Status.MET if strict.met else Status.UNMET,
            "explanation": strict.found,
            "judge": self.name,
            "loose": Status.MET if loose else Status.UNMET,
        }
        return trusted(Judgment, fields)


class Compiled:
    """Compiles constraints that have no check of their own, and runs the checks.

    A text that doesn't compile, or that comes out differently under two readings, is
    ``unsupported`` with the reason, so that the next judge of a cascade decides.
    """

    name = "compiled"

    @property
    def config(self) -> Mapping[str, Any]:
        """The grammar and the rules for sentences: verdicts depend on both."""
        return {
            "judge": self.name,
            "grammar": digest(),
            "sentences": verify.sentence_rules(),
        }

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Compile the constraints and run their checks on the response."""
        positions = range(len(sample.checklist)) if requested is None else requested
        constraints = [sample.checklist[position] for position in positions]
        if sample.response is None:
            return Critique.undecided(
                constraints, Status.FAILED, "the row has no response", self.name
            )
        response = verify.Response(sample.response)
        return Critique(judgments=tuple(self._judgment(each, response) for each in constraints))

    def _judgment(self, constraint: Constraint, response: verify.Response) -> Judgment:
        if constraint.check is not None:
            return self._undecided("the constraint has a check of its own")
        from heedful.verify.compiler.compile import compile_constraint

        compiled = compile_constraint(constraint.text)
        if compiled.check is None:
            return self._undecided(f"the constraint does not compile: {compiled.reason}")
        return decided_by(compiled.check, response, self.name)

    def _undecided(self, reason: str) -> Judgment:
        return Judgment(status=Status.UNSUPPORTED, explanation=reason, judge=self.name)


def decided_by(check: Check, response: verify.Response, judge: str) -> Judgment:
    """Run a check; where its verdict is open, a later judge may decide."""
    try:
        finding = verify.check(check, response)
    except VerifierError as error:
        what = error.what if isinstance(error, UndecidedError) else str(error)
        return Judgment(status=Status.UNSUPPORTED, explanation=what, judge=judge)
    status = Status.MET if finding.met else Status.UNMET
    return Judgment(status=status, explanation=finding.found, judge=judge)


class Measurement:
    """Tells a model what code counts for a constraint."""

    @property
    def version(self) -> str:
        """The grammar's digest: what is counted depends on it, and verdicts with it."""
        return digest()

    def __call__(self, sample: Sample, constraint: Constraint) -> str | None:
        """Say in one line, what was counted."""
        if not sample.response:
            return None
        from heedful.verify.compiler.compile import compile_constraint
        from heedful.verify.compiler.measuring import facts, measure

        response = verify.Response(sample.response)
        compiled = compile_constraint(constraint.text)
        if constraint.check is not None:
            own = facts((constraint.check,), response)
            if own is not None:
                return own
        return measure(compiled, response)


class Recorded:
    """Parses the judge output in the file, so that scoring saved judgments needs no call."""

    name = "recorded"

    def __init__(self, scoring: Scoring = "strict") -> None:
        self.scoring = scoring
        self._last: tuple[Sample, list[Judgment]] | None = None

    @property
    def config(self) -> Mapping[str, Any]:
        """Its name: the verdicts depend on the file alone."""
        return {"judge": self.name}

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Read the recorded verdicts; what the record does not hold is not decided."""
        positions = range(len(sample.checklist)) if requested is None else requested
        constraints = [sample.checklist[position] for position in positions]
        recording = sample.recording
        if recording is None:
            reason = "the file holds no judge output for this row"
            return Critique.undecided(constraints, Status.UNSUPPORTED, reason, self.name)
        if recording.text is None and recording.verdicts is None:
            reason = str(recording.declared.get("error", "the judge's reply is missing"))
            return Critique.undecided(constraints, Status.FAILED, reason, self.name)
        # A reply can be matched to its constraints only against the whole checklist.
        judgments = self._read(recording, sample)
        return Critique(
            judgments=tuple(
                _signed(judgments[position], f"{self.name}:{recording.prompt}")
                for position in positions
            ),
            text=recording.text,
            declared=prompts.declared(recording.prompt, recording.text, sample.checklist)
            or recording.declared,
        )

    def _read(self, recording: Recording, sample: Sample) -> list[Judgment]:
        """Read a recording; criteria that depend on others ask for it in as many rounds."""
        if self._last is None or self._last[0] is not sample:
            self._last = sample, prompts.read_recording(recording, sample, self.scoring)
        return self._last[1]


def _signed(judgment: Judgment, judge: str) -> Judgment:
    """Name who decided; a results file of heedful already does."""
    return judgment if judgment.judge else judgment.model_copy(update={"judge": judge})
