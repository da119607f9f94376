"""Samples with known verdicts: code's, or those of final critiques, and what they give away."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from heedful.core.errors import InputError
from heedful.core.nouns import Constraint, Recording
from heedful.core.outputs import atomically
from heedful.critic.data.code_verdicts import CodeVerdicts, asked, has_verdicts, kind
from heedful.critic.data.contrast import Decided
from heedful.data.formats import native
from heedful.engine.inputs import items, open_data
from heedful.judges import prompts
from heedful.judges.prompts import read_recording

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from heedful.core.nouns import Sample
    from heedful.critic.data.options import ExportSettings

Known = tuple[Constraint, bool]
"""A constraint, and whether it is met: all that a blind baseline is told."""

_EVEN = 0.5


def _known(data: Path, settings: ExportSettings) -> Iterator[tuple[Sample, list[Decided]]]:
    """Yield what a critic is asked of rows, with the verdicts that are known."""
    rows = [item.value for item in items(open_data(data) or ()) if item.value is not None]
    code = CodeVerdicts(lambda: iter(rows), settings)
    for row in rows:
        if has_verdicts(row):
            yield from code.asked(row)
        elif row.recording is not None and row.recording.text is not None:
            known = list(map(Decided, row.checklist, read_recording(row.recording, row)))
            if all(each.judgment.status.decided for each in known):
                yield row, known


def labelled(data: Path, settings: ExportSettings) -> Iterator[Sample]:
    """Yield samples with labels: code's verdicts, balanced as in an export, or the critiques'."""
    for row, taken in _known(data, replace(settings, per_call=None)):
        labels = tuple(each.met for each in taken)
        yield asked(row, taken, row.id, row.response).model_copy(update={"labels": labels})


def write_labelled(data: Path, output: Path, settings: ExportSettings) -> int:
    """Write samples with labels as JSON lines; return how many verdicts they have."""
    verdicts = _written(output, labelled(data, settings))
    if not verdicts:
        raise InputError("no verdict is known", where=str(data), hint="give more instructions")
    return verdicts


def write_critiques(data: Path, output: Path, settings: ExportSettings) -> None:
    """Write samples with a final critique each, one for each call that a critic is asked by."""

    def rows() -> Iterator[Sample]:
        prompt = prompts.make(settings.prompt, prompt_file=settings.prompt_file)
        for row, taken in _known(data, settings):
            if row.recording is not None:
                yield row
                continue
            text = prompt.write([each.judgment for each in taken], row.checklist)
            recording = Recording(prompt=settings.prompt, text=text)
            yield row.model_copy(update={"recording": recording})

    _written(output, rows())


def _written(output: Path, rows: Iterable[Sample]) -> int:
    """Write rows as JSON lines; return how many constraints they have."""
    constraints = 0
    with atomically(output) as file:
        for row in rows:
            constraints += len(row.checklist)
            file.write(json.dumps(native.write(row), ensure_ascii=False) + "\n")
    return constraints


def known_verdicts(data: Path, settings: ExportSettings) -> list[Known]:
    """Return the verdicts that an export of a file takes, or that a labelled file holds."""
    rows = [item.value for item in items(open_data(data) or ()) if item.value is not None]
    return [
        (constraint, bool(met))
        for row in (rows if all(row.labels for row in rows) else labelled(data, settings))
        for constraint, met in zip(row.checklist, row.labels or (), strict=True)
    ]


def _words(constraint: Constraint) -> list[str]:
    """Name what a judge can tell without the response, ever more exactly: type, direction, text."""
    name = "" if constraint.check is None else constraint.check.id
    whole = kind(constraint)
    return ["", whole.removeprefix(name), name, whole, constraint.text]


def blind(learnt: Sequence[Known], judged: Sequence[Known]) -> list[tuple[bool, bool]]:
    """Judge constraints without a response, by how often their like was met in training.

    A critic must do better than this baseline. Returns verdict and label of each.
    """
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for constraint, met in learnt:
        for words in _words(constraint):
            counts[words][met] += 1
    said = []
    for constraint, met in judged:
        share = _EVEN
        for words in _words(constraint):
            unmet_count, met_count = counts.get(words, (0, 0))
            share = (met_count + 2 * share) / (unmet_count + met_count + 2)
        said.append((share >= _EVEN, met))
    return said


def blind_rates(learnt: Sequence[Known], judged: Sequence[Known]) -> dict[str, float]:
    """Measure the blind baseline: F1 of met and unmet, their mean, and kappa."""
    said = blind(learnt, judged)
    both, neither = said.count((True, True)), said.count((False, False))
    wrong = len(said) - both - neither
    f1_met, f1_unmet = (2 * right / max(1, 2 * right + wrong) for right in (both, neither))
    says = sum(verdict for verdict, _ in said) / len(said)
    is_met = sum(met for _, met in said) / len(said)
    chance = says * is_met + (1 - says) * (1 - is_met)
    kappa = ((both + neither) / len(said) - chance) / (1 - chance) if chance < 1 else 0.0
    mean = (f1_met + f1_unmet) / 2
    return {"f1_met": f1_met, "f1_unmet": f1_unmet, "mean_f1": mean, "kappa": kappa}
