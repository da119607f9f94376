"""A run's rate made right by a few labels: which rows to label, how many, and what comes of it."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from heedful.core.errors import InputError, UsageError
from heedful.core.nouns import Status
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
    from collections.abc import Iterable, Mapping, Sequence

    from heedful.core.nouns import Sample
    from heedful.jobs.results import Scored
    from heedful.metrics.prediction_powered import Powered

    Name = str | os.PathLike[str]

__all__ = ["DRAW", "blank", "calibrate", "draw", "plan"]

Rate = Literal["csr", "isr"]
"""Of a row: the share of its constraints that is met, or whether all are."""

FEWEST = 2
"""Labels of a kind of row that a variance takes."""

DRAW = "draw"
"""Field of a drawn row: how it was drawn."""


class DrawUnit(NamedTuple):
    """A row of the run.

    Attributes:
        id: the row's.
        kind: its value of the tag that rows are drawn by.
        verdict: its rate as judged; what was not decided earns nothing.
        length: of the response in characters.
        model: that wrote the response.
    """

    id: str
    kind: str
    verdict: float
    length: int
    model: str | None


def draw(
    run: Name, output: Name, *, labels: int, by: str | None = None, seed: int = 0
) -> dict[str, Any]:
    """Draw rows of a run at random, to be labelled by people.

    The file has the samples without the judge's verdicts, and ``labels`` to fill in: ``true`` or
    ``false`` for each constraint.

    Args:
        run: the directory of a finished evaluation.
        output: the file to write, JSON Lines.
        labels: how many rows.
        by: a tag: draw from each of its values in proportion.
        seed: of the draw.

    Returns:
        How many rows were drawn, of how many, by kind.

    Raises:
        RunError: there is no such run.
        UsageError: so many rows cannot be drawn, or the file holds labels.
    """
    path = Path(output)
    refuse_inputs(path, [run])
    if _is_labelled(path):
        hint = "give another file, or remove this one"
        raise UsageError("labels are filled in here already", where=str(path), hint=hint)
    units = _units(run, "csr", by)
    chosen = _drawn(units, labels, seed)
    about = {"of": len(units), "labels": labels, "by": by, "seed": seed}
    with SavedRun.open(run) as saved, atomically(path) as file:
        for row in saved.rows(scored_entry):
            if row.id in chosen and row.sample is not None:
                record = blank(row.sample) | {DRAW: about}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
    kinds = Counter(unit.kind for unit in units if unit.id in chosen)
    return {"drawn": len(chosen), **about, "kinds": dict(sorted(kinds.items())), "file": str(path)}


def blank(sample: Sample) -> dict[str, Any]:
    """Return a sample as a row to be labelled: without verdicts, each of its labels open."""
    bare = sample.model_copy(update={"labels": None, "recording": None})
    return dict(native.write(bare)) | {"labels": [None] * len(sample.checklist)}


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
    """Plan how many rows must be labelled for an interval.

    Args:
        run: the directory of a finished evaluation.
        half_width: of the 95 % interval that is wanted: .03 for ± 3 points.
        rate: what is to be estimated.
        pilot: a file that :func:`draw` wrote, labelled. Without it, the plan counts on no help of
            the judge.

    Returns:
        ``labels``, ``None`` where all rows would not do; ``labels_alone``, that labels without the
        judge would take; ``of`` how many rows.

    Raises:
        InputError: the pilot's labels are missing, or were not drawn at random.
        RunError: there is no such run.
        UsageError: the half-width or the rate makes no sense.
    """
    if not 0 < half_width < 1:
        raise UsageError(f"the half-width is {half_width}", hint="give a share, such as 0.03")
    units = _units(run, rate, None)
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
    """Estimate the rate of a run that people would find, from a few labels.

    Args:
        run: the directory of a finished evaluation.
        labels: a file that :func:`draw` wrote, labelled.
        rate: what is estimated.

    Returns:
        The rate by PPI++ (see :class:`heedful.metrics.prediction_powered.Powered`) with intervals
        for few labels (:func:`heedful.metrics.prediction_powered.small_sample`), by kind where
        rows were drawn by a tag, and ``bias``: how the judge's errors go with the length of the
        response, and by the model that wrote it.

    Raises:
        InputError: labels are missing, or were not drawn at random.
        RunError: there is no such run.
    """
    about = _about_draw(labels)
    units = _units(run, rate, about["by"])
    known = _labelled(labels, units, rate)
    kinds = sorted({unit.kind for unit in units})
    strata = {
        kind: _stratum([unit for unit in units if unit.kind == kind], known) for kind in kinds
    }
    result: dict[str, Any] = {"rate": rate, "draw": about, **_estimate(list(strata.values()))}
    if len(strata) > 1:
        result["kinds"] = {kind: _estimate([each]) for kind, each in strata.items()}
    return result | {"bias": _bias(units, known)}


def _estimate(strata: Sequence[Stratum]) -> Powered:
    return small_sample(strata, powered_mean(strata))


def _units(run: Name, rate: Rate, by: str | None) -> list[DrawUnit]:
    """Read the rows of a run, in order of their ids.

    Raises:
        UsageError: the rate is unknown, or no row has the tag.
    """
    if rate not in get_args(Rate):
        raise UsageError(f"no such rate: {rate!r}", hint=" or ".join(get_args(Rate)))
    with SavedRun.open(run) as saved:
        units = [unit for row in saved.rows(scored_entry) for unit in _unit(row, rate, by)]
    if by is not None and all(unit.kind == "" for unit in units):
        raise UsageError(f"no row has the tag {by!r}", hint="draw by a tag of the rows, or by none")
    return sorted(units)


def _unit(row: Scored, rate: Rate, by: str | None) -> Iterable[DrawUnit]:
    if row.sample is None or row.critique is None or not row.sample.checklist:
        return
    states = [judgment.status for judgment in row.critique.judgments]
    met = [status is Status.MET for status in states if status is not Status.NOT_APPLICABLE]
    if met:
        tags = row.sample.tags
        kind = "" if by is None else str(tags.get(by, ""))
        model = None if tags.get("model") is None else str(tags["model"])
        yield DrawUnit(row.id, kind, _rate(met, rate), len(row.sample.response or ""), model)


def _rate(met: Sequence[bool], rate: Rate) -> float:
    return float(all(met)) if rate == "isr" else sum(met) / len(met)


def _drawn(units: Sequence[DrawUnit], labels: int, seed: int) -> set[str]:
    """Draw rows, from each kind in proportion to its size.

    Raises:
        UsageError: there are too few rows, or too few labels for the kinds.
    """
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
    return {ident for kind in sorted(kinds) for ident in chance.sample(kinds[kind], sizes[kind])}


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
    """Return how the rows of a file were drawn.

    Raises:
        InputError: nothing says that, so nobody knows that they were drawn at random.
    """
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
    """Read a file of labels; a row that cannot be read is an error.

    Raises:
        InputError: it is missing, a row cannot be read, or stands there twice.
    """
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
    """Read the labelled rate of each drawn row.

    Raises:
        InputError: a label is missing, or these are not the rows that were drawn.
    """
    about = _about_draw(labels)
    kinds = units
    if about["by"] is None:
        kinds = [unit._replace(kind="") for unit in units]
    known: dict[str, float] = {}
    for ident, sample in _rows(labels):
        given = list(sample.labels or [None])
        if None in given:
            raise InputError(
                f"the row {ident!r} isn't labelled, and rows that are left out are often harder",
                where=str(labels),
                hint="label each constraint of every drawn row with true or false",
            )
        known[ident] = _rate([bool(label) for label in given], rate)
    try:
        drawn = _drawn(sorted(kinds), about["labels"], about["seed"])
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
    labelled = [unit for unit in units if unit.id in known]
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
    mean = math.fsum(errors) / len(errors)
    interval = None
    if len(errors) >= FEWEST:
        squares = math.fsum((error - mean) ** 2 for error in errors)
        quantile = student(max(4, len(errors) - 1))
        margin = quantile * math.sqrt(squares / (len(errors) - 1) / len(errors))
        if squares < 1e-12:  # noqa: PLR2004 - rounding; errors not seen among few labels are there
            margin = quantile**2 / (len(errors) + quantile**2)
        interval = [max(-1.0, mean - margin), min(1.0, mean + margin)]
    return {"value": mean, "interval": interval, "rows": len(errors)}
