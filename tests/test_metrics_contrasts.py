"""Differences of paired sides: intervals and tests by hand, and by what must always hold."""

import itertools
import json
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compared import only_pair, run
from heedful.analysis.compare.tables import higher
from heedful.metrics.contrasts import Contrast, contrast
from properties import of_a_hundred

Clusters = Counter[tuple[float, ...]]


def passes(first: int, second: int, both: int = 0, neither: int = 0) -> Clusters:
    """Count samples by the sides on which they pass."""
    return Counter(
        {
            (1.0, 1.0, 0.0, 1.0): first,
            (0.0, 1.0, 1.0, 1.0): second,
            (1.0, 1.0, 1.0, 1.0): both,
            (0.0, 1.0, 0.0, 1.0): neither,
        }
    )


def compared(clusters: Mapping[tuple[float, ...], int]) -> Contrast:
    return contrast({"": +Counter(clusters)}, seed=0)


def ends(result: Contrast) -> tuple[float, float]:
    interval = result["difference"]["interval"]
    assert interval is not None
    return interval[0], interval[1]


def mirrored(clusters: Mapping[tuple[float, ...], int]) -> Clusters:
    return Counter({(c, d, a, b): n for (a, b, c, d), n in clusters.items()})


# --- by hand --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "quantile", "p"),
    [
        ((4, 0, 12, 4), 2.0796, 2 / 2**4),  # Student's quantile for 21 degrees of freedom
        ((10, 0, 0, 0), 2.2010, 2 / 2**10),
        ((6, 2, 20, 12), 2.0195, 2 * (1 + 8 + 28) / 2**8),
    ],
)
def test_the_interval_is_bonetts_and_prices(
    counts: tuple[int, int, int, int], quantile: float, p: float
) -> None:
    first, second, *_ = counts
    n = sum(counts) + 2
    value = (first - second) / n
    margin = quantile * math.sqrt(((first + second + 2) / n - value**2) / n)
    result = compared(passes(*counts))
    assert ends(result) == pytest.approx((value - margin, min(1, value + margin)), abs=1e-4)
    assert result["p"] == pytest.approx(p)
    assert result["difference"]["value"] == pytest.approx((first - second) / (n - 2))


def test_where_interval_and_test_disagree_the_test_decides() -> None:
    # Bonett and Price alone begin above 0 for five wins of eight, where p is 2 / 2**5.
    low, high = ends(compared(passes(5, 0, 1, 0)))
    assert compared(passes(5, 0, 1, 0))["p"] == 0.0625
    # Test-based: the difference, 5 of 6, times 1 - 1.96 / 1.86.
    assert low == pytest.approx(5 / 6 * (1 - 1.959964 / 1.862732), abs=1e-5)
    assert high > 0.5
    # Ten small gains that all go one way: p is 2 / 2**10, and the interval is cut at 0.
    small: Clusters = Counter({(0.6 + gain / 1000, 1.0, 0.6, 1.0): 1 for gain in range(1, 11)})
    result = compared(small)
    assert result["p"] == pytest.approx(2 / 2**10, abs=0.002)
    assert 0 < ends(result)[0] < 0.01


def test_constraints_are_tested_by_swapping_whole_samples(tmp_path: Path) -> None:
    """Eight constraints of one sample tell no more than one, if they are met together."""
    ours = {f"x{n}": "mmmmmmmm" if n < 5 else "u" * 8 for n in range(6)}
    theirs = {f"x{n}": "u" * 8 if n < 5 else "mmmmmmmm" for n in range(6)}
    pair = only_pair(run(tmp_path / "a", ours, "1"), run(tmp_path / "b", theirs, "2"))
    table = pair["mcnemar"]["constraints"]
    assert (table["only_first"], table["only_second"]) == (40, 8)
    # Exactly: of 2**6 swaps, those with five or six signs alike.
    assert table["p"] == pair["mcnemar"]["samples"]["p"] == pytest.approx(2 * (1 + 6) / 2**6)
    assert higher(pair["metrics"]["infobench"]["drfr"]) == "neither"


# --- what always holds ----------------------------------------------------------------------------

SIDES = st.dictionaries(
    st.tuples(st.integers(0, 4), st.integers(0, 4)).map(
        lambda met: (float(met[0]), 4.0, float(met[1]), 4.0)
    ),
    st.integers(1, 6),
    min_size=1,
    max_size=8,
)


@of_a_hundred(60)
@given(SIDES)
def test_interval_and_test_never_contradict_each_other(clusters: dict[Any, int]) -> None:
    result = compared(clusters)
    if result["difference"]["interval"] is None:
        assert sum(n for sums, n in clusters.items() if any(sums)) < 2
        return
    low, high = ends(result)
    value, p = result["difference"]["value"], result["p"]
    assert value is not None
    assert p is not None
    assert -1 <= low <= value + 1e-9
    assert value - 1e-9 <= high <= 1
    assert (p < 0.05) == (low > 0 or high < 0)


@of_a_hundred(40)
@given(SIDES)
def test_naming_the_sides_in_the_other_order_changes_only_signs(clusters: dict[Any, int]) -> None:
    there, back = compared(clusters), compared(mirrored(clusters))
    assert there["p"] == back["p"]
    if there["difference"]["interval"] is not None:
        low, high = ends(back)
        assert ends(there) == pytest.approx((-high, -low))


@of_a_hundred(30)
@given(SIDES)
def test_equal_data_have_equal_intervals_and_p_values(clusters: dict[Any, int]) -> None:
    """Whatever is measured, and in whatever order it was counted."""
    shuffled = dict(reversed(list(clusters.items())))
    assert compared(clusters) == compared(shuffled)
    assert contrast({"a": +Counter(clusters)}, seed=0) == contrast(
        {"b": +Counter(clusters)}, seed=0
    )


def test_the_randomization_test_is_that_of_all_swaps() -> None:
    gains = [3, 1, 2, -1, 2, 3, 0]
    clusters: Clusters = Counter((4.0 + gain, 8.0, 4.0, 8.0) for gain in gains)
    swaps = [
        abs(sum(sign * gain for sign, gain in zip(signs, gains, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(gains))
    ]
    exact = sum(total >= abs(sum(gains)) for total in swaps) / len(swaps)
    assert compared(clusters)["p"] == pytest.approx(exact, abs=0.015)


@pytest.mark.parametrize(("n", "rates"), [(9, (0.8, 0.8)), (20, (0.9, 0.7)), (20, (1.0, 0.8))])
@pytest.mark.slow
def test_differences_are_covered_as_often_as_they_say(n: int, rates: tuple[float, float]) -> None:
    """See benchmarks/coverage.py for the whole table."""
    draw = np.random.default_rng(31)
    hits = rejected = 0
    for _ in range(1000):
        first, second = (draw.random((n, 2)) < np.array(rates)).T.astype(float).tolist()
        result = compared(Counter((a, 1.0, b, 1.0) for a, b in zip(first, second, strict=True)))
        low, high = ends(result)
        hits += low - 1e-9 <= rates[0] - rates[1] <= high + 1e-9
        rejected += result["p"] is not None and result["p"] < 0.05
    assert hits / 1000 >= 0.93
    if rates[0] == rates[1]:
        assert rejected / 1000 <= 0.06


@of_a_hundred(15)
@given(
    rows=st.lists(
        st.integers(1, 4).flatmap(
            lambda n: st.tuples(*[st.text("mu?", min_size=n, max_size=n)] * 2)
        ),
        min_size=1,
        max_size=6,
    )
)
def test_bounds_are_the_least_and_the_most_that_the_difference_can_be(
    rows: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    sides = [
        run(folder / name, {f"x{n}": row[side] for n, row in enumerate(rows)}, name)
        for side, name in enumerate("ab")
    ]
    ends = [json.loads((side / "summary.json").read_text("utf-8"))["metrics"] for side in sides]
    for family, rates in only_pair(*sides)["metrics"].items():
        for name, measured in rates.items():
            (low, high), (other_low, other_high) = (end[family][name]["bounds"] for end in ends)
            assert measured["bounds"] == pytest.approx([low - other_high, high - other_low])
            if measured["coverage"] == 1:
                assert measured["bounds"] == pytest.approx([measured["difference"]["value"]] * 2)


def test_undecided_verdicts_are_no_evidence_of_a_difference(tmp_path: Path) -> None:
    both = {f"x{n}": "mmm" if n % 3 else "muu" for n in range(30)}
    some, others = dict(both), dict(both)
    some |= {f"y{n}": "mm?" for n in range(10)}
    others |= {f"y{n}": "m??" for n in range(10)}
    metrics = only_pair(run(tmp_path / "a", some), run(tmp_path / "b", others))["metrics"]
    for name in ("isr", "csr"):
        assert metrics["cfbench"][name]["difference"]["value"] == 0
        assert higher(metrics["cfbench"][name]) == "neither"
