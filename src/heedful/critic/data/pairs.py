"""Preference pairs from critiques that differ only where a sample was wrong.

Source: IF-Critic (arXiv 2511.01014), constraint-level preference optimisation, and its public pair
code, whose pairs come out text for text, in its order and with its random choices.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

from heedful.core.errors import InputError, RowError, UsageError
from heedful.core.nouns import Judgment, Status
from heedful.core.outputs import atomically, write_json
from heedful.core.text import common_prefix
from heedful.critic.data import mbr
from heedful.critic.data.left_out import LeftOut
from heedful.engine.inputs import items, open_data
from heedful.jobs.results import check_folder
from heedful.judges import Measurement, prompts
from heedful.judges.base import facts

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from heedful.core.nouns import Constraint, Message, Recording, Sample
    from heedful.data.formats.memory import InMemory
    from heedful.engine.inputs import Data
    from heedful.engine.runner import Item
    from heedful.judges.prompts import JudgePrompt

Method = Literal["constraint-level", "whole-response", "expert"]
METHODS: tuple[Method, ...] = ("constraint-level", "whole-response", "expert")
"""How the chosen critique is made; the last two are the baselines of IF-Critic's ablation."""

SEGMENTED = ("if_critic", "plain", "short", "structured")
"""The prompts whose critiques are segments and nothing else. AdvancedIF's also sum up the whole,
and CFBench's have no explanations."""

Judgments: TypeAlias = "tuple[Judgment, ...]"
"""A critique: a decided judgment on each constraint."""

Span: TypeAlias = "tuple[int, int]"
"""Where something starts and ends, in characters of a text; the end is behind it."""


class NoPairsError(RowError):
    """An item gives no pairs; ``reason`` is what it is counted under."""

    def __init__(
        self, reason: str, detail: str = "", *, hint: str = "", in_order: bool = False
    ) -> None:
        self.reason = reason
        self.in_order = in_order  # nothing is wrong with the item
        super().__init__(f"{reason}: {detail}" if detail else reason, hint=hint)


class Sampled(NamedTuple):
    """A sampled critique."""

    number: int  # its place among the item's samples, from 1
    critique: Judgments  # what it says
    wrong: tuple[int, ...]  # the positions on which it disagrees with the expert


@dataclass(frozen=True, slots=True)
class CritiqueComparison:
    """An item's critiques, read."""

    prompt: JudgePrompt  # of all of them
    checklist: tuple[Constraint, ...]
    expert: Judgments  # the expert's
    samples: tuple[Sampled, ...]  # those that decide all constraints
    unparsed: int  # sampled critiques that leave a constraint undecided

    def right(self, position: int) -> list[Judgment]:
        """Return the sampled judgments on a constraint that agree with the expert."""
        truth = self.expert[position].status
        judgments = (sampled.critique[position] for sampled in self.samples)
        return [judgment for judgment in judgments if judgment.status is truth]


def compare(sample: Sample) -> CritiqueComparison:
    """Read an item's critiques."""
    recording = _recording(sample)
    prompt = prompts.make(recording.prompt)
    try:
        expert = _read(recording.text or "", prompt, sample.checklist)
    except InputError as error:
        raise NoPairsError("the expert critique does not parse", error.what) from error
    samples: list[Sampled] = []
    for number, text in enumerate(recording.others, start=1):
        try:
            critique = _read(text, prompt, sample.checklist)
        except InputError:
            continue
        both = enumerate(zip(critique, expert, strict=True))
        wrong = tuple(at for at, (mine, truth) in both if mine.status is not truth.status)
        samples.append(Sampled(number, critique, wrong))
    unparsed = len(recording.others) - len(samples)
    return CritiqueComparison(prompt, sample.checklist, expert, tuple(samples), unparsed)


def _read(text: str, prompt: JudgePrompt, checklist: Sequence[Constraint]) -> Judgments:
    judgments = tuple(prompt.parse(text, checklist))
    for judgment in judgments:
        if not judgment.status.decided:
            raise InputError(judgment.explanation)
    return judgments


def _recording(sample: Sample) -> Recording:
    if not sample.checklist:
        raise NoPairsError("no checklist", hint="make one with heedful checklist")
    if sample.response is None:
        raise NoPairsError("no response", hint="obtain one with heedful respond")
    recording = sample.recording
    if recording is None or not recording.text:
        hint = "give it as recording.text, or make it with heedful critic filter"
        raise NoPairsError("no expert critique", hint=hint)
    if not recording.others:
        raise NoPairsError("no sampled critiques", hint="sample them with heedful critic sample")
    if recording.prompt not in SEGMENTED:
        raise NoPairsError(
            "critiques that are not segments",
            f"critiques by the prompt {recording.prompt} cannot be taken apart by constraint",
            hint=f"sample them in one of {', '.join(SEGMENTED)}",
        )
    return recording


class Segment(NamedTuple):
    """A judgment on which the two critiques of a pair disagree."""

    number: int  # the constraint's number in the critiques, from 1
    constraint: str  # its text
    verdict: Status  # the chosen critique's, and the expert's; the rejected one's is the opposite
    chosen: Span  # where explanation and verdict stand in the chosen text
    rejected: Span  # the same in the rejected text


class PreferencePair(NamedTuple):
    """A chosen and a rejected critique on the same prompt."""

    # the item's, with the number of the sampled critique: ``ID#3``
    id: str
    sample: str  # the item's id
    method: Method  # how the chosen critique was made
    prompt_name: str  # the prompt that was rendered, and whose parser reads the critiques
    prompt_version: str  # of that prompt's text and parser
    measure: bool  # whether counts of code stand in the prompt
    prompt: tuple[Message, ...]  # the messages to the critic
    chosen: str  # the critique to prefer
    rejected: str  # the sampled critique
    segments: tuple[Segment, ...]  # on what they disagree

    def record(self) -> dict[str, Any]:
        """Lay it out as a line of the output."""
        fields = self._asdict() | {
            "prompt": [
                message.model_dump(mode="json", exclude_defaults=True) for message in self.prompt
            ],
            "segments": [segment._asdict() for segment in self.segments],
        }
        if not self.measure:
            del fields["measure"]
        return fields


class Pairs:
    """Pairs made from a file or from samples; iterate to make them, each time the same."""

    def __init__(
        self,
        data: Data,
        *,
        method: Method = "constraint-level",
        similarity: str = "ratio",
        candidates: int = 1,
        seed: int = 42,
        prompt_file: str | os.PathLike[str] | None = None,
        format: str | None = None,  # noqa: A002 - the name users know from the command line
    ) -> None:
        """Prepare to make pairs."""
        if method not in METHODS:
            hint = f"use one of {', '.join(METHODS)}"
            raise UsageError(f"no such method: {method!r}", hint=hint)
        mbr.refuse_unknown(similarity)
        if candidates < 1:
            raise UsageError(f"candidates is {candidates}", hint="give at least 1")
        self.method = method
        self.similarity = similarity
        self.candidates = candidates
        self.seed = seed
        self._prompt_file = None if prompt_file is None else Path(prompt_file)
        self._source = open_data(data, format=format)
        self._rows = cast("InMemory", data) if self._source is None else self._source
        self._begin()

    def _begin(self) -> None:
        """Forget what an earlier pass counted."""
        self._left_out = LeftOut()  # with a problem where something is wrong with the item
        self._counts: Counter[str] = Counter()
        self._critiques: Counter[str] = Counter(compared=0, unparsed=0)
        self._taught: Counter[Status] = Counter()
        self._verdicts: Counter[tuple[Status, Status]] = Counter()  # the expert's, a sample's

    def __iter__(self) -> Iterator[PreferencePair]:
        """Make the pairs in the order of the items, in constant memory."""
        self._begin()
        # One generator for the whole file: with its order and its seed, the published pairs.
        generator = random.Random(self.seed)
        for item in items(self._rows):
            try:
                made = self._of(item, generator)
            except NoPairsError as error:
                if error.in_order:
                    self._left_out.reasons[error.reason] += 1
                else:
                    self._counts["broken"] += 1
                    self._left_out.add(item.line, item.id, str(error), error.reason)
                continue
            self._counts["with pairs"] += 1
            for pair in made:
                self._counts["pairs"] += 1
                self._taught.update(segment.verdict for segment in pair.segments)
                yield pair

    def summary(self) -> dict[str, Any]:
        """Sum up the last pass."""
        counts, taught = self._counts, self._taught
        return {
            "input": [str(path) for path in self._source.files] if self._source else None,
            "format": self._source and self._source.format and self._source.format.name,
            "method": self.method,
            "similarity": self.similarity,
            "candidates": self.candidates,
            "seed": self.seed,
            "items": {
                "all": counts["with pairs"] + len(self._left_out),
                "with_pairs": counts["with pairs"],
                "broken": counts["broken"],
            },
            "pairs": counts["pairs"],
            "segments": {"chosen_met": taught[Status.MET], "chosen_unmet": taught[Status.UNMET]},
            "without_pairs": dict(self._left_out.reasons.most_common()),
            "critiques": {"sampled": self._critiques.total(), **self._critiques},
            "agreement": _agreement(self._verdicts),
            "problems": self._left_out.problems,
        }

    def write(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Write the pairs as JSON lines, and the summary beside them.

        The summary of ``pairs.jsonl`` is ``pairs.summary.json``. Both appear when complete.
        """
        path = Path(path)
        check_folder(path, self._source.files if self._source else ())
        with atomically(path) as file:
            for pair in self:
                file.write(json.dumps(pair.record(), ensure_ascii=False) + "\n")
        summary = self.summary()
        write_json(summary_path(path), summary)
        return summary

    def _of(self, item: Item[Sample], generator: random.Random) -> list[PreferencePair]:
        """Make an item's pairs."""
        sample = item.value
        if sample is None or item.problem is not None:
            raise NoPairsError("the row cannot be read", item.problem or "")
        compared = compare(sample)
        self._critiques["compared"] += len(compared.samples)
        self._critiques["unparsed"] += compared.unparsed
        for sampled in compared.samples:
            both = zip(compared.expert, sampled.critique, strict=True)
            self._verdicts.update((truth.status, said.status) for truth, said in both)
        taken = _candidates(compared, self.method)
        if len(taken) > self.candidates:
            taken = generator.sample(taken, self.candidates)
        return [self._pair(sample, compared, rejected) for rejected in taken]

    def _chosen(self, compared: CritiqueComparison, rejected: Sampled) -> Judgments:
        if self.method == "expert":
            return compared.expert
        if self.method == "whole-response":
            right = [sampled.critique for sampled in compared.samples if not sampled.wrong]
            texts = [compared.prompt.write(each, compared.checklist) for each in right]
            return right[mbr.pick(texts, self.similarity)]
        judgments = list(rejected.critique)
        for position in rejected.wrong:
            agreeing = compared.right(position)
            texts = [judgment.explanation for judgment in agreeing]
            judgments[position] = agreeing[mbr.pick(texts, self.similarity)]
        return tuple(judgments)

    def _pair(
        self,
        sample: Sample,
        compared: CritiqueComparison,
        sampled: Sampled,
    ) -> PreferencePair:
        """Make a pair of critiques."""
        chosen, rejected, wrong = self._chosen(compared, sampled), sampled.critique, sampled.wrong
        name, checklist = f"{sample.id}#{sampled.number}", sample.checklist

        def write(judgments: Sequence[Judgment]) -> str:
            return compared.prompt.write(judgments, checklist)

        prompt = prompts.make(compared.prompt.name, prompt_file=self._prompt_file)
        recorded = sample.recording.model_extra if sample.recording else None
        measure = Measurement() if (recorded or {}).get("measure") is True else None
        counted = facts(measure, sample, checklist)
        return PreferencePair(
            id=name,
            sample=sample.id,
            method=self.method,
            prompt_name=prompt.name,
            prompt_version=prompt.version,
            measure=measure is not None,
            prompt=tuple(prompt.render(sample, checklist, measurements=counted)),
            chosen=write(chosen),
            rejected=write(rejected),
            segments=tuple(
                Segment(
                    position + 1,
                    checklist[position].text,
                    chosen[position].status,
                    span(chosen, position, write),
                    span(rejected, position, write),
                )
                for position in wrong
            ),
        )


def span(critique: Judgments, position: int, write: Callable[[Sequence[Judgment]], str]) -> Span:
    """Find a judgment in the critique's text, by what changes when two others replace it.

    It begins where the explanation does and ends with the line that states the verdict.
    """
    probes = []
    for status, explanation in ((Status.MET, "\ue000"), (Status.UNMET, "\ue001")):
        other = Judgment(status=status, explanation=explanation)
        probes.append(write([*critique[:position], other, *critique[position + 1 :]]))
    start = common_prefix(*probes)
    # The two verdicts may end alike; the rest of their line belongs to them.
    behind = common_prefix(*(probe[::-1] for probe in probes))
    line_end = probes[0].find("\n", len(probes[0]) - behind)
    tail = len(probes[0]) - line_end if line_end >= 0 else 0
    return start, len(write(critique)) - tail


def summary_path(pairs: Path) -> Path:
    """Return the file beside pairs that has their summary: ``pairs.summary.json``."""
    return pairs.with_suffix(".summary.json")


def _candidates(compared: CritiqueComparison, method: Method) -> list[Sampled]:
    """Return the samples that can be rejected."""
    if not compared.samples:
        raise NoPairsError("no sampled critique parses")
    wrong = [sampled for sampled in compared.samples if sampled.wrong]
    if not wrong:
        raise NoPairsError("every sampled critique agrees with the expert", in_order=True)
    if method == "whole-response":
        rejectable = wrong if len(wrong) < len(compared.samples) else []
    elif method == "expert":
        rejectable = wrong
    else:
        rejectable = [sampled for sampled in wrong if all(map(compared.right, sampled.wrong))]
    if not rejectable:
        reason = "no sampled critique to choose is right where one is wrong"
        raise NoPairsError(reason, in_order=True)
    return rejectable


def _agreement(verdicts: Counter[tuple[Status, Status]]) -> dict[str, Any]:
    """Lay out the verdicts and the two F1, as IF-Critic's meta-evaluation defines them.

    Positive F1 takes ``met`` for the positive class, negative F1 ``unmet``; the expert is the
    truth. ``None`` where neither side has the class.
    """
    met, unmet = Status.MET, Status.UNMET
    wrong = verdicts[met, unmet] + verdicts[unmet, met]

    def f1(hits: int) -> float | None:
        return 2 * hits / (2 * hits + wrong) if hits + wrong else None

    table = {
        f"expert_{truth.value}": {
            f"sampled_{said.value}": verdicts[truth, said] for said in (met, unmet)
        }
        for truth in (met, unmet)
    }
    return {
        "verdicts": verdicts.total(),
        **table,
        "positive_f1": f1(verdicts[met, met]),
        "negative_f1": f1(verdicts[unmet, unmet]),
    }
