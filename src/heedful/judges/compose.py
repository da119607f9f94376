"""Judges made of judges."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.core.errors import UsageError
from heedful.core.nouns import Critique, Judgment, Status
from heedful.engine.runner import together
from heedful.judges.code import Compiled, Rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Expense, Sample
    from heedful.judges.base import Judge


class Cascade:
    """Ask the judges in turn, each only for what the earlier ones left undecided.

    ``Cascade(Rules(), Recorded())`` lets code decide what code can decide and takes the rest from
    the judge output in the file.
    """

    def __init__(self, *judges: Judge) -> None:
        self.judges = _checked("Cascade", judges)
        self.name = ",".join(judge.name for judge in self.judges)

    @property
    def config(self) -> Mapping[str, Any]:
        """The judges' configurations, in order."""
        return {"judge": self.name, "judges": [dict(judge.config) for judge in self.judges]}

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Judge a sample; a constraint that no judge decides keeps the most telling reason."""
        verdicts: dict[int, Judgment] = {}
        left = list(range(len(sample.checklist))) if requested is None else list(requested)
        text: str | None = None
        declared: dict[str, Any] = {}
        proposals: dict[str, bool] = {}
        expenses: list[Expense] = []
        for judge in self.judges:
            if not left:
                break
            critique = await judge.judge(sample, left)
            for position, judgment in zip(left, critique.judgments, strict=True):
                verdicts[position] = better(verdicts.get(position), judgment)
            left = [position for position in left if not verdicts[position].status.settled]
            text = critique.text if critique.text is not None else text
            declared |= critique.declared
            proposals |= critique.proposals
            expenses += critique.expenses
        return Critique(
            judgments=tuple(verdicts[position] for position in sorted(verdicts)),
            text=text,
            declared=declared,
            proposals=proposals,
            expenses=tuple(expenses),
        )


class Panel:
    """Ask several judges for everything and take the majority of their verdicts.

    The judges may be different models, or one model's independent samples: a vote. A judge that
    does not decide a constraint has no vote on it. Ties are not decided.
    """

    def __init__(self, *judges: Judge, min_confidence: float = 0.0) -> None:
        self.judges = _checked("Panel", judges)
        self.min_confidence = min_confidence

    @property
    def name(self) -> str:
        """The members' names; several samples of one judge as ``3 x judge``."""
        counts = Counter(judge.name for judge in self.judges)
        members = [name if n == 1 else f"{n} x {name}" for name, n in counts.items()]
        return members[0] if len(members) == 1 else f"panel({', '.join(members)})"

    @property
    def config(self) -> Mapping[str, Any]:
        """The members' configurations, and the majority required."""
        return {
            "judge": self.name,
            "judges": [dict(judge.config) for judge in self.judges],
            "min_confidence": self.min_confidence,
        }

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Judge a sample; each judgment keeps the members' verdicts under ``votes``."""
        critiques = await together(judge.judge(sample, requested) for judge in self.judges)
        ballots = zip(*(critique.judgments for critique in critiques), strict=True)
        texts = [critique.text for critique in critiques if critique.text is not None]
        return Critique(
            judgments=tuple(self._majority(ballot) for ballot in ballots),
            text="\n\n".join(texts) if texts else None,
            expenses=tuple(expense for critique in critiques for expense in critique.expenses),
        )

    def _majority(self, ballot: Sequence[Judgment]) -> Judgment:
        votes = tuple(map(_vote, ballot))
        settled = [vote for vote in ballot if vote.status.settled]
        if not settled:
            return ballot[0].model_copy(update={"judge": self.name, "votes": votes})
        # On a criterion with levels, those who name another level don't agree.
        answers = Counter((vote.status, vote.level) for vote in settled)
        winner, most = answers.most_common(1)[0]
        confidence = most / len(settled)
        if 2 * most <= len(settled) or confidence < self.min_confidence:
            votes_for = ", ".join(
                f"{count} for {level or status}" for (status, level), count in answers.most_common()
            )
            return Judgment(
                status=Status.UNPARSED,
                explanation=f"no majority of {len(settled)} votes: {votes_for}",
                judge=self.name,
                confidence=confidence,
                votes=votes,
            )
        spokesman = next(vote for vote in settled if (vote.status, vote.level) == winner)
        return spokesman.model_copy(
            update={"judge": self.name, "confidence": confidence, "votes": votes}
        )


def _vote(judgment: Judgment) -> dict[str, str]:
    vote = {"judge": judgment.judge, "status": judgment.status.value}
    return vote if judgment.level is None else {**vote, "level": judgment.level}


def _checked(name: str, judges: tuple[Judge, ...]) -> tuple[Judge, ...]:
    """Refuse what would otherwise fail at the first row."""
    if not judges:
        raise UsageError(f"{name} has no judges", hint=f"give them: {name}(Rules(), …)")
    for judge in judges:
        check_judge(judge, f"give judges one by one: {name}(Rules(), Recorded())")
    return judges


def check_judge(judge: object, hint: str) -> None:
    """Refuse an object that isn't a judge."""
    if isinstance(judge, type) or not callable(getattr(judge, "judge", None)):
        raise UsageError(f"{judge!r:.80} isn't a judge: it has no method judge", hint=hint)


def better(old: Judgment | None, new: Judgment) -> Judgment:
    """Choose the decided verdict, or the more telling reason of two undecided ones.

    "Unsupported" only says that a judge was not made for the constraint; a reply that did not
    parse or a call that failed says more.
    """
    if old is None or new.status.settled:
        return new
    if old.status is not Status.UNSUPPORTED:
        return old
    if new.status is not Status.UNSUPPORTED:
        return new
    return old.model_copy(update={"explanation": f"{old.explanation}; {new.explanation}"})


class Consistent:
    """Leaves verdicts undecided that code or their own explanation contradicts.

    Code's verdict isn't taken in the place of the judge's: ``rules,compiled,checklist`` asks code
    first, and this is for a judge that is asked alone, or is a member of a panel.
    """

    def __init__(self, judge: Judge) -> None:
        self.watched = judge
        self.name = judge.name
        self._code = Cascade(Rules(), Compiled())

    @property
    def config(self) -> Mapping[str, Any]:
        """The judge's, and that of the code that may contradict it."""
        return {**self.watched.config, "contradictions": dict(self._code.config)}

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Judge a sample; contradicted verdicts are ``unparsed``, and say which they were."""
        critique = await self.watched.judge(sample, requested)
        code = await self._code.judge(sample, requested)
        pairs = zip(critique.judgments, code.judgments, strict=True)
        return critique.model_copy(update={"judgments": tuple(_accepted(*pair) for pair in pairs)})


def _accepted(said: Judgment, code: Judgment) -> Judgment:
    if not said.status.decided:
        return said
    if code.status.decided and code.status is not said.status:
        why = f"code finds it {code.status} ({code.explanation})"
    elif (said.model_extra or {}).get("contradiction"):
        why = "its explanation says the opposite"
    else:
        return said
    return Judgment.model_validate(
        {
            "status": Status.UNPARSED,
            "explanation": f"not accepted: {said.status}, and {why}; {said.explanation}",
            "judge": said.judge,
            "contradiction": True,
        }
    )
