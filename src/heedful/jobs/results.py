"""Results of a run: its rows, its summary, and their files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from pydantic_core import to_json

from heedful.core.errors import UsageError
from heedful.core.noun import to_text
from heedful.core.nouns import Critique, Sample, Status
from heedful.core.outputs import atomically, refuse_inputs, refuse_run_files
from heedful.engine.runner import Written
from heedful.judges.base import CODE
from heedful.judges.dependencies import DEPENDENCY

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from heedful.core.nouns import Reply, Scoring
    from heedful.data.formats import Format
    from heedful.engine.store import Entry, Store
    from heedful.judges import Judge


N = TypeVar("N", Sample, Critique)

RESULTS = "results.jsonl"
"""The file of all rows with their scores and judgments."""

WRITTEN = (
    RESULTS,
    "summary.json",
    "samples.jsonl",
    "triplets.jsonl",
    "dropped.jsonl",
    "funnel.json",
    "funnel.md",
)
"""The files that runs write into their directories, beside the store."""

PROBLEMS_LISTED = 100
"""Failed rows that the summary names; the results file has them all."""


class ConstraintVerdict(NamedTuple):
    """A verdict with the constraint that it is on.

    Attributes:
        constraint: the constraint's text.
        type: its type, where it has one.
        status: ``met``, ``unmet``, or why there is no verdict.
        met: whether it is met; ``None`` where that isn't decided.
        explanation: why.
        judge: who decided.
        confidence: from 0 to 1, where the judge has one.
        label: the verdict that the data holds to be right.
    """

    constraint: str
    type: str | None
    status: str
    met: bool | None
    explanation: str
    judge: str
    confidence: float | None
    label: bool | None


class Scored(NamedTuple):
    """One row of the input with its result.

    Attributes:
        line: line in the input file, from 1.
        id: the row's id, ``row-N`` or ``line-N`` where it has none.
        sample: the sample; ``None`` where the row could not be read.
        critique: its judgments; ``None`` where there are none.
        problem: the reason where there are none.
        reply: the judge's reply, where the output's format writes replies back.
    """

    line: int
    id: str
    sample: Sample | None
    critique: Critique | None
    problem: str | None
    reply: Reply | None = None

    @property
    def verdicts(self) -> list[ConstraintVerdict]:
        """The verdicts, each with the constraint that it is on."""
        if self.sample is None or self.critique is None:
            return []
        labels = self.sample.labels or ()
        return [
            ConstraintVerdict(
                constraint.text,
                constraint.type,
                judgment.status.value,
                judgment.status is Status.MET if judgment.status.decided else None,
                judgment.explanation,
                judgment.judge,
                judgment.confidence,
                labels[place] if place < len(labels) else None,
            )
            for place, (constraint, judgment) in enumerate(
                zip(self.sample.checklist, self.critique.judgments, strict=True)
            )
        ]


def judged_by(summary: Mapping[str, Any]) -> str:
    """Name a run's judge in words: ``code`` where no other of several gave a verdict."""
    judge = str(summary["judge"])
    by_code = {*summary.get("decided_by", ("",))} <= {*CODE, DEPENDENCY}
    several = set(judge.split(",")) <= {*CODE, "recorded"} and "," in judge
    return "code" if several and by_code else judge


def scored(store: Store) -> Iterator[Scored]:
    """Yield a run's rows in input order, in constant memory."""
    return map(scored_entry, store.entries())


def scored_entry(entry: Entry) -> Scored:
    """Read the result of one row."""
    key = entry.id or f"line-{entry.line}"
    if entry.problem is not None or entry.input is None:
        return Scored(entry.line, key, None, None, entry.problem or "not read")
    sample = parsed(Sample, entry.input)
    if entry.output is not None:
        critique = parsed(Critique, entry.output)
    else:
        reason = entry.failure or "not judged yet"
        critique = Critique.undecided(sample.checklist, Status.FAILED, reason)
    return Scored(entry.line, key, sample, critique, entry.failure)


def parsed(noun: type[N], text: str) -> N:
    """Read a noun, or take the one that the text was written from."""
    value = text.value if isinstance(text, Written) else noun.model_validate_json(text)
    return cast("N", value)


def written(critique: Critique) -> str:
    """Write a critique as the store keeps it."""
    judgments = [judgment.fields() for judgment in critique.judgments]
    rest = to_text(critique, {"judgments"})
    text = _joined(_json({"judgments": judgments}), rest)
    plain = not critique.declared and all(
        judgment.confidence is None and not judgment.__pydantic_extra__
        for judgment in critique.judgments
    )
    # What a plugin put into other fields may come back from JSON as something else.
    return Written(text, critique) if plain else text


def _json(value: Any) -> str:
    return to_json(value, inf_nan_mode="null").decode()


def is_undecided(entry: Entry) -> bool:
    """Tell whether a row was judged, and some of its verdicts were not decided."""
    if entry.failure is not None:
        return True
    if entry.problem is not None or entry.output is None:
        return False
    critique = Critique.model_validate_json(entry.output)
    return not all(judgment.status.settled for judgment in critique.judgments)


def record(row: Scored, scoring: Scoring) -> dict[str, Any]:
    """Lay out one line of the results file: a native sample with its scores and judgments.

    The file can be read and scored again.
    """
    if row.sample is None or row.critique is None:
        return {
            "id": row.id,
            "line": row.line,
            "problem": row.problem,
            "scores": {},
            "judgments": [],
        }
    from heedful.data.formats import native
    from heedful.metrics import scores

    sample, critique = row.sample, row.critique
    result: dict[str, Any] = {
        "id": sample.id,
        "tags": sample.tags,
        "scores": scores(sample, critique, scoring),
        "judgments": native.judgments(sample, critique),
    }
    if critique.declared:
        result["declared"] = critique.declared
    if row.problem is not None:
        result["problem"] = row.problem
    return result | native.write_beside_results(sample)


def line(
    row: Scored,
    scoring: Scoring,
    scores: Mapping[str, float | None] | None = None,
    entry: Entry | None = None,
) -> str:
    """Write :func:`record` as a line of JSON, of texts that the row's entry has already."""
    from heedful import metrics
    from heedful.data.formats.native import RESULT_FIELDS

    sample, critique = row.sample, row.critique
    if sample is None or critique is None or not RESULT_FIELDS.isdisjoint(sample.model_extra or ()):
        return to_json(record(row, scoring)).decode() + "\n"
    if scores is None:
        scores = metrics.scores(sample, critique, scoring)
    given = None if entry is None else entry.input
    judgments = [
        {"constraint": constraint.text, **judgment.fields()}
        for constraint, judgment in zip(sample.checklist, critique.judgments, strict=True)
    ]
    head = to_json({"id": sample.id, "tags": sample.tags, "scores": scores}).decode()
    said: dict[str, Any] = {"declared": critique.declared} if critique.declared else {}
    if row.problem is not None:
        said["problem"] = row.problem
    more = f",{to_json(said).decode()[1:-1]}" if said else ""
    rest = given.fields if isinstance(given, StoredSample) else _further_fields(sample)[1:]
    end = f",{rest}" if len(rest) > 1 else "}"
    return f'{head[:-1]},"judgments":{_json(judgments)}{more}{end}\n'


def with_reply(line: str, row: Scored) -> str:
    """Add what the judge replied, word for word, to a row's line of the results file."""
    from heedful.data.formats.native import JUDGE_REPLY

    if row.critique is None or row.critique.text is None:
        return line
    return _joined(line.rstrip("\n"), to_json({JUDGE_REPLY: row.critique.text}).decode()) + "\n"


class StoredSample(Written[Sample]):
    """A sample as the store keeps it."""

    __slots__ = ("_begun",)
    _begun: int  # characters before the further fields

    @property
    def fields(self) -> str:
        """What a line of the results file ends with: the sample without id and tags, as JSON.

        The brace that opens it is left out.
        """
        return self[self._begun :]

    @classmethod
    def of(cls, sample: Sample) -> StoredSample:
        """Write a sample, so that its line of the results needn't write it again."""
        fields = _further_fields(sample)
        named: dict[str, Any] = {"id": sample.id}
        if sample.tags:
            named["tags"] = sample.tags
        begun = _json(named)
        stored = cls(_joined(begun, fields), sample)
        stored._begun = len(begun)
        return stored


def _further_fields(sample: Sample) -> str:
    if not sample.source or sample.__pydantic_extra__:
        return to_text(sample, {"id", "tags"})
    fields = to_text(sample, {"id", "tags", "source"})
    # As a field of its own a record takes a third of the time.
    source = _json({"source": sample.source})
    return source if fields == "{}" else f"{fields[:-1]},{source[1:]}"


def _joined(first: str, second: str) -> str:
    """Make one object of two."""
    return first if second == "{}" else f"{first[:-1]},{second[1:]}"


def check_folder(path: Path, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Refuse an output that cannot be written before anything is done, not after."""
    if not path.parent.is_dir():
        raise UsageError("there is no such folder", where=str(path.parent), hint="make it first")
    if path.is_dir():
        raise UsageError("this is a folder", where=str(path), hint="name a file in it")
    refuse_inputs(path, inputs)
    refuse_run_files(path)


_TABLES = (".xlsx", ".xls", ".parquet", ".tsv")
"""Suffixes of files that a reader would take for what they are not."""


def check_output(
    path: Path, written_as: Format | None, inputs: Iterable[str | os.PathLike[str]] = ()
) -> None:
    """Refuse an output that cannot be written before anything is judged, not after."""
    check_folder(path, inputs)
    writer = written_as.writer(path) if written_as else None
    if path.suffix.lower() in _TABLES:
        what = "results are not written as a table"
        hint = "name a .jsonl file; heedful export writes tables"
        raise UsageError(what, where=str(path), hint=hint)
    if writer is None and path.suffix.lower() == ".csv":
        raise UsageError(
            "only AdvancedIF results can be written as CSV",
            where=str(path),
            hint="name a .jsonl file",
        )


def check_run(run: str | os.PathLike[str] | None, inputs: Iterable[Path]) -> None:
    """Refuse a run whose own files would take the place of what it reads."""
    inputs = list(inputs)
    for name in WRITTEN if run is not None else ():
        refuse_inputs(Path(run or "") / name, inputs)


def write_output(
    store: Store, path: Path, written_as: Format | None, scoring: Scoring, judge: Judge
) -> None:
    """Write the results in the input's own format if it has a writer, else as JSON lines."""
    writer = written_as.writer(path) if written_as else None
    if writer is not None:
        reply = None if written_as is None else written_as.reply
        writer(path, lambda: _with_replies(scored(store), reply, judge))
        return
    with atomically(path) as file:
        for row in scored(store):
            file.write(line(row, scoring))


def _with_replies(rows: Iterator[Scored], prompt: str | None, judge: Judge) -> Iterator[Scored]:
    """Add the replies in the format's form, so that they read as the verdicts that came of them."""
    if prompt is None:
        yield from rows
        return
    from heedful.judges import prompts
    from heedful.judges.model import request

    for row in rows:
        if row.sample is None or row.critique is None:
            yield row
            continue
        reply = prompts.reply(prompt, row.critique, row.sample.checklist)
        said = request(judge, row.sample, row.critique)
        yield row._replace(reply=replace(reply, prompt=said))
