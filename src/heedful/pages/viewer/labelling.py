"""Labels that a person gives while reading a run, for ``meta`` and ``calibrate``: a file beside it.

The file is ``RUN.labels.jsonl``. A finished run is never written to. The file is either begun here,
at the first label, or was drawn by ``heedful calibrate RUN --draw N -o RUN.labels.jsonl``. Into
drawn rows no others are mixed, as rows that somebody chose say nothing of the rest.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from heedful.analysis.calibration import DRAW, blank
from heedful.core.errors import InputError, UsageError
from heedful.data.formats.files import records
from heedful.pages.viewer.auditing import put_in_place

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from heedful.core.nouns import Sample

LABELS = {"met": True, "unmet": False, "": None}
"""By what a form says; the empty one takes a label back."""

_writing = threading.Lock()
"""Two labels at a time must not each write the file without the other."""


class LabelFile:
    """The labels beside a run.

    Attributes:
        path: where they are, or would be.
        rows: by the sample's id.
    """

    def __init__(self, run: Path) -> None:
        run = run.resolve()
        self.path = run.with_name(f"{run.name}.labels.jsonl")
        self.rows: dict[str, dict[str, Any]] = {}
        for line, data, problem in records(self.path) if self.path.exists() else ():
            if problem is not None or "id" not in data:
                raise InputError(problem or "the row has no id", where=f"{self.path}:{line}")
            self.rows[str(data["id"])] = dict(data)

    @property
    def drawn(self) -> bool:
        """Whether its rows were drawn at random, to which none may be added."""
        return any(DRAW in row for row in self.rows.values())

    def takes(self, sample: Sample) -> bool:
        """Say whether a sample may be labelled."""
        return sample.id in self.rows or not self.drawn

    def labels(self, sample: Sample) -> Sequence[bool | None]:
        """Return a sample's labels, one for each constraint."""
        given = self.rows.get(sample.id, {}).get("labels")
        places = len(sample.checklist)
        return given if isinstance(given, list) and len(given) == places else [None] * places

    def open_ids(self) -> list[str]:
        """Return the ids of the rows with a label missing."""
        return [ident for ident, row in self.rows.items() if None in (row.get("labels") or [None])]

    @classmethod
    def put(cls, run: Path, sample: Sample, number: int, said: str) -> None:
        """Write a label; the file is replaced as a whole once all of it is on the disk."""
        with _writing:
            file = cls(run)
            if said not in LABELS or not 1 <= number <= len(sample.checklist):
                what = f"constraint {number} cannot be labelled {said!r}"
                raise UsageError(what, where=str(file.path))
            if not file.takes(sample):
                what = f"{sample.id!r} is none of the rows that were drawn to be labelled"
                raise UsageError(what, where=str(file.path), hint="move that file away first")
            labels = list(file.labels(sample))
            labels[number - 1] = LABELS[said]
            file.rows[sample.id] = file.rows.get(sample.id) or blank(sample)
            file.rows[sample.id]["labels"] = labels
            text = "".join(
                json.dumps(row, ensure_ascii=False) + "\n"
                for row in file.rows.values()
                if file.drawn or any(label is not None for label in row["labels"])
            )
            try:
                put_in_place(file.path, text)
            except OSError as error:
                what = f"cannot be written: {error.strerror}"
                hint = "make the folder writable, then label again"
                raise UsageError(what, where=str(file.path), hint=hint) from error
