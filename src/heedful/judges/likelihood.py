"""A judge that answers with one token: verdict and confidence from its probability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from heedful.core.errors import ModelError, UsageError
from heedful.core.nouns import Critique, Expense, Judgment, Status
from heedful.engine.call_cache import complete, expense
from heedful.engine.fan_out import fan_out
from heedful.engine.purpose import Purpose
from heedful.judges.images import unshown
from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts.base import lacking
from heedful.judges.prompts.template import shipped, version
from heedful.models.base import Sampling

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Constraint, Message, Sample
    from heedful.models.base import Completion, Model

_PARSER = 2
_TEXTS = ("likelihood.en.txt", "likelihood.zh.txt")
_YES = (
    "yes", "yep", "yeah", "是", "是的", "满足", "满足了", "滿足", "符合", "符合要求", "对", "对的",
    "没错",
)  # fmt: skip
_NO = (
    "no", "nope", "not", "否", "不", "不是", "不是的", "不满足", "不滿足", "不符合", "不对", "不行",
    "没", "没有", "没有满足", "没满足", "沒有", "未", "未满足", "未能", "并不", "并非", "并未",
    "并没有", "非",
)  # fmt: skip
"""Answers: a token is taken for the one that it is, or that it begins."""
_LEAST = 1e-300
"""The smallest probability, so that odds stay finite."""
_ROUNDING = 1e-6
"""How far from 1 the probabilities of all tokens may be: servers compute in single precision."""
_AROUND = " \t\n\"'*_`#([{“‘「.:：▁Ġ,;!，。；！)]}”’」"
"""Signs that tokenizers and models put around a word."""

ALTERNATIVES = 20
"""First tokens whose probabilities are requested: OpenAI's API gives no more."""

TIE = 1e-9
"""Log-odds that are 0 but for rounding."""

LEAST_MASS = 0.25
"""Probability that yes and no must have together: else the model would say something else."""


class Likelihood:
    """Asks about each constraint by itself, and reads how likely the model is to answer yes.

    One token is generated, so a call costs little more than its prompt. The judgment is *met* where
    yes is likelier than no; its confidence is the probability of the verdict. A constraint is
    undecided where the server gives no log-probabilities, where both answers are equally likely,
    and where the model would answer with another word. A model that reasons first can't be asked
    this way.

    Those of an untrained model are rarely calibrated. ``scale`` and ``offset``, the coefficient
    and the intercept of a logistic regression of labels on its log-odds, calibrate them.
    """

    def __init__(
        self,
        model: Model,
        *,
        sampling: Sampling | None = None,
        scale: float = 1.0,
        offset: float = 0.0,
        min_confidence: float = 0.0,
    ) -> None:
        if not 0 < scale < math.inf or not math.isfinite(offset):
            raise UsageError(f"a scale of {scale} and an offset of {offset} make no sense")
        self.model = model
        self.name = f"{model.name}/likelihood"
        self.scale = scale
        self.offset = offset
        self.min_confidence = min_confidence
        update = {"temperature": 0.0, "max_tokens": 1, "top_logprobs": ALTERNATIVES}
        self.sampling = (sampling or Sampling()).model_copy(update=update)

    @property
    def config(self) -> Mapping[str, Any]:
        """The model, the prompt with its version, the sampling and the calibration."""
        return {
            "judge": self.name,
            "model": dict(self.model.config),
            "prompt": f"likelihood {_prompt_version()}",
            "sampling": self.sampling.model_dump(mode="json", exclude_defaults=True),
            "scale": self.scale,
            "offset": self.offset,
            **({"min_confidence": self.min_confidence} if self.min_confidence else {}),
        }

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Ask about each constraint, side by side."""
        positions = range(len(sample.checklist)) if requested is None else requested
        constraints = [sample.checklist[position] for position in positions]
        reason = lacking(sample, None)
        if reason is not None:
            return Critique.undecided(constraints, Status.FAILED, reason, self.name)
        reason = unshown(sample, None)
        if reason is not None:
            return Critique.undecided(constraints, Status.UNSUPPORTED, reason, self.name)
        answers = await fan_out(
            [_render(sample, each) for each in constraints],
            lambda _, messages: self._ask(messages),
        )
        return Critique(
            judgments=tuple(judgment for judgment, _ in answers),
            expenses=tuple(cost for _, cost in answers if cost is not None),
        )

    async def _ask(self, messages: Sequence[Message]) -> tuple[Judgment, Expense | None]:
        purpose = Purpose(self.name, tokens=1)
        try:
            completion = await complete(self.model, messages, self.sampling, purpose=purpose)
        except ModelError as error:
            failed = Judgment(status=Status.FAILED, explanation=str(error), judge=self.name)
            return failed, None
        return self._read(completion), expense(completion, purpose)

    def _read(self, completion: Completion) -> Judgment:
        """Read a verdict from the probabilities of the first token."""
        if not completion.first_tokens:
            reason = "the server gave no log-probabilities"
            return Judgment(status=Status.UNPARSED, explanation=reason, judge=self.name)
        odds, mass = log_odds(completion.first_tokens)
        if mass < LEAST_MASS:
            reason = f"yes and no have a probability of {mass:.3f} only"
            return Judgment(status=Status.UNPARSED, explanation=reason, judge=self.name)
        odds = self.scale * odds + self.offset
        if abs(odds) < TIE:
            reason = "yes and no are equally likely"
            return Judgment(status=Status.UNPARSED, explanation=reason, judge=self.name)
        met = 1 / (1 + math.exp(-max(-700.0, min(700.0, odds))))
        confidence = max(met, 1 - met)
        status = Status.MET if odds > 0 else Status.UNMET
        reason = f"met with a probability of {met:.3f}"
        if confidence < self.min_confidence:
            status = Status.UNPARSED
            reason += f", and --min-confidence is {self.min_confidence:g}"
        return Judgment(
            status=status,
            explanation=reason,
            judge=self.name,
            confidence=confidence,
        )


def _prompt_version() -> str:
    """Name the prompts and the parser."""
    return version(_PARSER, *map(shipped, _TEXTS))


def _render(sample: Sample, constraint: Constraint) -> list[Message]:
    """Write the question, in Chinese where the instruction is."""
    language = layout.language_of(layout.last_user_turn(sample))
    template = shipped(f"likelihood.{language}.txt")
    return layout.messages(template, sample, constraint.text, language)


def log_odds(tokens: Mapping[str, float]) -> tuple[float, float]:
    """Read the likeliest first tokens of an answer."""
    yes = no = 0.0
    for token, value in tokens.items():
        answer = _answer(token.strip(_AROUND).casefold())
        if answer is True:
            yes += math.exp(value)
        elif answer is False:
            no += math.exp(value)
    if not yes and not no:
        return 0.0, 0.0
    shown = [math.exp(value) for value in tokens.values()]
    least = min(*shown, max(_ROUNDING, 1 - math.fsum(shown))) / 2
    odds = math.log(max(yes or least, _LEAST)) - math.log(max(no or least, _LEAST))
    return odds, min(1.0, yes + no)


def _answer(word: str) -> bool | None:
    """Tell which answer a word is or begins; ``None`` where it is neither, or may be both."""
    if not word:
        return None
    if word in _YES or word in _NO:
        return word in _YES
    found = {
        met
        for met, answers in ((True, _YES), (False, _NO))
        for each in answers
        if each.startswith(word)
    }
    return found.pop() if len(found) == 1 else None
