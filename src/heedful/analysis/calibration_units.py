"""Rows of a run as a calibration sees them: what the judge says of each, and what people say."""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from heedful.core.errors import UsageError
from heedful.core.nouns import Judgment, Status
from heedful.core.rubric import judgment_at, value
from heedful.core.scale import LABEL_LEVELS, NOT_APPLICABLE
from heedful.engine.saved_run import SavedRun
from heedful.jobs.results import scored_entry
from heedful.metrics.rubrics import family_shares, rubric_outcome

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from heedful.core.nouns import Sample
    from heedful.jobs.results import Scored

    Name = str | os.PathLike[str]

Rate = Literal["csr", "isr", "score"]
"""Of a row: the share of its constraints that is met, whether all are, or its weighted score."""


class DrawUnit(NamedTuple):
    """A row of the run.

    Attributes:
        id: the row's.
        kind: its value of the tag that rows are drawn by.
        verdict: its rate by what the judge decided; where that is nothing, the mean of the others.
        decided: verdicts that were decided.
        total: verdicts on what applies.
        length: of the response in characters.
        model: that wrote the response.
        print: of what is judged, to tell another text with the same id.
    """

    id: str
    kind: str
    verdict: float
    decided: int
    total: int
    length: int
    model: str | None
    print: bytes


def units(run: Name, rate: Rate | None, by: str | None) -> list[DrawUnit]:
    """Read the rows of a run, in order of their ids."""
    if rate is not None and rate not in get_args(Rate):
        raise UsageError(f"no such rate: {rate!r}", hint=" or ".join(get_args(Rate)))
    with SavedRun.open(run) as saved:
        read = [unit for row in saved.rows(scored_entry) for unit in _unit(row, rate, by)]
    if by is not None and all(unit.kind == "" for unit in read):
        raise UsageError(f"no row has the tag {by!r}", hint="draw by a tag of the rows, or by none")
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
            "" if by is None else str(sample.tags.get(by, "")),
            math.nan if rate is None else _rate(sample, judgments, rate),
            sum(status.decided for status in states),
            len(states),
            len(sample.response or ""),
            None if model is None else str(model),
            text_print(sample),
        )


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
            return family_shares("rubric", outcome, "strict")["score"].low
    elif any(each.is_penalty for each in sample.checklist):
        what = f"{sample.id!r} has criteria with negative points: to meet all isn't asked for"
        raise UsageError(what, hint="--rate score estimates the weighted score")
    met = [each.status is Status.MET for each in judgments if each.status.decided]
    if not met:
        return math.nan
    return float(all(met)) if rate == "isr" else sum(met) / len(met)
