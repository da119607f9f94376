"""Compile the constraints of a file: row by row, and counted by type."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from pydantic_core import to_json

from heedful.core.nouns import Sample
from heedful.core.outputs import atomically, refuse_inputs, refuse_run_files
from heedful.data.formats import native
from heedful.reporting.notation import percent
from heedful.reporting.table import Table
from heedful.verify.base import describe
from heedful.verify.compiler.compile import compile_constraint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import Any

    from heedful.core.nouns import Constraint
    from heedful.data.formats import Row
    from heedful.verify.compiler.compile import CompiledConstraint


class CompiledRow(NamedTuple):
    """One constraint of a file, compiled."""

    sample: str
    position: int
    constraint: Constraint
    compiled: CompiledConstraint


def compiled_rows(source: Iterable[Row | Sample]) -> Iterator[CompiledRow]:
    """Compile every constraint of a source, lazily; rows that cannot be read are passed over."""
    for row in source:
        sample = row if isinstance(row, Sample) else row.sample
        if sample is None:
            continue
        for position, constraint in enumerate(sample.checklist, start=1):
            compiled = compile_constraint(constraint.text)
            yield CompiledRow(sample.id, position, constraint, compiled)


def lines(row: CompiledRow) -> Iterator[str]:
    """Describe a compiled constraint in a few lines: its check, or why it has none."""
    compiled = row.compiled
    yield f"{row.sample} {row.position}: {' '.join(row.constraint.text.split())}"
    if row.constraint.check is not None:
        yield f"    has a check of its own: {row.constraint.check.id}"
    if compiled.check is not None:
        yield f"    check: {describe(compiled.check)} ({compiled.check.id})"
        return
    yield f"    no check: {compiled.reason}"
    things = dict.fromkeys(_measured(measure.args) for measure in compiled.measures)
    if things:
        yield f"    a model is given: {', '.join(things)}"


def _measured(args: dict[str, Any]) -> str:
    if "unit" in args:
        part = args.get("part", "response").replace("_", " ")
        return f"the number of {args['unit'].replace('_', ' ')} of the {part}"
    if "phrases" in args:
        return f"how often {', '.join(repr(phrase) for phrase in args['phrases'])} occurs"
    return "its matches"


def write_samples(source: Iterable[Row | Sample], path: Path) -> None:
    """Write samples as native JSON lines, with the checks of the constraints that compile.

    A constraint that has a check of its own keeps it; rows that cannot be read are left out.
    """
    refuse_inputs(path, getattr(source, "files", ()))
    refuse_run_files(path)
    with atomically(path) as file:
        for row in source:
            sample = row if isinstance(row, Sample) else row.sample
            if sample is not None:
                file.write(to_json(native.write(with_checks(sample))).decode() + "\n")


def with_checks(sample: Sample) -> Sample:
    """Give constraints the compiler's checks; one with a check of its own keeps it."""
    checklist = tuple(
        constraint.model_copy(
            update={"check": constraint.check or compile_constraint(constraint.text).check}
        )
        for constraint in sample.checklist
    )
    return sample.model_copy(update={"checklist": checklist})


class Coverage:
    """Counts by type how many constraints compile, and how many are at least measured."""

    def __init__(self) -> None:
        self.all: Counter[str] = Counter()
        self.checks: Counter[str] = Counter()
        self.measured: Counter[str] = Counter()

    def add(self, row: CompiledRow) -> None:
        """Count a row."""
        name = row.constraint.subtype or row.constraint.type or "no type"
        self.all[name] += 1
        self.checks[name] += row.compiled.check is not None
        self.measured[name] += row.compiled.check is None and bool(row.compiled.measures)


def coverage_table(coverage: Coverage) -> Table:
    """Lay out how many constraints of each type compile, the most frequent types first."""
    rows = [
        (
            name,
            f"{number:,}",
            f"{checks:,}",
            percent(checks / number if number else None),
            f"{measured:,}",
            percent(measured / number if number else None),
        )
        for name, number, checks, measured in _by_type(coverage)
    ]
    return Table("", ("type", "constraints", "checks", "%", "measured only", "%"), rows)


def _by_type(coverage: Coverage) -> Iterator[tuple[str, int, int, int]]:
    yield "all", coverage.all.total(), coverage.checks.total(), coverage.measured.total()
    for name, number in coverage.all.most_common():
        yield name, number, coverage.checks[name], coverage.measured[name]
