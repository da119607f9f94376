"""Wherever a rate rests on a part of the verdicts, its coverage and its bounds stand beside it."""

import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compared import sample
from heedful import Sample, compare, evaluate, judge_accuracy
from heedful.analysis.compare.tables import tables as compare_tables
from heedful.analysis.meta.tables import tables as meta_tables
from heedful.jobs.evaluate_tables import tables as evaluate_tables
from heedful.jobs.saved_run import SavedRun
from heedful.reporting.notation import COVERAGE, NOTHING
from heedful.reporting.table import Table

pytestmark = pytest.mark.slow  # every table of every command

NO_RATES = {
    # words, counts, what is tested, the interval of the rate before it
    *("metric", "type", "task", "split", "subtype", "priority", "verifier", "constraint", "pair"),
    *("run", "row − column", "judge", "judges", "judge: averaged", "language", "turn", "group"),
    *("name", "models", "scoring", "rows", "reason", "setting", "known by", "constraints", "by"),
    *("verdicts", "counts", "n", "met", "unmet", "undecided", "unparsed", "failed", "member"),
    *("unsupported", "only first", "only second", "both", "neither", "wins", "losses", "ties"),
    *("p", "p (Holm)", "higher", "95 % CI", COVERAGE, "bounds", "of", "α", "characters", ""),
    *("met ✓", "met ✗", "unmet ✓", "unmet ✗", "language and turn", "sample, constraint", "text"),
    *("known verdict", "verdict", "votes", "% majority", "% with the majority"),
    *("rank", "✓✗", "✗✓"),
}
BESIDE = re.compile(r"\[.+ to .+\]|% decided: .+ to .+")
DECIDED = ("success rate", "punctuation:no_comma")
"""Whether a row was judged at all, which is always known, and the one check that there is."""

NUMBER = re.compile(r"\d")


def unexplained(shown: Iterable[Table], *, terminal: bool = False) -> Iterator[str]:
    """Name the cells with a rate of which a reader isn't told how much was decided."""
    listed = list(shown)
    apart = {
        (table.title.removeprefix("Not all decided: "), row[0])
        for table in listed
        if table.title.startswith("Not all decided: ")
        for row in table.rows
    }
    for table in listed:
        if table.title.startswith(("Verdicts", "Settings", "Of all", "Not all decided", "Runs")):
            continue  # counts and words
        hidden = table.details if terminal else ()
        for row in table.rows:
            cells = {
                name: cell
                for name, cell in zip(table.columns, row, strict=True)
                if name not in hidden
            }
            covered = cells.get(COVERAGE, "")
            whole = covered == "100.0"
            told = covered not in ("", NOTHING) and bool(cells.get("bounds"))
            for column, cell in cells.items():
                if column in NO_RATES or not NUMBER.search(cell):
                    continue
                if any(name in f"{table.title}{column}{row[0]}" for name in DECIDED):
                    continue
                beside = bool(BESIDE.search(cell)) and ("%" in cell or bool(covered))
                if not (whole or told or beside or (table.title, row[0]) in apart):
                    yield f"{table.title}: {row[0]}, {column}: {cell!r}"


def said(draw: random.Random, number: int) -> str:
    """Verdicts of a row: in half of the rows one is undecided, each of them in some."""
    verdicts = draw.choices("m" * 9 + "u", k=4)
    if number // 4 % 2 == 0:
        verdicts[(number + number // 8) % 4] = "?"
    return "".join(verdicts)


def plain(draw: random.Random) -> list[Sample]:
    return [
        sample(
            f"s{number}",
            said(draw, number),
            f"answer {draw.random()}",
            tags={"task": "xy"[number % 2], "split": "ab"[number // 2 % 2]},
            labels=tuple(draw.choice([True, False]) for _ in range(4)),
        )
        for number in range(16)
    ]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    for number, name in enumerate(("a", "b", "c")):
        evaluate(plain(random.Random(number)), judge="recorded", run=folder / name)
    return [folder / name for name in ("a", "b", "c")]


@pytest.mark.parametrize("groups", [None, 12])
@pytest.mark.parametrize("number", [2, 3])
def test_tables_of_a_comparison(runs: list[Path], number: int, groups: int | None) -> None:
    result = compare(*runs[:number], anyway=True)
    shown = list(compare_tables(result, groups=groups, flips=3))
    assert len(shown) > 3
    assert not list(unexplained(shown, terminal=groups is not None))
    for pair in result["pairs"]:
        for rates in pair["metrics"].values():
            assert any(measured["difference"]["value"] is not None for measured in rates.values())
            for measured in rates.values():
                low, high = measured["bounds"]
                if measured["coverage"] == 1:
                    value = measured["difference"]["value"]
                    assert (low, high) == pytest.approx((value, value))
                else:
                    assert low < high


@pytest.mark.parametrize("scoring", ["strict", "faithful"])
def test_tables_of_judges_against_labels(tmp_path: Path, scoring: Any) -> None:
    labelled = plain(random.Random(1))
    folder = tmp_path / "other"
    evaluate(plain(random.Random(2)), judge="recorded", run=folder, scoring=scoring)
    summary = judge_accuracy(labelled, judge="recorded", runs=[folder], scoring=scoring)
    of_decided = ("Agreement", "Calibration")
    shown = [table for table in meta_tables(summary) if not table.title.startswith(of_decided)]
    assert len(shown) > 5
    assert not list(unexplained(shown))
    for judge in summary["judges"]:
        groups = [judge["pooled"], judge["per_instruction"], *judge["by_constraint_type"].values()]
        for group in groups:
            for rate in (rate for rate in group.values() if isinstance(rate, dict)):
                if rate.get("bounds") and rate["value"] is not None:
                    assert rate["bounds"][0] <= rate["value"] + 1e-9
                    assert rate["value"] <= rate["bounds"][1] + 1e-9


def test_rates_without_an_interval_say_why(tmp_path: Path) -> None:
    evaluate([sample("s", "mu", tags={"task": "x"})], judge="recorded", run=tmp_path / "a")
    with SavedRun.open(tmp_path / "a") as run:
        shown = list(evaluate_tables(run.summary, groups=12))
    for table in shown[:2]:
        assert NOTHING in table.rows[0]
        assert "single instruction" in table.note
