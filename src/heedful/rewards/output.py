"""Output of policy data: one file of JSON lines, or a data set for a training tool."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.core.errors import UsageError
from heedful.data import training_sets as dataset
from heedful.data.formats.base import atomically
from heedful.jobs.results import check_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from heedful.data.training_sets import Example
    from heedful.rewards.groups import Judged


class PolicyOutput:
    """An output that is checked before anything is read."""

    def __init__(self, output: str | os.PathLike[str], to: str | None, data: Judged) -> None:
        """Check the output, and make the folder of a data set."""
        self._file = Path(output)
        self._dataset: dataset.Dataset | None = None
        inputs = [data] if isinstance(data, str | os.PathLike) else data
        if to is not None:
            self._dataset = dataset.take(output, to, [Path(path) for path in inputs])
        elif self._file.is_dir():
            hint = "name a .jsonl file, or say with --to for which tool"
            raise UsageError("this is a folder", where=str(output), hint=hint)
        else:
            check_folder(self._file, inputs)

    def write(
        self, examples: Iterable[Example], sections: Callable[[], Sequence[str]], *, pairs: bool
    ) -> None:
        """Write examples, and the card of a data set with the sections that are made at the end."""
        if self._dataset is None:
            self.write_lines(map(dataset.LAYOUTS["trl"], examples))
            return
        kind = "Preference pairs of responses" if pairs else "The best responses by a reward"
        what = f"{kind}, for training a policy to meet the constraints of its instructions"
        dataset.write(self._dataset, examples, what, sections, pairs=pairs)

    def write_lines(self, records: Iterable[dict[str, Any]]) -> None:
        """Write records as JSON lines."""
        with atomically(self._file) as file:
            for record in records:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
