"""Judges that call a model: for the whole checklist, constraint by constraint, or k at a time."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from heedful.core.errors import ModelError, RowError, UsageError
from heedful.core.noun import trusted, updated
from heedful.core.nouns import Critique, Judgment, Status
from heedful.engine.call_cache import attempt, attempts
from heedful.engine.fan_out import fan_out
from heedful.engine.purpose import EXPLAINED_TOKENS, VERDICT_TOKENS, Purpose
from heedful.judges import prompts
from heedful.judges.base import confident, facts, merged
from heedful.judges.compose import Cascade, Consistent, Panel
from heedful.judges.images import WithImages, opened, unshown
from heedful.judges.prompts.base import CUT_OFF, lacking, undecided
from heedful.judges.protocol import Reworded
from heedful.models.base import Sampling
from heedful.models.options import flag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from heedful.core.nouns import Constraint, Expense, Message, Sample
    from heedful.judges.base import Judge, Measure
    from heedful.judges.prompts import JudgePrompt, Shown
    from heedful.models.base import Completion, Model


class Checklist:
    """Asks a model to judge constraints with a prompt.

    By default the whole checklist goes into one call; ``per_call=1`` asks for each constraint on
    its own, ``per_call=k`` for k at a time. Judging constraint by constraint is more accurate with
    models that were only prompted, and costs as many calls (RubricEval, arXiv 2603.25133); a critic
    trained for whole checklists is better in one pass (IF-Critic, arXiv 2511.01014).
    """

    def __init__(
        self,
        model: Model,
        prompt: JudgePrompt,
        *,
        per_call: int | None = None,
        sampling: Sampling | None = None,
        reasks: int = 1,
        sample_index: int = 0,
        measure: Measure | None = None,
    ) -> None:
        for name, value, least in (("per_call", per_call, 1), ("reasks", reasks, 0)):
            if value is not None and value < least:
                raise UsageError(f"{flag(name)} is {value}", hint=f"give at least {least}")
        self.model = model
        self.prompt = prompt
        self.per_call = per_call
        self.sampling = sampling or Sampling()
        if prompt.response_format is not None:
            self.sampling = self.sampling.model_copy(
                update={"response_format": prompt.response_format}
            )
        self.reasks = reasks
        self.sample_index = sample_index
        self.measure = measure

    @cached_property
    def name(self) -> str:
        """The model and the prompt, and how many constraints go into a call."""
        size = "" if self.per_call is None else f"/{self.per_call}"
        return f"{self.model.name}/{self.prompt.name}{size}"

    @property
    def config(self) -> Mapping[str, Any]:
        """The model, the prompt with its version, the sampling and the protocol."""
        return {
            "judge": self.name,
            "model": dict(self.model.config),
            "prompt": f"{self.prompt.name} {self.prompt.version}",
            "per_call": self.per_call,
            "sampling": self.sampling.model_dump(mode="json", exclude_defaults=True),
            "reasks": self.reasks,
            "sample_index": self.sample_index,
            "measure": None if self.measure is None else self.measure.version,
        }

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Ask for the verdicts, the calls of one sample side by side.

        A row without a response or an instruction is not judged: its verdicts are ``failed``.
        """
        positions = list(range(len(sample.checklist))) if requested is None else list(requested)
        if not positions:
            return Critique()
        askable = self._askable(sample, positions)
        if len(askable) < len(positions):
            return self._beside(await self.judge(sample, askable), askable, positions)
        status, reason = Status.FAILED, lacking(sample, self.prompt)
        if reason is None:
            status, reason = Status.UNSUPPORTED, unshown(sample, self.prompt)
        if reason is not None:
            constraints = [sample.checklist[position] for position in positions]
            return Critique.undecided(constraints, status, reason, self.name)
        groups = self._groups(positions)
        shown = prompts.Shown.of(sample)
        if len(groups) == 1:
            return await self._ask(sample, groups[0], shown)
        answers = await fan_out(
            [self._messages(sample, group) for group in groups],
            lambda place, messages: self._ask(sample, groups[place], shown, messages),
        )
        return merged(answers, [each for answer in answers for each in answer.judgments])

    def request(self, sample: Sample, positions: Sequence[int]) -> str | None:
        """Return the prompt as it is first sent, those of several calls joined; else ``None``."""
        positions = self._askable(sample, positions)
        reason = lacking(sample, self.prompt) or unshown(sample, self.prompt)
        if not positions or reason is not None:
            return None
        prompts = (self._messages(sample, group) for group in self._groups(positions))
        return "\n\n".join(message.content for messages in prompts for message in messages)

    def _askable(self, sample: Sample, positions: Sequence[int]) -> list[int]:
        """Return the constraints that the prompt can ask about: not every prompt knows levels."""
        levels = getattr(self.prompt, "levels", False)
        checklist = sample.checklist
        return [at for at in positions if levels or checklist[at].scale is None]

    def _beside(
        self, critique: Critique, askable: Sequence[int], positions: Sequence[int]
    ) -> Critique:
        """Add judgments on the constraints that could not be asked."""
        reason = f"the prompt {self.prompt.name} can't ask for a level (use --prompt criteria)"
        judgment = Judgment(status=Status.UNSUPPORTED, explanation=reason, judge=self.name)
        judgments = dict.fromkeys(positions, judgment)
        judgments |= dict(zip(askable, critique.judgments, strict=True))
        return critique.model_copy(update={"judgments": tuple(judgments.values())})

    def _groups(self, positions: Sequence[int]) -> list[Sequence[int]]:
        """Divide the requested constraints into calls."""
        size = self.per_call or max(len(positions), 1)
        return [positions[start : start + size] for start in range(0, len(positions), size)]

    def _messages(self, sample: Sample, positions: Sequence[int]) -> list[Message]:
        checklist = sample.checklist
        constraints = [checklist[position] for position in positions]
        counted = facts(self.measure, sample, constraints)
        return self.prompt.render(sample, constraints, measurements=counted)

    async def _ask(
        self,
        sample: Sample,
        positions: Sequence[int],
        shown: Shown,
        prompt: Sequence[Message] = (),
    ) -> Critique:
        """Ask for a group of constraints, and again for those without a verdict in the reply."""
        name = self.name
        verdicts: dict[int, Judgment] = {}
        left = list(positions)
        texts: list[str] = []
        expenses: list[Expense] = []
        checklist = sample.checklist
        declared: dict[str, Any] = {}
        for number in attempts(self.reasks):
            constraints = [checklist[position] for position in left]
            messages = self._messages(sample, left) if number or not prompt else prompt
            try:
                completion = await attempt(
                    number,
                    self.model,
                    messages,
                    self._sampling(len(left)),
                    self._purpose(len(left)),
                    expenses,
                    sample=self.sample_index,
                )
            except ModelError as error:
                failed = Judgment(status=Status.FAILED, explanation=str(error), judge=name)
                verdicts |= {at: failed for at in left if at not in verdicts}
                break
            texts.append(completion.text)
            if not number and len(positions) == len(checklist):
                declared = prompts.declared(self.prompt.name, completion.text, checklist)
            read = self._read(completion, constraints, shown)
            pairs = [*zip(left, read, strict=True)]
            verdicts |= {at: updated(each, {"judge": name}) for at, each in pairs}
            left = [at for at, each in pairs if each.status is Status.UNPARSED]
            if not left:
                break
        critique = {
            "judgments": tuple([verdicts[position] for position in positions]),
            "text": "\n\n".join(texts) if texts else None,
            "declared": declared,
            "expenses": tuple(expenses),
        }
        return trusted(Critique, critique)

    def _sampling(self, constraints: int) -> Sampling:
        one = getattr(self.prompt, "format_of_one", None) if constraints == 1 else None
        return self.sampling.model_copy(update={"response_format": one}) if one else self.sampling

    def _purpose(self, constraints: int) -> Purpose:
        explains = getattr(self.prompt, "explain", True)
        each = EXPLAINED_TOKENS if explains else VERDICT_TOKENS
        return Purpose(self.name, tokens=constraints * each)

    def _read(
        self, completion: Completion, constraints: Sequence[Constraint], shown: Shown
    ) -> list[Judgment]:
        """Read a reply; one that was cut off may hold another's verdicts and not yet its own."""
        if completion.cut_off:
            return undecided(constraints, CUT_OFF)
        read = prompts.parse(self.prompt, completion.text, constraints, shown)
        return confident(read, completion)


def request(
    judge: Judge, sample: Sample, critique: Critique, earlier: AbstractSet[str] = frozenset()
) -> str | None:
    """Return the prompt that a model was given for a sample.

    Prompts aren't stored with verdicts: the same sample always gives the same prompt, so it is
    written again. Of several models with the same prompt, it is the first one's.
    """
    if isinstance(judge, WithImages):
        try:
            sample = opened(sample, judge.folder)
        except RowError:
            return None
        judge = judge.seeing
    if isinstance(judge, Reworded):
        return request(judge.asked, judge.shown(sample), critique, earlier)
    if isinstance(judge, Consistent):
        judge = judge.watched
    if isinstance(judge, Checklist):
        positions = [
            position
            for position, judgment in enumerate(critique.judgments)
            if not (judgment.status.settled and judgment.judge in earlier)
        ]
        try:
            return judge.request(sample, positions)
        except RowError:  # the row could not be judged, and says why
            return None
    if isinstance(judge, Cascade | Panel):
        for member in judge.judges:
            prompt = request(member, sample, critique, earlier)
            if prompt is not None:
                return prompt
            earlier |= {member.name}
    return None
