"""A run's rate made right by a few labels: which rows to label, how many, and what comes of it."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.analysis.calibration_units import labelled_judgments, labelled_rate, text_print
from heedful.analysis.calibration_units import units as draw_units
from heedful.core.errors import InputError, UsageError
from heedful.core.scale import LABEL_LEVELS
from heedful.core.text import amount
from heedful.data.formats import native, open_source
from heedful.data.formats.base import atomically, refuse_inputs
from heedful.engine.saved_run import SavedRun
from heedful.jobs.results import scored_entry
from heedful.metrics.prediction_powered import (
    Stratum,
    labels_needed,
    powered_mean,
    small_sample,
)
from heedful.metrics.proportions import NORMAL_QUANTILE, student
from heedful.metrics.statistics import spearman

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from heedful.analysis.calibration_units import DrawUnit, Rate
    from heedful.core.nouns import Sample
    from heedful.metrics.prediction_powered import Powered

    Name = str | os.PathLike[str]

__all__ = ["DRAW", "blank", "calibrate", "draw", "plan"]

FEWEST = 2
"""Labels of a kind of row that a variance takes."""

DRAW = "draw"
"""Field of a drawn row: how it was drawn."""


def draw(
    run: Name,
    output: Name,
    *,
    labels: int,
    by: str | None = None,
    seed: int = 0,
    labelled: Name | None = None,
) -> dict[str, Any]:
    """Draw rows of a run at random, to be labelled by people.

    The file has the samples without the judge's verdicts, and ``labels`` to fill in: ``true`` or
    ``false`` for each constraint. Of the same run and seed, a larger draw holds the smaller one.
    """
    path = Path(output)
    refuse_inputs(path, [run])
    if _is_labelled(path):
        hint = "give another file, or remove this one"
        raise UsageError("labels are filled in here already", where=str(path), hint=hint)
    units = draw_units(run, None, by)
    chosen = _drawn(units, labels, seed, nested=True)
    about = {"of": len(units), "labels": labels, "by": by, "seed": seed, "nested": True}
    earlier = {} if labelled is None else dict(_rows(labelled))
    with SavedRun.open(run) as saved, atomically(path) as file:
        for row in saved.rows(scored_entry):
            if row.id in chosen and row.sample is not None:
                record = blank(row.sample) | {DRAW: about}
                before = earlier.get(row.id)
                if before is not None and text_print(before) == text_print(row.sample):
                    known = native.write(before)
                    record |= {key: known[key] for key in ("labels", LABEL_LEVELS) if key in known}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
    kinds = Counter(unit.kind for unit in units if unit.id in chosen)
    return {"drawn": len(chosen), **about, "kinds": dict(sorted(kinds.items())), "file": str(path)}


def blank(sample: Sample) -> dict[str, Any]:
    """Return a sample as a row to be labelled: without verdicts, each of its labels open."""
    bare = native.write(sample.model_copy(update={"labels": None, "recording": None}))
    bare.pop(LABEL_LEVELS, None)
    return bare | {"labels": [None] * len(sample.checklist)}


def _is_labelled(path: Path) -> bool:
    """Check whether somebody has filled in a label, in a file of whatever content."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            labels = row.get("labels") if isinstance(row, dict) else None
            if isinstance(labels, list) and any(label is not None for label in labels):
                return True
    return False


def plan(
    run: Name, *, half_width: float, rate: Rate = "csr", pilot: Name | None = None
) -> dict[str, Any]:
    """Plan how many rows must be labelled for an interval."""
    if not 0 < half_width < 1:
        raise UsageError(f"the half-width is {half_width}", hint="give a share, such as 0.03")
    units = draw_units(run, rate, None)
    alone = math.ceil((NORMAL_QUANTILE / half_width) ** 2 / 4)
    needed: int | None = alone if alone <= len(units) - FEWEST else None
    if pilot is not None:
        known = _labelled(pilot, units, rate)
        needed = labels_needed(_stratum(units, known), half_width, len(units))
    return {
        "labels": needed,
        "labels_alone": alone,
        "of": len(units),
        "half_width": half_width,
        "rate": rate,
        "pilot": None if pilot is None else len(known),
    }


def calibrate(run: Name, labels: Name, *, rate: Rate = "csr") -> dict[str, Any]:
    """Estimate the rate of a run that people would find, from a few labels."""
    about = _about_draw(labels)
    units = draw_units(run, rate, about["by"])
    known = _labelled(labels, units, rate)
    nothing = {ident for ident, share in known.items() if math.isnan(share)}  # applies to them
    units = [unit for unit in units if unit.id not in nothing]
    known = {ident: share for ident, share in known.items() if ident not in nothing}
    kinds = sorted({unit.kind for unit in units})
    strata = {
        kind: _stratum([unit for unit in units if unit.kind == kind], known) for kind in kinds
    }
    result: dict[str, Any] = {"rate": rate, "draw": about, **_estimate(list(strata.values()))}
    if len(strata) > 1:
        result["kinds"] = {kind: _estimate([each]) for kind, each in strata.items()}
    decided, total = sum(unit.decided for unit in units), sum(unit.total for unit in units)
    return result | {"coverage": decided / total, "bias": _bias(units, known)}


def _estimate(strata: Sequence[Stratum]) -> Powered:
    return small_sample(strata, powered_mean(strata))


def _drawn(units: Sequence[DrawUnit], labels: int, seed: int, *, nested: bool) -> set[str]:
    """Draw rows, from each kind in proportion to its size."""
    kinds: dict[str, list[str]] = {}
    for unit in units:
        kinds.setdefault(unit.kind, []).append(unit.id)
    least, most = FEWEST * len(kinds), len(units) - FEWEST * len(kinds)
    if not least <= labels <= most:
        what = f"{amount(labels, 'row')} cannot be drawn of {len(units):,} in {len(kinds):,} kinds"
        raise UsageError(what, hint=f"draw {least:,} to {most:,}" if least <= most else "")
    few = min(kinds, key=lambda kind: len(kinds[kind]))
    if len(kinds[few]) < 2 * FEWEST:
        what = f"the kind {few!r} has only {amount(len(kinds[few]), 'row')}"
        raise UsageError(what, hint="four are needed; draw by another tag, or by none")
    sizes = _sizes({kind: len(ids) for kind, ids in kinds.items()}, labels)
    chance = random.Random(f"{seed}")
    chosen: set[str] = set()
    for kind in sorted(kinds):
        most = len(kinds[kind]) if nested else sizes[kind]
        chosen.update(chance.sample(kinds[kind], most)[: sizes[kind]])
    return chosen


def _sizes(kinds: Mapping[str, int], labels: int) -> dict[str, int]:
    """Divide labels among kinds in proportion, so that a variance is left on both sides."""
    total = sum(kinds.values())
    sizes = dict.fromkeys(sorted(kinds), FEWEST)
    for kind, size in kinds.items():
        sizes[kind] = min(max(FEWEST, labels * size // total), size - FEWEST)
    step = 1 if sum(sizes.values()) < labels else -1
    while sum(sizes.values()) != labels:
        lacking = {
            kind: step * (labels * size / total - sizes[kind])
            for kind, size in kinds.items()
            if FEWEST <= sizes[kind] + step <= size - FEWEST
        }
        sizes[max(sorted(lacking), key=lacking.__getitem__)] += step
    return sizes


def _about_draw(labels: Name) -> dict[str, Any]:
    """Return how the rows of a file were drawn."""
    said = [(row.sample.model_extra or {}).get(DRAW) for row in _rows(labels)]
    about = said[0] if said else None
    same = isinstance(about, dict) and all(each == about for each in said)
    if not same or not {"labels", "seed", "by"} <= set(about or {}):
        raise InputError(
            "nothing says that these rows were drawn at random, and rows that somebody chose say "
            "nothing of the others",
            where=str(labels),
            hint="draw rows with heedful calibrate RUN --draw N -o FILE, and label those",
        )
    return dict(about or {})


def _such_as(names: Sequence[str]) -> str:
    return f" (such as {names[0]!r})" if names else ""


class _LabelledRow(NamedTuple):
    id: str
    sample: Sample


def _rows(labels: Name) -> list[_LabelledRow]:
    """Read a file of labels; a row that cannot be read is an error."""
    rows = []
    lines: dict[str, int] = {}
    for row in open_source(Path(labels), format="native"):
        if row.sample is None:
            raise InputError(str(row.problem), where=f"{labels}:{row.line}")
        first = lines.setdefault(row.sample.id, row.line)
        if first != row.line:
            raise InputError(
                f"the row {row.sample.id!r} stands in line {first}, too",
                where=f"{labels}:{row.line}",
                hint="keep the one with the labels that hold",
            )
        rows.append(_LabelledRow(row.sample.id, row.sample))
    return rows


def _labelled(labels: Name, units: Sequence[DrawUnit], rate: Rate) -> dict[str, float]:
    """Read the labelled rate of each drawn row."""
    about = _about_draw(labels)
    kinds = units
    if about["by"] is None:
        kinds = [unit._replace(kind="") for unit in units]
    known: dict[str, float] = {}
    prints = {unit.id: unit.print for unit in units}
    for ident, sample in _rows(labels):
        said = labelled_judgments(sample)
        if not said or None in said:
            raise InputError(
                f"the row {ident!r} isn't labelled, and rows that are left out are often harder",
                where=str(labels),
                hint="label each constraint of every drawn row with true, false, a level or "
                "not_applicable",
            )
        if ident in prints and prints[ident] != text_print(sample):
            raise InputError(
                f"the row {ident!r} has another response or checklist than in the run",
                where=str(labels),
                hint="label the texts that the run has judged",
            )
        known[ident] = labelled_rate(sample, [each for each in said if each], rate)
    try:
        drawn = _drawn(
            sorted(kinds), about["labels"], about["seed"], nested=bool(about.get("nested"))
        )
    except (UsageError, TypeError) as error:
        raise InputError(f"the draw does not fit the run: {error}", where=str(labels)) from error
    if drawn != known.keys():
        missing, strange = sorted(drawn - known.keys()), sorted(known.keys() - drawn)
        raise InputError(
            f"these are not the rows that were drawn from this run: {len(missing)} of them are "
            f"missing{_such_as(missing)}, and {len(strange)} others are there{_such_as(strange)}",
            where=str(labels),
            hint="label all drawn rows and no others, and name the run that they were drawn from",
        )
    return known


def _stratum(units: Sequence[DrawUnit], known: Mapping[str, float]) -> Stratum:
    labelled = [unit for unit in units if unit.id in known]
    return Stratum(
        [known[unit.id] for unit in labelled],
        [unit.verdict for unit in labelled],
        [unit.verdict for unit in units if unit.id not in known],
    )


def _bias(units: Sequence[DrawUnit], known: Mapping[str, float]) -> dict[str, Any]:
    """Say with what the judge's errors go: verdict minus label, above 0 where it is too kind."""
    labelled = [unit for unit in units if unit.id in known and unit.decided]
    errors = [unit.verdict - known[unit.id] for unit in labelled]
    by_model: dict[str, list[float]] = {}
    for unit, error in zip(labelled, errors, strict=True):
        if unit.model is not None:
            by_model.setdefault(unit.model, []).append(error)
    return {
        "error": _mean_error(errors),
        "length": spearman([unit.length for unit in labelled], errors),
        "models": {model: _mean_error(each) for model, each in sorted(by_model.items())},
    }


def _mean_error(errors: Sequence[float]) -> dict[str, Any]:
    if not errors:
        return {"value": None, "interval": None, "rows": 0}
    mean = math.fsum(errors) / len(errors)
    interval = None
    if len(errors) >= FEWEST:
        squares = math.fsum((error - mean) ** 2 for error in errors)
        quantile = student(len(errors) - 1)
        margin = quantile * math.sqrt(squares / (len(errors) - 1) / len(errors))
        if squares < 1e-12:  # noqa: PLR2004 - rounding; errors not seen among few labels are there
            margin = quantile**2 / (len(errors) + quantile**2)
        interval = [max(-1.0, mean - margin), min(1.0, mean + margin)]
    return {"value": mean, "interval": interval, "rows": len(errors)}
