"""A run's rate corrected by a few labels: which rows to label, how many, and the estimate."""

from __future__ import annotations

import json
import math
import random
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from heedful.core.errors import InputError, UsageError
from heedful.core.nouns import Judgment, Status
from heedful.core.outputs import atomically, refuse_inputs
from heedful.core.rubric import judgment_at, value
from heedful.core.scale import LABEL_LEVELS, NOT_APPLICABLE
from heedful.core.text import amount
from heedful.data.formats import native, open_source
from heedful.jobs.results import scored_entry
from heedful.jobs.saved_run import SavedRun
from heedful.metrics.prediction_powered import (
    Stratum,
    powered_mean,
    small_sample,
)
from heedful.metrics.proportions import NORMAL_QUANTILE, student
from heedful.metrics.rubrics import OWN_SCORE, rubric_outcome, score_share
from heedful.reporting.document import Document
from heedful.reporting.notation import INTERVAL, decimal, interval, percent, signed
from heedful.reporting.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.core.nouns import Sample
    from heedful.jobs.results import Scored
    from heedful.metrics.prediction_powered import Powered

    Name = str | os.PathLike[str]


FEWEST = 2
"""Labels of a kind of row that a variance needs."""

DOUBT = "doubt"
"""Rows are drawn by it as by a tag: the judge isn't sure of those whose votes differ."""

SURE, DOUBTFUL = "sure", "doubtful"
OVERSAMPLED = 3
"""So much likelier is a doubtful row to be drawn; rates weigh that back."""

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
    chosen = _drawn(units, labels, seed)
    about = {"of": len(units), "labels": labels, "by": by, "seed": seed}
    earlier = {} if labelled is None else read_labels(labelled)
    with SavedRun.open(run) as saved, atomically(path) as file:
        for row in saved.rows(scored_entry):
            if row.id in chosen and row.sample is not None:
                record = blank(row.sample) | {DRAW: about}
                before = earlier.get(row.id)
                if before is not None and text_print(before) == text_print(row.sample):
                    known = native.write(before)
                    record |= {key: known[key] for key in ("labels", LABEL_LEVELS) if key in known}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return {"drawn": len(chosen), **about, "file": str(path)}


def blank(sample: Sample) -> dict[str, Any]:
    """Return a sample as a row to be labelled: without verdicts, each of its labels open."""
    bare = native.write(sample.model_copy(update={"labels": None, "recording": None}))
    bare.pop(LABEL_LEVELS, None)
    return bare | {"labels": [None] * len(sample.checklist)}


def _is_labelled(path: Path) -> bool:
    """Check whether a label is filled in; the file may hold anything."""
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


def plan(run: Name, *, half_width: float) -> dict[str, Any]:
    """Plan how many rows must be labelled for an interval, if labels say as much as coins."""
    if not 0 < half_width < 1:
        raise UsageError(f"the half-width is {half_width}", hint="give a share, such as 0.03")
    rows = len(draw_units(run, None, None))
    needed = math.ceil((NORMAL_QUANTILE / half_width) ** 2 / 4)
    labels = needed if needed <= rows - FEWEST else None
    return {"labels": labels, "of": rows, "half_width": half_width}


def calibrate(run: Name, labels: Name, *, rate: Rate = "csr") -> dict[str, Any]:
    """Estimate the rate of a run that people would find, from a few labels."""
    about, units, known, strata = _read_strata(run, labels, rate)
    result: dict[str, Any] = {"rate": rate, "draw": about, **_estimate(list(strata.values()))}
    if len(strata) > 1:
        result["kinds"] = {kind: _estimate([each]) for kind, each in strata.items()}
    decided, total = sum(unit.decided for unit in units), sum(unit.total for unit in units)
    return result | {"coverage": decided / total, "bias": _bias(units, known)}


def _read_strata(run: Name, labels: Name, rate: Rate) -> tuple[Any, Any, Any, dict[str, Stratum]]:
    about, rows = _read(labels)
    units = draw_units(run, rate, about["by"])
    known = _labelled(rows, about, units, rate, where=str(labels))
    units = [unit for unit in units if not math.isnan(known.get(unit.id, 0.0))]  # NaN: none applies
    kinds = sorted({unit.kind for unit in units})
    strata = {kind: _stratum([u for u in units if u.kind == kind], known) for kind in kinds}
    return about, units, known, strata


def _estimate(strata: Sequence[Stratum]) -> Powered:
    return small_sample(strata, powered_mean(strata))


def _drawn(units: Sequence[DrawUnit], labels: int, seed: int) -> set[str]:
    """Draw rows, from each kind in proportion to its size; a larger draw holds a smaller one."""
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
        chosen.update(chance.sample(kinds[kind], len(kinds[kind]))[: sizes[kind]])
    return chosen


def _sizes(kinds: Mapping[str, int], labels: int) -> dict[str, int]:
    """Divide labels among kinds in proportion, so that a variance is left on both sides."""
    likelier = {DOUBTFUL: OVERSAMPLED} if {*kinds} == {SURE, DOUBTFUL} else {}
    shares = {kind: size * likelier.get(kind, 1) for kind, size in kinds.items()}
    total = sum(shares.values())
    sizes = dict.fromkeys(sorted(kinds), FEWEST)
    for kind, size in kinds.items():
        sizes[kind] = min(max(FEWEST, labels * shares[kind] // total), size - FEWEST)
    step = 1 if sum(sizes.values()) < labels else -1
    while sum(sizes.values()) != labels:
        lacking = {
            kind: step * (labels * shares[kind] / total - sizes[kind])
            for kind, size in kinds.items()
            if FEWEST <= sizes[kind] + step <= size - FEWEST
        }
        sizes[max(sorted(lacking), key=lacking.__getitem__)] += step
    return sizes


def _read(labels: Name) -> tuple[dict[str, Any], dict[str, Sample]]:
    """Read drawn rows, and how they were drawn."""
    rows = read_labels(labels)
    said = [(sample.model_extra or {}).get(DRAW) for sample in rows.values()]
    about = said[0] if said else None
    same = isinstance(about, dict) and all(each == about for each in said)
    if not same or not {"labels", "seed", "by"} <= set(about or {}):
        raise InputError(
            "nothing says that these rows were drawn at random, and rows that somebody chose say "
            "nothing of the others",
            where=str(labels),
            hint="draw rows with heedful calibrate RUN --draw N -o FILE, and label those",
        )
    return dict(about or {}), rows


def read_labels(labels: Name) -> dict[str, Sample]:
    """Read a file of labels; a row that cannot be read is an error."""
    rows: dict[str, Sample] = {}
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
        rows[row.sample.id] = row.sample
    return rows


def _labelled(
    rows: Mapping[str, Sample],
    about: Mapping[str, Any],
    units: Sequence[DrawUnit],
    rate: Rate,
    *,
    where: str,
) -> dict[str, float]:
    """Compute the labelled rate of each drawn row; refuse rows that aren't those drawn."""
    known: dict[str, float] = {}
    prints = {unit.id: unit.print for unit in units}
    for ident, sample in rows.items():
        said = labelled_judgments(sample)
        if not said or None in said:
            raise InputError(
                f"the row {ident!r} isn't labelled, and rows that are left out are often harder",
                where=where,
                hint="label each constraint of every drawn row with true, false, a level or "
                "not_applicable",
            )
        if ident in prints and prints[ident] != text_print(sample):
            raise InputError(
                f"the row {ident!r} has another response or checklist than in the run",
                where=where,
                hint="label the texts that the run has judged",
            )
        known[ident] = labelled_rate(sample, [each for each in said if each], rate)
    try:
        drawn = _drawn(units, about["labels"], about["seed"])
    except (UsageError, TypeError) as error:
        raise InputError(f"the draw does not fit the run: {error}", where=where) from error
    if drawn != known.keys():
        missing, strange = sorted(drawn - known.keys()), sorted(known.keys() - drawn)
        raise InputError(
            f"these are not the rows that were drawn from this run: {len(missing)} of them are "
            f"missing{_such_as(missing)}, and {len(strange)} others are there{_such_as(strange)}",
            where=where,
            hint="label all drawn rows and no others, and name the run that they were drawn from",
        )
    return known


def _such_as(names: Sequence[str]) -> str:
    return f" (such as {names[0]!r})" if names else ""


def _stratum(units: Sequence[DrawUnit], known: Mapping[str, float]) -> Stratum:
    labelled = [unit for unit in units if unit.id in known]
    return Stratum(
        [known[unit.id] for unit in labelled],
        [unit.verdict for unit in labelled],
        [unit.verdict for unit in units if unit.id not in known],
    )


def _bias(units: Sequence[DrawUnit], known: Mapping[str, float]) -> dict[str, Any]:
    """Relate the judge's errors (verdict minus label) to the models that answered."""
    labelled = [unit for unit in units if unit.id in known and unit.decided]
    errors = [unit.verdict - known[unit.id] for unit in labelled]
    by_model: dict[str, list[float]] = {}
    for unit, error in zip(labelled, errors, strict=True):
        if unit.model is not None:
            by_model.setdefault(unit.model, []).append(error)
    return {
        "error": _mean_error(errors),
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


Rate = Literal["csr", "isr", "score"]
"""Of a row: the share of its constraints that is met, whether all are, or its weighted score."""


class DrawUnit(NamedTuple):
    """A row of the run."""

    id: str
    kind: str  # its value of the tag that rows are drawn by
    verdict: float  # its rate by what was decided; without any, the mean of the others
    decided: int  # verdicts
    total: int
    model: str | None
    print: bytes


def draw_units(run: Name, rate: Rate | None, by: str | None) -> list[DrawUnit]:
    """Read the rows of a run, in order of their ids."""
    if rate is not None and rate not in get_args(Rate):
        raise UsageError(f"no such rate: {rate!r}", hint=" or ".join(get_args(Rate)))
    with SavedRun.open(run) as saved:
        read = [unit for row in saved.rows(scored_entry) for unit in _unit(row, rate, by)]
    if by is not None and all(unit.kind == "" for unit in read):
        raise UsageError(f"no row has the tag {by!r}", hint="draw by a tag of the rows, or by none")
    if by == DOUBT and all(unit.kind == SURE for unit in read):
        hint = "judge with --votes 3 or several --model, or draw by a tag, or by none"
        raise UsageError("no votes differ in this run", where=str(run), hint=hint)
    known = [unit.verdict for unit in read if not math.isnan(unit.verdict)]
    mean = math.fsum(known) / len(known) if known else 0.0
    filled = (unit._replace(verdict=mean) if math.isnan(unit.verdict) else unit for unit in read)
    return sorted(filled)


def labelled_judgments(sample: Sample) -> list[Judgment | None]:
    """Return what people say of each criterion; ``None`` where they don't."""
    levels = (sample.model_extra or {}).get(LABEL_LEVELS) or [None] * len(sample.checklist)
    labels = sample.labels or (None,) * len(sample.checklist)
    said: list[Judgment | None] = []
    for constraint, label, level in zip(sample.checklist, labels, levels, strict=False):
        if level == NOT_APPLICABLE:
            said.append(Judgment(status=Status.NOT_APPLICABLE))
        elif level is not None and constraint.scale is not None:
            said.append(judgment_at(constraint.scale, level))
        elif label is not None:
            said.append(Judgment(status=Status.MET if label else Status.UNMET))
        else:
            said.append(None)
    return said


def labelled_rate(sample: Sample, said: Sequence[Judgment], rate: Rate) -> float:
    """Compute a row's rate by its labels; NaN where nothing applies."""
    for constraint, judgment in zip(sample.checklist, said, strict=True):
        if rate == "score" and judgment.status.decided and value(constraint, judgment) is None:
            what = f"the criteria of {sample.id!r} have levels, and labels say only met or unmet"
            raise UsageError(what, hint="label them by level, or calibrate --rate csr")
    return _rate(sample, said, rate)


def text_print(sample: Sample) -> bytes:
    """Digest what people judge: the response and the constraints."""
    digest = blake2b(digest_size=8)
    for text in (sample.response or "", *(each.text for each in sample.checklist)):
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.digest()


def _unit(row: Scored, rate: Rate | None, by: str | None) -> Iterator[DrawUnit]:
    if row.sample is None or row.critique is None or not row.sample.checklist:
        return
    sample, judgments = row.sample, row.critique.judgments
    states = [each.status for each in judgments if each.status is not Status.NOT_APPLICABLE]
    if states:
        model = sample.tags.get("model")
        yield DrawUnit(
            row.id,
            _kind(sample, judgments, by),
            math.nan if rate is None else _rate(sample, judgments, rate),
            sum(status.decided for status in states),
            len(states),
            None if model is None else str(model),
            text_print(sample),
        )


def _kind(sample: Sample, judgments: Sequence[Judgment], by: str | None) -> str:
    """Return what a row is drawn by: nothing, a tag, or whether all votes agree on all of it."""
    if by != DOUBT:
        return "" if by is None else str(sample.tags.get(by, ""))
    sure = all(each.status.settled and each.confidence in (None, 1) for each in judgments)
    return SURE if sure else DOUBTFUL


def _rate(sample: Sample, judgments: Sequence[Judgment], rate: Rate) -> float:
    """Compute a row's rate by what is decided; NaN where that is nothing."""
    if rate == "score":
        decided = [
            (constraint, judgment)
            for constraint, judgment in zip(sample.checklist, judgments, strict=True)
            if value(constraint, judgment) is not None
        ]
        outcome = rubric_outcome(*zip(*decided, strict=True)) if decided else None
        if outcome is not None:
            share = score_share(OWN_SCORE, outcome, "strict")
            return math.nan if share is None else share.low
    elif any(each.is_penalty for each in sample.checklist):
        what = f"{sample.id!r} has criteria with negative points: to meet all isn't asked for"
        raise UsageError(what, hint="--rate score estimates the weighted score")
    met = [each.status is Status.MET for each in judgments if each.status.decided]
    if not met:
        return math.nan
    return float(all(met)) if rate == "isr" else sum(met) / len(met)


RATES = {"csr": "constraints met", "isr": "responses fully met", "score": "weighted score"}

FEW_LABELS = 30


def document(result: Mapping[str, Any]) -> Document:
    """Lay out a calibration as a document."""
    text = (
        f"{RATES[result['rate']].capitalize()}, as people would find: "
        f"{percent(result['value'], 1)} % ({interval(result['interval'])}), from "
        f"{amount(result['labels'], 'labelled row')} of {result['units']:,}."
    )
    note = (
        "PPI++: the judge's verdicts on all rows, corrected by its errors on those drawn at "
        "random. Intervals: 95 %, rows independent of each other, for all rows that these stand "
        "for: of the run's own rows alone more is known."
    )
    notes = [note]
    if result["coverage"] < 1:
        covered = percent(result["coverage"], 1)
        notes.append(
            f"The judge decided {covered} % of the verdicts; rows go by what it decided, and one "
            "without any by the mean of the others. Labels correct for that, too."
        )
    if result["labels"] < FEW_LABELS:
        few = amount(result["labels"], "label")
        notes.append(f"{few} say little: with fewer than {FEW_LABELS} the intervals are rough.")
    return Document("Calibration", [text], list(_tables(result)), notes)


def _tables(result: Mapping[str, Any]) -> Iterator[Table]:
    rows = [
        ("PPI++", percent(result["value"]), interval(result["interval"])),
        ("labels alone", percent(result["classical"]), interval(result["classical_interval"])),
        ("the judge alone", percent(result["judged"]), interval(None)),
    ]
    note = f"The verdicts weigh {decimal(result['weight'], 2)}: 0 is labels alone, 1 all they can."
    yield Table("Rate", ("from", "%", INTERVAL), rows, note)
    kinds = result.get("kinds", {})
    if kinds:
        heads = (result["draw"]["by"], "%", INTERVAL, "judge %", "labels")
        lines = [
            (
                kind,
                percent(each["value"]),
                interval(each["interval"]),
                percent(each["judged"]),
                f"{each['labels']:,}",
            )
            for kind, each in kinds.items()
        ]
        yield Table(f"By {result['draw']['by']}", heads, lines)
    bias = result["bias"]
    errors = {"all": bias["error"], **bias["models"]}
    columns = ("model", "error", INTERVAL, "rows")
    by_model = [
        (name, signed(each["value"]), interval(each["interval"], signed), f"{each['rows']:,}")
        for name, each in errors.items()
    ]
    note = "Verdict minus label, in points: above 0 the judge is too lenient."
    yield Table("Errors by the model that answered", columns, by_model, note)
