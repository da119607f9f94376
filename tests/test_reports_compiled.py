"""Constraints that compile: the judge by code, and what `heedful checklist --compile` says."""

import asyncio

from rich.console import Console

from heedful import Check, Constraint, Sample, Status
from heedful.jobs.checklists.compiled import (
    CompiledRow,
    Coverage,
    compiled_rows,
    coverage_table,
    lines,
)
from heedful.judges import Compiled, Measurement

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


CHECKLIST = (
    Constraint(text="At most 5 words."),
    Constraint(text="以“雨”开头"),
    Constraint(text="Be kind."),
    Constraint(text="No commas.", check=Check(id="punctuation:no_comma")),
    Constraint(text='Include "rain".'),
)


def sample(response: str | None) -> Sample:
    return Sample(id="1", checklist=CHECKLIST, response=response)


def test_what_compiles_is_decided_and_the_rest_says_why_not() -> None:
    judgments = asyncio.run(Compiled().judge(sample("It rains today."))).judgments
    assert [each.status for each in judgments] == [
        Status.MET, Status.UNMET, Status.UNSUPPORTED, Status.UNSUPPORTED, Status.UNSUPPORTED,
    ]  # fmt: skip
    assert judgments[0].explanation == "3 words, asked for at most 5"
    assert "does not compile" in judgments[2].explanation
    assert judgments[3].explanation
    assert judgments[4].explanation.startswith("cannot be decided by code")


def test_measurements_are_made_for_a_model_that_judges() -> None:
    given = sample("Rain, rain")
    facts = [Measurement()(given, constraint) for constraint in given.checklist]
    assert facts == [
        "the response has 2 words",
        "the response starts with 'Rain, rain'",
        None,
        "the response has 1 comma",
        "'rain' occurs 2 times",
    ]
    assert Measurement()(sample(None), CHECKLIST[0]) is None
