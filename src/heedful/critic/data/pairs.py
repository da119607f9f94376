"""Preference pairs from critiques that differ only where a sample was wrong.

Source: IF-Critic (arXiv 2511.01014), constraint-level preference optimisation, and its public pair
code. In the published reading the pairs are that code's, text for text, in its order and with its
random choices.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from heedful.core.errors import UsageError
from heedful.critic.data import mbr
from heedful.critic.data.candidates import NoPairsError, Reason, compare
from heedful.critic.data.pair_counts import PairCounts
from heedful.critic.data.preferences import METHODS, Method, PreferencePair, Segment
from heedful.critic.data.segments import READINGS, Segmented, spans, writer
from heedful.data.formats.base import atomically, write_json
from heedful.engine.inputs import items, open_data
from heedful.jobs.results import check_folder
from heedful.judges import Measurement, prompts
from heedful.judges.base import facts

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from heedful.core.nouns import Sample
    from heedful.critic.data.candidates import CritiqueComparison, Sampled
    from heedful.critic.data.segments import Reading, Span, Writer
    from heedful.data.formats.memory import InMemory
    from heedful.engine.inputs import Data
    from heedful.engine.runner import Item

__all__ = ["Pairs"]


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

        Returns:
            The summary.

        Raises:
            UsageError: a file cannot be written.
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
