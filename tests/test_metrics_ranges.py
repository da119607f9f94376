"""A rate that depends on an undecided verdict is a range: from the least to the most it can be."""

import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from heedful import evaluate
from heedful.cli.judging import Gate, below
from heedful.core.nouns import Check, Constraint, Critique, Judgment, Sample, Status
from heedful.metrics import Summary
from heedful.metrics.rates import Share, known_value, macro_measure, mean_measure, measure
from jsonl import write_rows
from properties import of_a_hundred

Row = tuple[Sample, tuple[str, ...]]
"""A sample and the verdicts on it: ``1``, ``0`` or ``?``."""

STATUSES = {"1": Status.MET, "0": Status.UNMET, "?": Status.UNPARSED}
MOST = 5
"""Undecided verdicts of all rows, of which every completion is computed."""

BENCHMARKS: dict[str, dict[str, Any]] = {
    "": {"kind": "x"},
    "advancedif": {"task": "a"},
    "sysbench": {"system_id": 1, "turn": 1},
    "structflow": {},
    "multichallenge": {"axis": "b"},
    "followbench": {"conversation_id": 2, "level": 1},
    "complexbench": {"group": 3, "idx_in_group": 1},
    "multiif": {"conversation_id": 4, "turn": 1, "language": "English"},
    "healthbench": {},
    "prbench": {},
    "profbench": {"domain": "c"},
    "profbench_judge": {"domain": "c", "model": "m"},
    "researchrubrics": {},
    "ruverbench": {},
    "paperbench": {"paper": "d"},
    "wildbench": {},
    "wildbench_reward": {},
}

NO_MISTAKES = ("ruverbench", "wildbench", "wildbench_reward")
"""Benchmarks whose weights are above 0."""


@st.composite
def rows(draw: st.DrawFn, benchmark: str) -> list[Row]:
    """Draw some rows of a benchmark, few of whose verdicts are undecided."""
    weighted = draw(st.booleans())
    checked = benchmark == "multiif" or draw(st.booleans())
    made: list[Row] = []
    left = MOST
    for number in range(draw(st.integers(1, 4))):
        verdicts = []
        for _ in range(draw(st.integers(1, 3))):
            verdicts.append(draw(st.sampled_from("110?" if left else "110")))
            left -= verdicts[-1] == "?"
        weights = st.sampled_from([3.0, 1.0] if benchmark in NO_MISTAKES else [3.0, 1.0, -2.0])
        checklist = [
            Constraint(
                text=f"c{at}",
                type=draw(st.sampled_from("xy")),
                priority=draw(st.sampled_from(["primary", "secondary", None])),
                check=Check(id="a:b") if checked else None,
                weight=draw(weights) if weighted else None,
                gate=weighted and draw(st.booleans()),
                tags=["composition:Selection"] if at == 0 else [],
            )
            for at in range(len(verdicts))
        ]
        tags: dict[str, Any] = dict(BENCHMARKS[benchmark])
        if "group" in tags:
            tags["group"] = number // 2
        for step in ("turn", "level", "idx_in_group"):
            if step in tags:
                tags[step] = number % 3 + 1
        sample = Sample(
            id=f"r{number}",
            conversation=({"role": "user", "content": f"p{number // 2}"},),
            instruction_id=f"i{number // 2}",
            checklist=tuple(checklist),
            response="r",
            labels=tuple(draw(st.lists(st.booleans(), min_size=3, max_size=3)))[: len(verdicts)],
            tags={"benchmark": benchmark, "model": "m", **tags},
        )
        made.append((sample, tuple(verdicts)))
    return made


def summed(given_rows: Sequence[Row]) -> dict[str, Any]:
    summary = Summary()
    for sample, verdicts in given_rows:
        checked = sample.checklist[0].check is not None
        statuses = [STATUSES[letter] for letter in verdicts]
        judgments = tuple(Judgment(status=s, loose=s if checked else None) for s in statuses)
        summary.add(sample, Critique(judgments=judgments))
    return summary.result()


def completions(given_rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Decide the undecided verdicts in every way."""
    left = sum(verdicts.count("?") for _, verdicts in given_rows)
    for decided in itertools.product("10", repeat=left):
        letters = iter(decided)
        yield [
            (sample, tuple(next(letters) if v == "?" else v for v in verdicts))
            for sample, verdicts in given_rows
        ]


def measures(found: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(found, dict):
        if "bounds" in found:
            yield path, found
        else:
            for name, part in found.items():
                yield from measures(part, f"{path}/{name}")


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@of_a_hundred(60)
@given(st.data())
def test_a_range_is_from_the_least_to_the_most_of_all_completions(
    benchmark: str, data: st.DataObject
) -> None:
    drawn = data.draw(rows(benchmark))
    found = dict(measures(summed(drawn)))
    decided = [dict(measures(summed(each))) for each in completions(drawn)]
    for path, measured in found.items():
        values = [each[path]["value"] for each in decided if path in each]
        if None in values or not values:
            continue  # a drop from 0 isn't defined
        if path.endswith("/success"):
            continue  # whether anything was decided
        least, most = min(values), max(values)
        assert measured["bounds"] == pytest.approx([least, most]), path
        known = math.isclose(least, most, abs_tol=1e-12)
        assert measured["value"] == (pytest.approx(least) if known else None), path
        low, high = measured["interval"] or (least, most)
        assert low <= least + 1e-9, path
        assert most - 1e-9 <= high, path
        assert isinstance(measured["undecided"], int)
        assert known or measured["undecided"], path


@of_a_hundred(20)
@given(
    st.sampled_from(sorted(BENCHMARKS)).flatmap(rows),
    st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 0.75, 1.0]),
)
def test_a_gate_passes_iff_it_passes_for_every_completion(drawn: list[Row], least: float) -> None:
    summary = summed(drawn)
    for family, rates in summary["metrics"].items():
        for name in rates:
            gate = Gate(name, family, name, least)
            held = [
                not below(gate, other)
                for other in map(summed, completions(drawn))
                if name in other["metrics"].get(family, {})
            ]
            if "drop" not in name and name != "success":  # as above
                assert (not below(gate, summary)) == all(held), (family, name)


def test_units_are_counted_whole() -> None:
    rate = measure({Share(3, 3, 4): 2, Share(1, 3, 4): 1})
    assert (rate["numerator"], rate["denominator"], rate["undecided"]) == (7, 12, 2)
    assert (rate["value"], rate["bounds"]) == (None, [7 / 12, 9 / 12])
    assert rate["coverage"] == pytest.approx(10 / 12)
    assert known_value(Share(1, 2, 2)) is None
    assert known_value(Share(1, 1, 2)) == 0.5
    assert measure({})["bounds"] is None


def test_rows_that_could_not_be_read_make_a_rate_a_range() -> None:
    rate = measure({Share.known(1): 3, Share.known(0): 1}, readable=0.8)
    assert rate["value"] is None
    assert rate["bounds"] == pytest.approx([3 / 5, 4 / 5])
    score = measure({Share.known(-0.5): 4}, readable=0.8, span=(-1, 1))
    assert score["bounds"] == pytest.approx([-0.4 - 0.2, -0.4 + 0.2])


def test_a_mean_of_rates_is_known_where_all_are() -> None:
    known, open_ = {Share.known(1): 3, Share.known(0): 1}, {Share(0, 1, 1): 2}
    assert macro_measure({"a": known, "b": {Share.known(1): 1}})["value"] == 0.875
    mixed = macro_measure({"a": known, "b": open_})
    assert (mixed["value"], mixed["bounds"]) == (None, [0.375, 0.875])
    assert (mixed["rates"], mixed["undecided"]) == (2, 1)
    pairs = mean_measure({"": {(Share.known(1), Share(0, 1, 1)): 1}})
    assert (pairs["value"], pairs["bounds"]) == (None, [0.5, 1.0])


@pytest.mark.slow
def test_seven_known_failures_of_twenty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No row is known to be fully met, and seven are known not to be."""
    taste, commas = "Be witty.", "No commas."
    file = tmp_path / "rows.jsonl"
    lines = [
        {"prompt": f"p{n}", "response": "a, b" if n < 7 else "a b", "checklist": [taste, commas]}
        for n in range(20)
    ]
    write_rows(file, lines)
    code = run("evaluate", file, "--judge", "rules,compiled", "--run", tmp_path / "run",
               "--fail-under", "fully_met=0.4", "--min-coverage", "0")  # fmt: skip
    captured = capsys.readouterr()
    assert code != 0
    assert "responses fully met 0.0 to 65.0 %: 13 of 20 undecided" in captured.out
    assert "isn't surely at least 40" in captured.out + captured.err
    whole = evaluate([{**lines[0], "checklist": [commas]}] * 2)
    assert "0.0 %" in repr(whole)
