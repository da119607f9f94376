"""What `heedful checklist --compile` says of each constraint."""

from rich.console import Console

from heedful import Constraint, Sample
from heedful.jobs.checklists.compiled import (
    CompiledRow,
    Coverage,
    compiled_rows,
    coverage_table,
    lines,
)

SAMPLE = Sample(
    id="7",
    checklist=(
        Constraint(text="At most 50 words.", type="numerical"),
        Constraint(text="At most 50 words,\nif possible.", type="numerical"),
        Constraint(text="Be kind."),
    ),
)


def rows() -> list[CompiledRow]:
    return list(compiled_rows([SAMPLE]))


def test_each_constraint_is_shown_with_what_it_became() -> None:
    checked, measured, neither = (list(lines(row)) for row in rows())
    assert "heedful:count" in checked[1]
    assert "'if possible'" in measured[1]
    assert "words" in measured[2]
    assert len(neither) == len(checked) == 2
    assert "'Be kind'" in neither[1]


def test_coverage_is_counted_by_type() -> None:
    coverage = Coverage()
    for row in rows():
        coverage.add(row)
    console = Console(width=100, record=True, file=None, quiet=True)
    console.print(coverage_table(coverage).terminal())
    assert (coverage.all.total(), coverage.checks.total(), coverage.measured.total()) == (3, 1, 1)
    assert coverage.checks["numerical"] == 1
