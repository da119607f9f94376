"""Filtering the experts' critiques into one critique of each response, to be learned from.

Every row goes through the stages by itself, durably. Answers are cached, so that a stage can
be left out, moved or changed without repeating other requests.

**Cross-model verification.** A verifier answers two questions on a judgment: is the explanation
correct, and does the verdict follow from it. A judgment that any verifier faults in either is
dropped. Verifiers know neither of each other nor of who judged. Both are asked at once.

**Rule-augmented verification.** Code decides what it can decide, counts what it can count, and the
expert revises its judgments with that. IF-Critic (arXiv 2511.01014) has a model copy out the part
of a response that a limit of length applies to, and counts there; here code knows the parts.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from heedful import verify
from heedful.core.errors import UsageError
from heedful.core.nouns import Judgment, Sample, Status
from heedful.core.outputs import atomically, write_json
from heedful.critic.data import replies, stages
from heedful.critic.data.contrast import found
from heedful.critic.data.experts import SAMPLED
from heedful.critic.data.funnel import Funnel, document
from heedful.critic.data.options import FilterSettings
from heedful.critic.data.stages import READ, WRITE, Drop, FilterItem, Stage
from heedful.engine.options import split_options
from heedful.engine.purpose import EXPLAINED_TOKENS, Purpose
from heedful.engine.runner import together
from heedful.jobs.rows import (
    Addition,
    Recipe,
    RowsJob,
    Task,
    check_rows_output,
    read_and_written,
    without_failure,
)
from heedful.judges import prompts
from heedful.judges.code import Measurement
from heedful.judges.prompts import plain
from heedful.judges.prompts.fence import NOTHING, Shown
from heedful.models.base import Sampling

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from heedful.core.nouns import Message
    from heedful.critic.data.stages import CandidateJudgment
    from heedful.engine.inputs import Data
    from heedful.engine.options import DataOptions
    from heedful.jobs.rows import Generated, Generation
    from heedful.judges.prompts.block_layout import Language
    from heedful.models.base import Model


TOKENS = 80
"""Estimated tokens for verifying a judgment: a sentence or two, and the answers."""

ASSUMED = (
    f"{TOKENS} a judgment that is verified; what follows from the answers, reasoning "
    "and repeated requests come on top"
)

OUTCOME = "filtering"
"""The field of a row with the outcome of each of its judgments."""


class Filtering:
    """The result of filtering, read from the run's store.

    Its ``summary`` says how the run went, with the ``funnel``.
    """

    def __init__(self, generation: Generation, order: Sequence[str], *, partial: bool) -> None:
        """Sum up the rows, in one pass."""
        self._generation = generation
        self.directory = generation.directory
        self.progress = generation.progress
        funnel = Funnel(order, partial=partial)
        for row in generation:
            funnel.add(row)
        self.summary: dict[str, Any] = {**generation.summary, "funnel": funnel.result()}

    def __iter__(self) -> Iterator[Generated]:
        """Yield the rows that were kept, in input order: the final critique is their recording."""
        return (row for row in self._generation if _kept(row))

    def dropped(self) -> Iterator[Generated]:
        """Yield all other rows, in input order: dropped by a stage, or with their ``problem``."""
        return (row for row in self._generation if not _kept(row))

    def write(self, path: Path) -> None:
        """Write the rows that were kept as JSON lines; the file appears when complete."""
        self._generation.write(path, self)

    def write_reports(self, directory: Path) -> None:
        """Write what became of the rest: ``dropped.jsonl``, ``funnel.json``, ``funnel.md``."""
        self._generation.write(directory / "dropped.jsonl", self.dropped())
        write_json(directory / "funnel.json", self.summary["funnel"])
        with atomically(directory / "funnel.md") as file:
            file.write(document(self.summary).markdown())


def _kept(row: Generated) -> bool:
    if row.problem is not None or row.sample is None:
        return False
    return "dropped" not in (row.sample.model_extra or {})[OUTCOME]


def filter_critiques(
    data: Data,
    *,
    verifiers: Sequence[Model] = (),
    expert: Model | None = None,
    settings: FilterSettings | None = None,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[DataOptions],
) -> Filtering:
    """Filter sampled critiques into one critique of each response.

    A kept row is a sample whose ``recording`` has the final critique as its ``text``; its
    field ``filtering`` holds each judgment's outcome: whether it was dropped, by which stage, why.

    The requests of a stage depend on the answers in the one before, so a dry run counts the first
    stage with new requests.

    Args:
        data: what :func:`~heedful.critic.data.experts.sample_critiques` made.
        verifiers: the models that verify the judgments (stage ``cross``).
        expert: the model that revises them, best the one that made them (stage ``rules``).
        settings: of the stages.
        output: where to write the kept rows, as JSON lines.
        options: how the data is read and the job is run, see
            :class:`~heedful.engine.options.DataOptions` and
            :class:`~heedful.engine.options.RunOptions`.

    Returns:
        The rows, and the funnel.

    Raises:
        InputError: the file is missing, empty or in no known format.
        RunError: the run's directory holds a run with other models or of another file.
        StopRunError: no further call can succeed, as with a wrong key.
        UsageError: an option makes no sense, or a stage lacks its model.
    """
    settings = settings or FilterSettings()
    reading, running = split_options(options)
    if output is not None:
        check_rows_output(Path(output), read_and_written(data, running))
    chosen = stages.without(settings.skip)
    makers: dict[str, Callable[[], Stage]] = {  # only stages that run need their models
        "cross": lambda: CrossModelStage(verifiers, settings),
        "rules": lambda: RulesStage(expert, settings),
        "judgment": lambda: stages.MajorityStage(settings),
        "explanation": lambda: stages.ExplanationStage(settings),
    }
    pipeline = [makers[name]() for name in chosen]
    job = RowsJob(data, _recipe(pipeline, partial=settings.partial), **reading)
    result = Filtering(job.run(**running), chosen, partial=settings.partial)
    if result.directory is not None:
        result.write_reports(result.directory)
    if output is not None:
        result.write(Path(output))
    return result


def _recipe(pipeline: Sequence[Stage], *, partial: bool) -> Recipe:
    """Describe the run."""
    order = [stage.name for stage in pipeline]

    async def work(sample: Sample) -> Addition:
        item = FilterItem.read(sample)
        for stage in pipeline:
            await stage.apply(item)
            if item.calls.failures:  # what is left of the evidence decides nothing
                reason = f"{stage.name}: {item.calls.failures[0]}"
                return Addition(problem=reason, expenses=tuple(item.calls.expenses))
        return _addition(item, [READ, *order, WRITE], partial=partial)

    def tasks(sample: Sample) -> Iterator[Task]:
        row = without_failure(sample, SAMPLED)  # the funnel counts it
        yield Task(row, lambda: work(row))

    settings = {"partial": partial, "stages": {stage.name: stage.config for stage in pipeline}}
    names = {model.name for stage in pipeline for model in stage.models}
    return Recipe(
        adds=OUTCOME,
        about={"models": sorted(names), **settings},
        config={"command": "critic filter"},
        assumptions=ASSUMED,
        tasks=tasks,
        settings=settings,
    )


def _addition(item: FilterItem, order: Sequence[str], *, partial: bool) -> Addition:
    """Lay out the outcome of a row, with its final critique in the place of the sampled ones."""
    text = _written(item)
    lost = list(item.losses(order))
    outcome: dict[str, Any] = {
        "critiques": {"requested": item.requested, "given": item.given},
        "constraints": _constraints(item),
    }
    fields: dict[str, Any] = {OUTCOME: outcome}
    settled = item.settled()
    if text is None or (lost and not partial):
        # The first stage that cost a constraint is the reason: later ones saw what it left.
        _, drop = min(lost, key=lambda loss: order.index(loss[1].stage))
        outcome["dropped"] = drop.record() | {"constraints": [at + 1 for at, _ in lost]}
    else:
        fields["recording"] = {"prompt": item.prompt, "text": text}
        if lost:
            fields["checklist"] = [
                item.sample.checklist[position].model_dump(mode="json", exclude_defaults=True)
                for position in settled
            ]
            labels = item.sample.labels
            fields["labels"] = labels and [labels[position] for position in settled]
    return Addition(fields=fields, expenses=tuple(item.calls.expenses))


def _written(item: FilterItem) -> str | None:
    """Write the final critique on the constraints that are left; what cannot be read is dropped."""
    settled = item.settled()
    if not settled:
        return None
    prompt = prompts.make(item.prompt)
    constraints = [item.sample.checklist[position] for position in settled]
    judgments = [item.left(position)[0].judgment for position in settled]
    text = prompt.write(judgments, constraints)
    read = prompt.parse(text, constraints)
    if [judgment.status for judgment in read] == [judgment.status for judgment in judgments]:
        return text
    for position in settled:
        item.left(position)[0].drop = Drop(WRITE, "cannot be written so that it can be read")
    return None


def _constraints(item: FilterItem) -> list[dict[str, Any]]:
    """Lay out the outcome of the judgments on each constraint."""
    laid_out = []
    for position, candidates in enumerate(item.candidates):
        left = item.left(position)
        fields: dict[str, Any] = {
            "type": item.sample.checklist[position].type,
            "status": left[0].status.value if left else None,
            "sample_index": left[0].sample_index if left else None,
            "confidence": item.confidence[position],
            "counted": item.facts[position],
            "judgments": [candidate.record() for candidate in candidates],
        }
        laid_out.append({name: value for name, value in fields.items() if value is not None})
    return laid_out


_PARSER = 4
_VERIFICATION, _REVISION = "verification", "revision"
_ANSWER = re.compile(
    r"^(?:[^\S\n]|[*_#-])*+(?:(?P<correct>explanation|分析)|(?P<follows>verdict|结论))"
    r"[\s*_]*[:：][\s*_`]*+(?P<word>\w(?:[\w ]*[^\W_])??)[\s*_`.。!！]*$",
    re.MULTILINE | re.IGNORECASE,
)
_WORDS = {
    "correct": True,
    "incorrect": False,
    "not correct": False,
    "follows": True,
    "does not follow": False,
    "正确": True,
    "不正确": False,
    "一致": True,
    "不一致": False,
}
_LABELS: dict[Language, tuple[str, str, str, str]] = {
    "en": ("JUDGMENT", "Constraint", "Explanation", "Verdict"),
    "zh": ("判断", "要求", "分析", "结论"),
}
_VERDICTS: dict[Language, dict[Status, str]] = {
    "en": {Status.MET: "MET", Status.UNMET: "UNMET"},
    "zh": {Status.MET: "满足", Status.UNMET: "不满足"},
}


class Opinion(NamedTuple):
    """A verifier's opinion of a judgment."""

    correct: bool  # the explanation is correct
    follows: bool  # the verdict follows from it
    said: str  # why


class CrossModelStage(Stage):
    """Has models verify the judgments, both questions at once."""

    name = "cross"

    def __init__(self, verifiers: Sequence[Model], settings: FilterSettings) -> None:
        """Take the verifiers."""
        if not verifiers:
            raise UsageError("there is no verifier", hint="name a verifier, or skip cross")
        self.models = tuple(verifiers)
        self._sampling = settings.sampling or Sampling()
        self.config = {
            "verifiers": [dict(model.config) for model in self.models],
            "prompt": replies.prompt_version(_PARSER, _VERIFICATION),
            "sampling": self._sampling.model_dump(mode="json", exclude_defaults=True),
        }

    async def apply(self, item: FilterItem) -> None:
        """Drop what a verifier faults, and what plainly contradicts itself."""
        for candidates in item.by_sample().values():
            for candidate in candidates.values():
                if (candidate.judgment.model_extra or {}).get("contradiction"):
                    candidate.drop = Drop(self.name, "verdict does not follow", by="code")
        requests = [(model, group) for group in item.by_sample().values() for model in self.models]
        opinions = await together(self._ask(item, *each) for each in requests)
        for (model, group), opinion in zip(requests, opinions, strict=True):
            for position, candidate in group.items():
                if candidate.drop is None:  # the first verifier's fault counts
                    candidate.drop = self._drop(opinion.get(position), model.name)

    async def _ask(
        self,
        item: FilterItem,
        model: Model,
        group: Mapping[int, CandidateJudgment],
    ) -> dict[int, Opinion]:
        language = replies.language_of(item.sample)

        def render(positions: Sequence[int]) -> list[Message]:
            items = [
                described(number, item, position, group[position], language)
                for number, position in enumerate(positions, start=1)
            ]
            return replies.prompt(_VERIFICATION, item.sample, items, language)

        return await item.calls.ask(
            model,
            self._sampling,
            list(group),
            render,
            parse,
            Purpose(f"verification by {model.name}", tokens=TOKENS),
        )

    def _drop(self, opinion: Opinion | None, by: str) -> Drop | None:
        if opinion is None:
            return Drop(self.name, "not verified", by=by, said="the verifier's reply has no answer")
        if not opinion.correct:
            return Drop(self.name, "explanation is wrong", by=by, said=opinion.said)
        if not opinion.follows:
            return Drop(self.name, "verdict does not follow", by=by, said=opinion.said)
        return None


def described(
    number: int, item: FilterItem, position: int, candidate: CandidateJudgment, language: Language
) -> tuple[str, str]:
    """Write a judgment as an item of a prompt: its label and its text."""
    label, constraint, explanation, verdict = _LABELS[language]
    colon = "：" if language == "zh" else ": "
    lines = (
        f"{constraint}{colon}{item.sample.checklist[position].text}",
        f"{explanation}{colon}{candidate.judgment.explanation}",
        f"{verdict}{colon}{_VERDICTS[language][candidate.status]}",
    )
    return f"{label} {number}", "\n".join(lines)


def parse(text: str, positions: Sequence[int], shown: Shown = NOTHING) -> dict[int, Opinion]:
    """Read a verifier's reply."""
    opinions = {}
    for position, block in replies.blocks(text, positions, shown).items():
        words: dict[str, list[bool]] = {"correct": [], "follows": []}
        ends = len(block)
        for answer in _ANSWER.finditer(block):
            word = " ".join(answer["word"].split()).casefold()
            ends = min(ends, answer.start())
            if word in _WORDS:
                words["correct" if answer["correct"] else "follows"].append(_WORDS[word])
        if all(len(given) == 1 for given in words.values()):
            said = block[: replies.marked_start(block, ends)].strip()
            opinions[position] = Opinion(words["correct"][0], words["follows"][0], said)
    return opinions


# --- rules ---------------------------------------------------------------------------------------


_RULES_PARSER = 3
_REVEALING = re.compile(
    r"count(?:s|ed)? (?:by|from) (?:the )?(?:code|program|tool|script)"
    r"|(?:given|provided|supplied) counts?\b|counts? (?:given|provided|supplied)"
    r"|\bI (?:was|have been) (?:told|given|informed)\b"
    r"|\bmy (?:earlier|previous|original|initial) (?:judge?ment|verdict|explanation)"
    r"|(?:提供|给出|给定|附上|程序)的?(?:统计|计数|字数|数字|数据)"
    r"|(?:此前|之前|原先|原来|先前)的?(?:判断|结论|分析)(?:有误|错误|不正确|不准确)",
    re.IGNORECASE,
)


class RulesStage(Stage):
    """Counts, and has the expert correct its judgments by the counts."""

    name = "rules"

    def __init__(self, expert: Model | None, settings: FilterSettings) -> None:
        """Name the model that revises."""
        if expert is None:
            raise UsageError(
                "there is no model to revise judgments", hint="name one, or skip rules"
            )
        self._expert = expert
        self._measure = Measurement()
        self.models = (expert,)
        self._sampling = settings.sampling or Sampling()
        self.config = {
            "expert": dict(expert.config),
            "prompt": replies.prompt_version(_RULES_PARSER, _REVISION),
            "measure": self._measure.version,
            "sampling": self._sampling.model_dump(mode="json", exclude_defaults=True),
        }

    async def apply(self, item: FilterItem) -> None:
        """Revise what can be counted; drop what cannot be revised, and what code contradicts."""
        response = verify.Response(item.sample.response or "")
        for position, constraint in enumerate(item.sample.checklist):
            finding = found(constraint, response)
            counted = self._measure(item.sample, constraint) if finding is None else finding.found
            item.facts[position] = counted
        groups = [
            {at: candidate for at, candidate in candidates.items() if item.facts[at] is not None}
            for candidates in item.by_sample().values()
        ]
        await together(self._revise(item, group) for group in groups if group)

    async def _revise(self, item: FilterItem, group: Mapping[int, CandidateJudgment]) -> None:
        """Ask the expert to revise one critique's judgments on counted constraints."""
        language = replies.language_of(item.sample)

        def render(positions: Sequence[int]) -> list[Message]:
            items = [
                _with_fact(number, item, position, group[position], language)
                for number, position in enumerate(positions, start=1)
            ]
            return replies.prompt(_REVISION, item.sample, items, language)

        def parse(text: str, positions: Sequence[int], shown: Shown) -> dict[int, Judgment]:
            constraints = [item.sample.checklist[position] for position in positions]
            read = zip(positions, plain.parse(text, constraints, shown), strict=True)
            return {at: judgment for at, judgment in read if _sound(judgment)}

        revised = await item.calls.ask(
            self._expert,
            self._sampling,
            list(group),
            render,
            parse,
            Purpose(f"revision by {self._expert.name}", tokens=EXPLAINED_TOKENS),
        )
        for position, candidate in group.items():
            self._settle(item, position, candidate, revised.get(position))

    def _settle(
        self,
        item: FilterItem,
        position: int,
        candidate: CandidateJudgment,
        revised: Judgment | None,
    ) -> None:
        """Put a revised judgment in the place of the old one."""
        if revised is None:
            said = "the reply has no verdict, contradicts it, or mentions the given counts"
            candidate.drop = Drop(self.name, "not revised", by=self._expert.name, said=said)
            return
        candidate.was, candidate.judgment = candidate.status, revised
        constraint = item.sample.checklist[position]
        finding = found(constraint, verify.Response(item.sample.response or ""))
        if finding is not None and finding.met != (revised.status is Status.MET):
            candidate.drop = Drop(self.name, "against the count", by="code", said=finding.found)


def _sound(judgment: Judgment) -> bool:
    """Tell whether a revised judgment can be used as it is."""
    contradictory = (judgment.model_extra or {}).get("contradiction", False)
    return (
        judgment.status.decided and not contradictory and not reveals_counting(judgment.explanation)
    )


def reveals_counting(explanation: str) -> bool:
    """Tell whether an explanation says that it was given the counts, in English or Chinese.

    >>> reveals_counting("Per the provided count: 12."), reveals_counting("It has 12 words.")
    (True, False)
    """
    return bool(_REVEALING.search(explanation))


def _with_fact(
    number: int,
    item: FilterItem,
    position: int,
    candidate: CandidateJudgment,
    language: Language,
) -> tuple[str, str]:
    """Write what was counted below a judgment."""
    label, text = described(number, item, position, candidate, language)
    counted = "程序统计：" if language == "zh" else "Counted exactly: "
    return label, f"{text}\n{counted}{item.facts[position]}"
