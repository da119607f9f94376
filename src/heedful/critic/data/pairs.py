"""Preference pairs from critiques that differ only where a sample was wrong.

Source: IF-Critic (arXiv 2511.01014), constraint-level preference optimisation, and its public pair
code. In the published reading the pairs are that code's, text for text, in its order and with its
random choices.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from heedful.core.errors import InputError, RowError, UsageError
from heedful.core.nouns import Status
from heedful.critic.data import mbr
from heedful.critic.data.segments import (
    READINGS,
    Reading,
    Segmented,
    read,
    segmented_prompt,
    spans,
    writer,
)
from heedful.data.formats.base import atomically, write_json
from heedful.engine.inputs import items, open_data
from heedful.jobs.results import PROBLEMS_LISTED, check_folder
from heedful.judges import Measurement, prompts
from heedful.judges.base import facts
from heedful.judges.prompts.base import same_words

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from heedful.core.nouns import Judgment, Message, Recording, Sample
    from heedful.critic.data.segments import Reading, Span, Writer
    from heedful.data.formats.memory import InMemory
    from heedful.engine.inputs import Data
    from heedful.engine.runner import Item
    from heedful.judges.prompts import JudgePrompt


class Reason(StrEnum):
    """Why an item has no pairs."""

    UNREADABLE = "the row cannot be read"
    NO_CHECKLIST = "no checklist"
    NO_RESPONSE = "no response"
    NO_EXPERT = "no expert critique"
    NO_SAMPLES = "no sampled critiques"
    PROMPT = "critiques that are not segments"
    EXPERT_UNPARSED = "the expert critique does not parse"
    OTHER_CHECKLIST = "the expert critique is on another checklist"
    SAMPLES_UNPARSED = "no sampled critique parses and repeats the expert's constraints"
    AGREED = "every sampled critique agrees with the expert"
    NOTHING_RIGHT = "no sampled critique to choose is right where one is wrong"
    DIFFERENT = "the critiques differ outside the segments on which they disagree"

    @property
    def normal(self) -> bool:
        """Whether such an item is as it should be."""
        return self in (Reason.AGREED, Reason.NOTHING_RIGHT)


class NoPairsError(RowError):
    """An item has no pairs; ``reason`` is what it is counted under."""

    def __init__(self, reason: Reason, detail: str = "", *, hint: str = "") -> None:
        self.reason = reason
        super().__init__(f"{reason.value}: {detail}" if detail else reason.value, hint=hint)


@dataclass(frozen=True, slots=True)
class Sampled:
    """A sampled critique."""

    number: int  # its place among the item's samples, from 1
    critique: Segmented  # what it says
    wrong: tuple[int, ...]  # the positions on which it disagrees with the expert


@dataclass(frozen=True, slots=True)
class CritiqueComparison:
    """An item's critiques, read."""

    prompt: JudgePrompt  # of all of them
    expert: Segmented  # the expert's
    samples: tuple[Sampled, ...]  # those that judge the expert's constraints
    unparsed: int  # sampled critiques that leave a constraint undecided
    other_constraints: int  # sampled critiques on other constraints than the expert's

    def right(self, position: int) -> list[Judgment]:
        """Return the sampled judgments on a constraint that agree with the expert."""
        truth = self.expert.judgments[position].status
        judgments = (sampled.critique.judgments[position] for sampled in self.samples)
        return [judgment for judgment in judgments if judgment.status is truth]

    def can_be_righted(self, positions: Iterable[int]) -> bool:
        """Tell whether a sample agrees with the expert on each of these constraints."""
        return all(self.right(position) for position in positions)


def compare(sample: Sample, reading: Reading) -> CritiqueComparison:
    """Read an item's critiques."""
    recording = _recording(sample)
    try:
        prompt = segmented_prompt(recording.prompt)
    except RowError as error:
        raise NoPairsError(Reason.PROMPT, error.what, hint=error.hint) from error
    expert = _expert(sample, recording, prompt, reading)
    samples: list[Sampled] = []
    unparsed = other_constraints = 0
    for number, text in enumerate(recording.others, start=1):
        try:
            critique = read(text, prompt, sample.checklist, reading)
        except InputError:
            unparsed += 1
            continue
        if not critique.same_constraints(expert):
            other_constraints += 1
            continue
        samples.append(Sampled(number, critique, tuple(critique.disagreements(expert))))
    return CritiqueComparison(prompt, expert, tuple(samples), unparsed, other_constraints)


def _recording(sample: Sample) -> Recording:
    if not sample.checklist:
        raise NoPairsError(Reason.NO_CHECKLIST, hint="make one with heedful checklist")
    if sample.response is None:
        raise NoPairsError(Reason.NO_RESPONSE, hint="obtain one with heedful respond")
    recording = sample.recording
    if recording is None or not recording.text:
        hint = "give it as recording.text, or make it with heedful critic filter"
        raise NoPairsError(Reason.NO_EXPERT, hint=hint)
    if not recording.others:
        raise NoPairsError(Reason.NO_SAMPLES, hint="sample them with heedful critic sample")
    return recording


def _expert(
    sample: Sample, recording: Recording, prompt: JudgePrompt, reading: Reading
) -> Segmented:
    try:
        expert = read(recording.text or "", prompt, sample.checklist, reading)
    except InputError as error:
        raise NoPairsError(Reason.EXPERT_UNPARSED, error.what) from error
    checklist = [same_words(constraint.text) for constraint in sample.checklist]
    if [same_words(constraint.text) for constraint in expert.constraints] != checklist:
        raise NoPairsError(Reason.OTHER_CHECKLIST)
    return expert


Method = Literal["constraint-level", "whole-response", "expert", "per-constraint"]
METHODS: tuple[Method, ...] = ("constraint-level", "whole-response", "expert", "per-constraint")
"""How the chosen critique is made; the last three are the baselines of IF-Critic's ablation."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A judgment on which the two critiques of a pair disagree."""

    number: int  # the constraint's number in the critiques, from 1
    constraint: str  # its text
    verdict: Status  # the chosen critique's, and the expert's; the rejected one's is the opposite
    chosen: Span  # where explanation and verdict stand in the chosen text
    rejected: Span  # the same in the rejected text


@dataclass(frozen=True, slots=True)
class PreferencePair:
    """A chosen and a rejected critique on the same prompt."""

    # the item's, with the number of the sampled critique: ``ID#3``; per constraint also the
    # constraint's: ``ID#3.2``
    id: str
    sample: str  # the item's id
    method: Method  # how the chosen critique was made
    prompt_name: str  # the prompt that was rendered, and whose parser reads the critiques
    prompt_version: str  # of that prompt's text and parser
    prompt: tuple[Message, ...]  # the messages to the critic
    chosen: str  # the critique to prefer
    rejected: str  # the sampled critique
    segments: tuple[Segment, ...]  # on what they disagree
    # whether the prompt's parser reads both critiques as meant. In the published reading a critique
    # may state a constraint in other words than the checklist's, which the parser refuses
    strict: bool
    measure: bool = False  # whether counts of code stand in the prompt

    def record(self) -> dict[str, Any]:
        """Lay it out as a line of the output."""
        return {
            "id": self.id,
            "sample": self.sample,
            "method": self.method,
            "prompt_name": self.prompt_name,
            "prompt_version": self.prompt_version,
            **({"measure": True} if self.measure else {}),
            "prompt": [
                message.model_dump(mode="json", exclude_defaults=True) for message in self.prompt
            ],
            "chosen": self.chosen,
            "rejected": self.rejected,
            "segments": [
                {
                    "number": segment.number,
                    "constraint": segment.constraint,
                    "verdict": segment.verdict.value,
                    "chosen": list(segment.chosen),
                    "rejected": list(segment.rejected),
                }
                for segment in self.segments
            ],
        }


class Agreement:
    """A 2×2 table of verdicts: the expert's by the sampled critique's."""

    def __init__(self) -> None:
        self._cells: Counter[tuple[Status, Status]] = Counter()

    def add(self, expert: Segmented, sampled: Segmented) -> None:
        """Count the verdicts of two critiques on the same constraints."""
        for truth, said in zip(expert.judgments, sampled.judgments, strict=True):
            self._cells[truth.status, said.status] += 1

    def result(self) -> dict[str, Any]:
        """Lay out the table and the two F1, as IF-Critic's meta-evaluation defines them.

        Positive F1 takes ``met`` for the positive class, negative F1 ``unmet``; the expert is the
        truth. ``None`` where neither side has the class.
        """
        table = {
            f"expert_{truth.value}": {
                f"sampled_{said.value}": self._cells[truth, said]
                for said in (Status.MET, Status.UNMET)
            }
            for truth in (Status.MET, Status.UNMET)
        }
        return {
            "verdicts": self._cells.total(),
            **table,
            "positive_f1": self._f1(Status.MET),
            "negative_f1": self._f1(Status.UNMET),
        }

    def _f1(self, positive: Status) -> float | None:
        """Compute 2 TP / (2 TP + FP + FN)."""
        hits = self._cells[positive, positive]
        misses = sum(
            count
            for (truth, said), count in self._cells.items()
            if truth is not said and positive in (truth, said)
        )
        return 2 * hits / (2 * hits + misses) if hits + misses else None


class PairCounts:
    """Counts one pass over the items."""

    def __init__(self) -> None:
        self._with_pairs = 0
        self._reasons: Counter[str] = Counter()
        self._problems: list[dict[str, Any]] = []
        self._broken = 0
        self._critiques: Counter[str] = Counter(compared=0, unparsed=0, other_constraints=0)
        self._pairs = 0
        self._loose = 0
        self._chosen: Counter[Status] = Counter()
        self._agreement = Agreement()

    def without(self, line: int, name: str | None, error: NoPairsError) -> None:
        """Count an item without pairs; name it where something is wrong with it."""
        self._reasons[error.reason.value] += 1
        if error.reason.normal:
            return
        self._broken += 1
        if len(self._problems) < PROBLEMS_LISTED:
            self._problems.append({"line": line, "id": name, "problem": str(error)})

    def compared(self, comparison: CritiqueComparison) -> None:
        """Count an item's sampled critiques, and how they agree with the expert's."""
        self._critiques["compared"] += len(comparison.samples)
        self._critiques["unparsed"] += comparison.unparsed
        self._critiques["other_constraints"] += comparison.other_constraints
        for sampled in comparison.samples:
            self._agreement.add(comparison.expert, sampled.critique)

    def item(self) -> None:
        """Count an item with pairs."""
        self._with_pairs += 1

    def pair(self, pair: PreferencePair) -> None:
        """Count a pair, and the verdicts that its segments teach."""
        self._pairs += 1
        self._loose += not pair.strict
        self._chosen.update(segment.verdict for segment in pair.segments)

    def result(self) -> dict[str, Any]:
        """Lay out the counts."""
        return {
            "items": {
                "all": self._with_pairs + self._reasons.total(),
                "with_pairs": self._with_pairs,
                "broken": self._broken,
            },
            "pairs": self._pairs,
            "pairs_not_strict": self._loose,
            "segments": {
                "chosen_met": self._chosen[Status.MET],
                "chosen_unmet": self._chosen[Status.UNMET],
            },
            "without_pairs": dict(self._reasons.most_common()),
            "critiques": {"sampled": self._critiques.total(), **self._critiques},
            "agreement": self._agreement.result(),
            "problems": self._problems,
        }


class Pairs:
    """Pairs made from a file or from samples; iterate to make them, each time the same.

    Attributes:
        counts: what the last pass counted.
    """

    def __init__(  # noqa: PLR0913 - the options of a command
        self,
        data: Data,
        *,
        method: Method = "constraint-level",
        similarity: str = "ratio",
        candidates: int = 1,
        seed: int = 42,
        reading: Reading = "published",
        prompt_file: str | os.PathLike[str] | None = None,
        format: str | None = None,  # noqa: A002 - the name users know from the command line
    ) -> None:
        """Prepare to make pairs."""
        _refuse("method", method, METHODS)
        _refuse("similarity", similarity, mbr.SIMILARITIES)
        _refuse("reading", reading, READINGS)
        if candidates < 1:
            raise UsageError(f"candidates is {candidates}", hint="give at least 1")
        self.method = method
        self.similarity = similarity
        self.candidates = candidates
        self.seed = seed
        self.reading = reading
        self.counts = PairCounts()
        self._prompt_file = None if prompt_file is None else Path(prompt_file)
        self._source = open_data(data, format=format)
        self._rows = cast("InMemory", data) if self._source is None else self._source

    def __iter__(self) -> Iterator[PreferencePair]:
        """Make the pairs in the order of the items, in constant memory."""
        self.counts = PairCounts()
        # One generator for the whole file: with its order and its seed, the published pairs.
        generator = random.Random(self.seed)
        for item in items(self._rows):
            try:
                made = self._of(item, generator)
            except NoPairsError as error:
                self.counts.without(item.line, item.id, error)
                continue
            self.counts.item()
            for pair in made:
                self.counts.pair(pair)
                yield pair

    def summary(self) -> dict[str, Any]:
        """Sum up the last pass."""
        return {
            "input": [str(path) for path in self._source.files] if self._source else None,
            "format": self._source and self._source.format and self._source.format.name,
            "method": self.method,
            "similarity": self.similarity,
            "candidates": self.candidates,
            "seed": self.seed,
            "reading": self.reading,
            **self.counts.result(),
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
            raise NoPairsError(Reason.UNREADABLE, item.problem or "")
        compared = compare(sample, self.reading)
        self.counts.compared(compared)
        taken = _candidates(compared, self.method)
        if len(taken) > self.candidates:
            taken = generator.sample(taken, self.candidates)
        maker = _Maker(
            sample, compared, self.method, self.similarity, self.reading, self._prompt_file
        )
        return [pair for rejected in taken for pair in maker.pairs(rejected)]


def summary_path(pairs: Path) -> Path:
    """Return the file beside pairs that has their summary: ``pairs.summary.json``."""
    return pairs.with_suffix(".summary.json")


def _refuse(option: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise UsageError(f"no such {option}: {value!r}", hint=f"use one of {', '.join(known)}")


def _candidates(compared: CritiqueComparison, method: Method) -> list[Sampled]:
    """Return the samples that can be rejected."""
    if not compared.samples:
        raise NoPairsError(Reason.SAMPLES_UNPARSED)
    wrong = [sampled for sampled in compared.samples if sampled.wrong]
    if not wrong:
        raise NoPairsError(Reason.AGREED)
    if method == "whole-response":
        rejectable = wrong if len(wrong) < len(compared.samples) else []
    elif method == "expert":
        rejectable = wrong
    else:
        rejectable = [sampled for sampled in wrong if compared.can_be_righted(sampled.wrong)]
    if not rejectable:
        raise NoPairsError(Reason.NOTHING_RIGHT)
    return rejectable


class _Maker:
    """Makes the pairs of one item."""

    def __init__(
        self,
        sample: Sample,
        compared: CritiqueComparison,
        method: Method,
        similarity: str,
        reading: Reading,
        prompt_file: Path | None,
    ) -> None:
        self._sample = sample
        self._compared = compared
        self._method = method
        self._similarity = similarity
        self._write: Writer = writer(compared.prompt, reading)
        self._prompt = prompts.make(compared.prompt.name, prompt_file=prompt_file)
        recorded = sample.recording.model_extra if sample.recording else None
        self._measure = Measurement() if (recorded or {}).get("measure") is True else None

    def pairs(self, rejected: Sampled) -> list[PreferencePair]:
        """Make the pairs in which one sample is rejected: one, or one for each constraint."""
        if self._method == "per-constraint":
            return [self._on_one(rejected, position) for position in rejected.wrong]
        name = f"{self._sample.id}#{rejected.number}"
        return [self._pair(name, self._chosen(rejected), rejected.critique, rejected.wrong)]

    def _chosen(self, rejected: Sampled) -> Segmented:
        if self._method == "expert":
            return self._compared.expert
        return self._wholly_right() if self._method == "whole-response" else self._righted(rejected)

    def _righted(self, rejected: Sampled) -> Segmented:
        """Replace each wrong judgment by the pick among the samples' right ones."""
        judgments = list(rejected.critique.judgments)
        for position in rejected.wrong:
            right = self._compared.right(position)
            texts = [judgment.explanation for judgment in right]
            judgments[position] = right[mbr.pick(texts, self._similarity)]
        return Segmented(rejected.critique.constraints, tuple(judgments))

    def _wholly_right(self) -> Segmented:
        """Pick among the samples that agree with the expert throughout."""
        right = [critique.critique for critique in self._compared.samples if not critique.wrong]
        texts = [self._write(critique.judgments, critique.constraints) for critique in right]
        return right[mbr.pick(texts, self._similarity)]

    def _on_one(self, rejected: Sampled, position: int) -> PreferencePair:
        """Make a pair of critiques on a checklist of one constraint."""
        righted = self._righted(rejected)
        cut = slice(position, position + 1)
        chosen, wrong = (
            Segmented(critique.constraints[cut], critique.judgments[cut])
            for critique in (righted, rejected.critique)
        )
        name = f"{self._sample.id}#{rejected.number}.{position + 1}"
        return self._pair(name, chosen, wrong, (0,), positions=cut)

    def _pair(
        self,
        name: str,
        chosen: Segmented,
        rejected: Segmented,
        wrong: Sequence[int],
        positions: slice = slice(None),
    ) -> PreferencePair:
        texts = [
            self._write(critique.judgments, critique.constraints) for critique in (chosen, rejected)
        ]
        places = [spans(critique, wrong, self._write) for critique in (chosen, rejected)]
        if self._method in ("constraint-level", "per-constraint"):
            refuse_other_differences(texts, places)
        segments = tuple(
            Segment(position + 1, rejected.constraints[position].text, verdict, *pair_spans)
            for position, verdict, pair_spans in zip(
                wrong,
                (chosen.judgments[position].status for position in wrong),
                zip(*places, strict=True),
                strict=True,
            )
        )
        constraints = self._sample.checklist[positions]
        counted = facts(self._measure, self._sample, constraints)
        return PreferencePair(
            id=name,
            sample=self._sample.id,
            method=self._method,
            prompt_name=self._prompt.name,
            prompt_version=self._prompt.version,
            prompt=tuple(self._prompt.render(self._sample, constraints, measurements=counted)),
            measure=self._measure is not None,
            chosen=texts[0],
            rejected=texts[1],
            segments=segments,
            strict=all(
                self._reads_back(text, critique, positions)
                for text, critique in zip(texts, (chosen, rejected), strict=True)
            ),
        )

    def _reads_back(self, text: str, critique: Segmented, positions: slice) -> bool:
        read = self._prompt.parse(text, self._sample.checklist[positions])
        return [judgment.status for judgment in read] == [
            judgment.status for judgment in critique.judgments
        ]


def refuse_other_differences(texts: Sequence[str], places: Sequence[Sequence[Span]]) -> None:
    """Refuse two texts that differ outside the given spans."""
    outside = []
    for text, text_spans in zip(texts, places, strict=True):
        starts = [0, *(end for _, end in text_spans)]
        ends = [*(start for start, _ in text_spans), len(text)]
        outside.append([text[start:end] for start, end in zip(starts, ends, strict=True)])
    if outside[0] != outside[1]:
        raise NoPairsError(Reason.DIFFERENT)
