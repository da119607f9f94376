"""Splitting data in two parts, for fine-tuning and for preferences, by instruction.

Source: IF-Critic (arXiv 2511.01014) splits 6:4; how is not published. Ours: instructions are ranked
by a hash of the seed and the instruction, and the first six tenths go into the first part. So a
part depends on neither the order nor the ids of the rows, and little on what other rows there are.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.core.errors import InputError, UsageError
from heedful.data.formats import native
from heedful.data.formats.base import atomically, make_folder, write_json
from heedful.engine.inputs import items, open_data
from heedful.jobs.results import PROBLEMS_LISTED, check_folder

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from heedful.core.nouns import Sample
    from heedful.engine.runner import Item

__all__ = ["InstructionSplit"]

PARTS = ("sft", "preference")
"""The first part, to fine-tune on, and the second, to sample preferences on."""


class InstructionSplit:
    """A file's samples in two parts, all samples of an instruction in the same.

    Attributes:
        problems: rows that the last pass could not place, with line and id.
        rows: the last pass's rows in each part.
    """

    def __init__(
        self,
        data: str | os.PathLike[str],
        *,
        share: float = 0.6,
        seed: int = 42,
        format: str | None = None,  # noqa: A002 - the name users know from the command line
    ) -> None:
        """Read the instructions and place them."""
        if not 0 < share < 1:
            raise UsageError(f"share is {share}", hint="give a number between 0 and 1")
        self._source = open_data(data, format=format)
        self.share = share
        self.seed = seed
        self.problems: list[dict[str, Any]] = []
        self.rows: Counter[str] = Counter()
        self.unplaced = 0
        keys = {_rank(sample, seed) for sample in map(_readable, self._items()) if sample}
        if len(keys) < 2:  # noqa: PLR2004 - one part each
            raise InputError(
                f"{len(keys) or 'no'} instruction cannot be split in two",
                where=str(data),
                hint="give rows with a conversation, of at least two instructions",
            )
        first = min(max(round(share * len(keys)), 1), len(keys) - 1)
        self._first = set(sorted(keys)[:first])
        self.instructions = dict(zip(PARTS, (first, len(keys) - first), strict=True))

    def __iter__(self) -> Iterator[tuple[str, Sample]]:
        """Yield each sample with its part, in file order; the tag ``part`` holds it too."""
        self.problems, self.rows, self.unplaced = [], Counter(), 0
        for item in self._items():
            sample = _readable(item)
            if sample is None:
                self.unplaced += 1
                if len(self.problems) < PROBLEMS_LISTED:
                    problem = item.problem or "the row has no conversation, so no instruction"
                    entry = {"line": item.line, "id": item.id, "problem": problem}
                    self.problems.append(entry)
                continue
            part = PARTS[0] if _rank(sample, self.seed) in self._first else PARTS[1]
            self.rows[part] += 1
            yield part, sample.model_copy(update={"tags": sample.tags | {"part": part}})

    def summary(self) -> dict[str, Any]:
        """Sum up the last pass."""
        return {
            "input": [str(path) for path in self._source.files] if self._source else None,
            "share": self.share,
            "seed": self.seed,
            "instructions": self.instructions,
            "rows": {part: self.rows[part] for part in PARTS},
            "unplaced": self.unplaced,
            "problems": self.problems,
        }

    def write(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Write the samples as JSON lines in heedful's own format, and the summary.

        A folder gets ``sft.jsonl`` and ``preference.jsonl``; a path that ends in ``.jsonl`` is one
        file, in which the tag ``part`` tells the rows apart.
        """
        path = Path(path)
        if path.suffix == ".jsonl":
            names = dict.fromkeys(PARTS, path)
        else:
            make_folder(path)
            names = {part: path / f"{part}.jsonl" for part in PARTS}
        for name in names.values():
            check_folder(name, self._source.files if self._source else ())
        with ExitStack() as stack:
            opened = {name: stack.enter_context(atomically(name)) for name in set(names.values())}
            for part, sample in self:
                line = json.dumps(native.write(sample), ensure_ascii=False)
                opened[names[part]].write(line + "\n")
        summary = self.summary()
        single = path.suffix == ".jsonl"
        write_json(path.with_suffix(".summary.json") if single else path / "summary.json", summary)
        return summary

    def _items(self) -> Iterator[Item[Sample]]:
        return items(self._source or ())


def _readable(item: Item[Sample]) -> Sample | None:
    sample = item.value
    return sample if item.problem is None and sample and sample.conversation else None


def _rank(sample: Sample, seed: int) -> bytes:
    """Hash a sample's instruction: what all its turns say, white space alike."""
    turns = [[turn.role, " ".join(turn.content.split())] for turn in sample.conversation]
    return blake2b(json.dumps([seed, turns]).encode(), digest_size=12).digest()
