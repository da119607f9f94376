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
from heedful.core.outputs import atomically, make_folder, write_json
from heedful.critic.data.left_out import LeftOut
from heedful.data.formats import native
from heedful.engine.inputs import items, open_data
from heedful.jobs.results import check_folder

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from heedful.core.nouns import Sample
    from heedful.engine.runner import Item

PARTS = ("sft", "preference")
"""The first part, to fine-tune on, and the second, to sample preferences on."""


class InstructionSplit:
    """A file's samples in two parts, all samples of an instruction in the same."""

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
        self.unplaced = LeftOut()
        self.rows: Counter[str] = Counter()
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
        self.unplaced, self.rows = LeftOut(), Counter()
        for item in self._items():
            sample = _readable(item)
            if sample is None:
                problem = item.problem or "the row has no conversation, so no instruction"
                self.unplaced.add(item.line, item.id, problem)
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
            "unplaced": len(self.unplaced),
            "problems": self.unplaced.problems,
        }

    def write(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Write ``sft.jsonl``, ``preference.jsonl`` and the summary into a folder."""
        path = Path(path)
        make_folder(path)
        names = {part: path / f"{part}.jsonl" for part in PARTS}
        for name in names.values():
            check_folder(name, self._source.files if self._source else ())
        with ExitStack() as stack:
            opened = {part: stack.enter_context(atomically(name)) for part, name in names.items()}
            for part, sample in self:
                opened[part].write(json.dumps(native.write(sample), ensure_ascii=False) + "\n")
        summary = self.summary()
        write_json(path / "summary.json", summary)
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
