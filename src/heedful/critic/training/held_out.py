"""Held-out evaluation: the critic judges samples while it is trained, and is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from heedful.analysis.meta.labels import MET, UNMET, Labelled, collect
from heedful.analysis.meta.measures import measures
from heedful.core.errors import InputError, ModelError, RowError
from heedful.core.nouns import Critique, Judgment, Sample, Status
from heedful.critic.data.left_out import LeftOut
from heedful.critic.training.folder import TEMPERATURE
from heedful.data.formats import memory
from heedful.engine.inputs import encode, items, open_data
from heedful.jobs.results import Scored
from heedful.judges import Measurement, prompts
from heedful.judges.base import confident, facts
from heedful.judges.making import PROMPT
from heedful.judges.prompts.base import CUT_OFF
from heedful.models.base import Sampling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from heedful.core.nouns import Constraint, Message
    from heedful.critic.training.settings import Settings
    from heedful.data.formats.memory import InMemory
    from heedful.engine.inputs import Data
    from heedful.models.base import Completion
    from heedful.models.engine import Draft, Engine

_Request = tuple[int, "Sequence[Constraint]", "Sequence[Message]"]
"""A sample's number, the constraints, and the prompt."""


class HeldOut:
    """Held-out samples with known verdicts: their labels, or those of their final critiques."""

    def __init__(self, data: Data, settings: Settings) -> None:
        """Read the samples."""
        source = open_data(data)
        self.where = "" if source is None else str(source.path)  # the file, or ``""``
        self._prompt = prompts.make(settings.prompt or PROMPT, prompt_file=settings.prompt_file)
        self._measure = Measurement() if settings.measure else None
        self._settings = settings
        self.samples: list[Sample] = []  # those with a label and a response
        self.left_out = LeftOut()  # rows that cannot be used
        for item in items(source or cast("InMemory", data)):
            problem = item.problem if item.value is None else self._problem(item.value)
            if item.value is None or problem is not None:
                self.left_out.add(item.line, item.id, problem or "not read")
            else:
                self.samples.append(item.value)
        self.labelled = Labelled.of(memory.rows(self.samples), "task")  # their labels
        self.samples = [sample for sample in self.samples if sample.id in self.labelled.targets]
        self._check()

    @property
    def digest(self) -> str:
        """Names the samples by what they are."""
        from hashlib import blake2b

        digest = blake2b(digest_size=16)
        for sample in self.samples:
            digest.update(encode(sample).encode("utf-8", "surrogatepass") + b"\n")
        return digest.hexdigest()

    def prompts(self) -> Iterable[Sequence[Message]]:
        """Return the prompt for each sample, all its constraints together."""
        return (self._render(sample, sample.checklist) for sample in self.samples)

    def judge(
        self,
        engine: Engine,
        samples: Sequence[Sample],
        limit: int,
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> list[Critique]:
        """Have the critic judge samples, the likeliest token at each place."""
        requests = [
            request
            for number, sample in enumerate(samples)
            for request in self._requests(number, sample)
        ]
        judged: dict[int, list[Judgment]] = {}
        drafts: list[tuple[int, Draft]] = []
        for place, (_, constraints, messages) in enumerate(requests):
            sampling = Sampling(temperature=0.0, max_tokens=limit)
            try:
                drafts.append((place, engine.draft(messages, sampling, 0, lambda: False)))
            except ModelError as error:
                judged[place] = _undecided(constraints, Status.FAILED, str(error))
        drafts.sort(key=lambda draft: -len(draft[1].prompt))
        for answered, (place, reply) in enumerate(self._answers(engine, drafts), start=1):
            number, constraints, _ = requests[place]
            if reply.cut_off:
                judgments = _undecided(constraints, Status.UNPARSED, CUT_OFF)
            else:
                shown = prompts.Shown.of(samples[number])
                read = prompts.parse(self._prompt, reply.text, constraints, shown)
                judgments = confident(read, reply)
            judged[place] = [
                judgment.model_copy(update={"judge": "critic"}) for judgment in judgments
            ]
            on_progress(answered)
        by_sample: list[list[Judgment]] = [[] for _ in samples]
        for place, (number, _, _) in enumerate(requests):
            by_sample[number] += judged[place]
        return [Critique(judgments=tuple(judgments)) for judgments in by_sample]

    def measure(self, critiques: Sequence[Critique], name: str) -> dict[str, Any]:
        """Measure critiques against the labels, as ``heedful judge-accuracy`` does."""
        rows = [
            Scored(number, sample.id, sample, critique, None)
            for number, (sample, critique) in enumerate(
                zip(self.samples, critiques, strict=True), start=1
            )
        ]
        entry, *_ = collect(name, rows, self.labelled, {})
        measured = measures(entry, self.labelled, "strict", self._settings.seed)
        kept = {name: value for name, value in measured.items() if name not in _OF_RUNS}
        said = [each for counts in entry.confidences.values() for each in counts.elements()]
        return {**kept, TEMPERATURE: temperature(said)} if said else kept

    def _requests(self, number: int, sample: Sample) -> list[_Request]:
        size = self._settings.per_call or len(sample.checklist)
        parts = (
            sample.checklist[start : start + size]
            for start in range(0, len(sample.checklist), size)
        )
        return [(number, part, self._render(sample, part)) for part in parts]

    def _render(self, sample: Sample, constraints: Sequence[Constraint]) -> list[Message]:
        counted = facts(self._measure, sample, constraints)
        return self._prompt.render(sample, constraints, measurements=counted)

    def _answers(
        self, engine: Engine, drafts: Sequence[tuple[int, Draft]]
    ) -> Iterable[tuple[int, Completion]]:
        """Generate in batches, smaller ones once memory runs out."""
        size, at = self._settings.eval_batch_size, 0
        while at < len(drafts):
            batch = drafts[at : at + size]
            try:
                answers = engine.complete([draft for _, draft in batch])
            except MemoryError:
                if size == 1:
                    raise
                size = (size + 1) // 2
                continue
            yield from ((place, answer) for (place, _), answer in zip(batch, answers, strict=True))
            at += len(batch)

    def _problem(self, sample: Sample) -> str | None:
        if not sample.checklist:
            return "the row has no checklist"
        if sample.response is None:
            return "the row has no response"
        try:
            self._prompt.render(sample, sample.checklist)
        except RowError as error:
            return str(error)
        return None

    def _check(self) -> None:
        if not self.samples:
            what = "no held-out sample has a response and known verdicts" + self.left_out.first()
            hint = "give samples with labels, or with final critiques"
            raise InputError(what, where=self.where, hint=hint)
        met, unmet = self.labelled.count(MET), self.labelled.count(UNMET)
        if self._settings.select == "best" and not (met and unmet):
            what = f"all {met + unmet} known verdicts are the same, so no F1 tells critics apart"
            hint = "hold out met and unmet constraints, or give --select last"
            raise InputError(what, where=self.where, hint=hint)


def score(measured: dict[str, Any]) -> float:
    """Score a checkpoint: mean F1, with undecided verdicts counted as wrong.

    A critic that answers little must not win by the little it answers. Where all is decided, this
    is the mean of positive and negative F1 (IF-Critic).
    """
    low = measured["pooled"]["mean_f1"]["bounds"][0]
    return -1.0 if low is None else float(low)


def temperature(said: Sequence[tuple[float, bool]]) -> float:
    """Find what to divide log-odds by, so that confidences are how often verdicts are right.

    The likeliest one (Guo et al. 2017, arXiv 1706.04599) for confidences and whether they were
    right, whose targets are smoothed as Platt's, so that few labels make nothing certain.
    """
    import numpy as np

    confidence, right = np.array(said, dtype=float).T
    hits = right.sum()
    targets = np.where(right > 0, (hits + 1) / (hits + 2), 1 / (len(right) - hits + 2))
    tried = np.geomspace(0.1, 10, 401)
    odds = np.log(confidence / (1 - confidence)) / tried[:, None]
    losses = (np.logaddexp(0, odds) - targets * odds).sum(axis=1)
    return float(tried[losses.argmin()])


_OF_RUNS = {"run", "judge", "votes", "n_samples", "disagreements", "cost", "per_type"}


def _undecided(constraints: Sequence[Constraint], status: Status, reason: str) -> list[Judgment]:
    return list(Critique.undecided(constraints, status, reason, "critic").judgments)
