"""Agreement: the formulas against published examples, other libraries and their own identities."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.agreement import (
    RATES,
    Confusion,
    IntervalEstimate,
    Parts,
    alpha_estimate,
    coincidences,
    holm,
    kappa,
    krippendorff_alpha,
    mcnemar,
    mean_over,
    mean_over_types,
    rate_estimates,
    weighted_kappa_estimate,
)
from heedful.metrics.calibration import calibration
from heedful.metrics.proportions import Spread, mean_interval, rate_interval, wilson
from heedful.metrics.rates import Share, measure

CELLS = st.tuples(*[st.integers(0, 30)] * 4).map(lambda cells: Confusion(*cells))


def alpha(units: Sequence[Sequence[int]]) -> float:
    return float(krippendorff_alpha(np.sum([coincidences(unit) for unit in units], axis=0)))


def width(estimate: IntervalEstimate) -> float:
    assert estimate["interval"]
    low, high = estimate["interval"]
    return high - low


# --- one judge and the labels -------------------------------------------------------------------


def test_rates_of_a_table_by_hand() -> None:
    result = {name: float(rate((20, 5, 10, 15))) for name, rate in RATES.items()}
    assert result == pytest.approx(
        {
            "precision_met": 20 / 25,
            "recall_met": 20 / 30,
            "f1_met": 2 * (20 / 25) * (20 / 30) / (20 / 25 + 20 / 30),
            "precision_unmet": 15 / 25,
            "recall_unmet": 15 / 20,
            "f1_unmet": 2 * (15 / 25) * (15 / 20) / (15 / 25 + 15 / 20),
            "mean_f1": (8 / 11 + 2 / 3) / 2,
            "balanced_accuracy": (20 / 30 + 15 / 20) / 2,
            "accuracy": 35 / 50,
            "kappa": (0.7 - 0.5) / (1 - 0.5),
            "mcc": (20 * 15 - 5 * 10) / math.sqrt(25 * 30 * 20 * 25),
        }
    )


def test_a_rate_without_a_denominator_is_not_a_number() -> None:
    undefined = {name for name, rate in RATES.items() if math.isnan(rate(Confusion(tp=4)))}
    defined = {"f1_met", "accuracy", "precision_met", "recall_met"}
    assert undefined == RATES.keys() - defined
    assert RATES["f1_unmet"](Confusion(tp=4, fn=1)) == 0


# --- several annotators -------------------------------------------------------------------------


def test_alpha_of_krippendorffs_worked_examples() -> None:
    first, second = "0100000010", "1110010000"
    binary = [[(a + b).count(value) for value in "01"] for a, b in zip(first, second, strict=True)]
    assert alpha(binary) == pytest.approx(0.095, abs=5e-4)
    # Four observers, twelve units, some values missing, five categories.
    table = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    units = [[sum(row[unit] == value for row in table) for value in "12345"] for unit in range(12)]
    assert alpha(units) == pytest.approx(0.743, abs=5e-4)


# --- two judges ---------------------------------------------------------------------------------


@pytest.mark.slow
@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_is_the_exact_binomial_test(first: int, second: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    expected = stats.binomtest(first, first + second).pvalue if first + second else 1.0
    assert mcnemar(first, second) == pytest.approx(expected, rel=1e-9)
    assert mcnemar(first, second) == mcnemar(second, first)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


# --- calibration --------------------------------------------------------------------------------


def test_calibration_by_hand() -> None:
    counts = {(1.0, True): 8, (1.0, False): 2, (0.7, True): 3, (0.7, False): 1}
    result = calibration([counts])
    assert result is not None
    assert [group["low"] for group in result["bins"]] == [0.6, 0.9]
    assert [group["accuracy"] for group in result["bins"]] == [0.75, 0.8]
    assert result["ece"]["value"] == pytest.approx((4 * 0.05 + 10 * 0.2) / 14)
    # Brier: 2 of 1², 3 of .3², 1 of .7²; by chance .7 x .3 for the four that aren't certain.
    assert result["brier"]["value"] == pytest.approx((2 + 3 * 0.09 + 0.49) / 14)
    assert result["brier"]["by_chance"] == pytest.approx(4 * 0.21 / 14)
    assert calibration([]) is None


def test_chance_alone_makes_a_calibration_error() -> None:
    # Right in k of 4 by chance: |0.5 - k/4| is 0, 1/4 or 1/2 in 6, 8 and 2 of 16 cases.
    result = calibration([{(0.5, True): 2, (0.5, False): 2}])
    assert result is not None
    assert result["ece"]["value"] == 0
    assert result["ece"]["by_chance"] == pytest.approx((8 / 4 + 2 / 2) / 16, abs=0.005)
    assert result["brier"]["value"] == result["brier"]["by_chance"] == 0.25


# --- intervals and averages ---------------------------------------------------------------------


def test_accuracy_has_the_interval_of_a_rate() -> None:
    single = {Confusion(1): 5, Confusion(tn=1): 3, Confusion(fp=1): 2}
    assert rate_estimates(single)["accuracy"]["interval"] == pytest.approx(wilson(8, 10))


@given(st.lists(CELLS, min_size=2, max_size=12))
def test_intervals_hold_their_rates_and_stay_within_their_range(clusters: list[Confusion]) -> None:
    for name, estimate in rate_estimates(Counter(clusters)).items():
        if estimate["value"] is None:
            assert estimate["interval"] is None
        elif estimate["interval"] is not None:
            low, high = estimate["interval"]
            assert low - 1e-9 <= estimate["value"] <= high + 1e-9, name
            assert (-1 if name in {"kappa", "mcc"} else 0) <= low <= high <= 1, name


@pytest.mark.parametrize("name", ["mean_f1", "accuracy", "kappa", "mcc", "recall_unmet"])
def test_a_judge_without_errors_may_still_err(name: str) -> None:
    perfect = {Confusion(tp=3, tn=2): 6}
    estimate = rate_estimates(perfect)[name]
    assert estimate["value"] == pytest.approx(1)
    assert estimate["interval"] is not None
    assert estimate["interval"][0] < 0.9
    alphas = {tuple(2 * n for n in coincidences((2, 0))): 4, coincidences((0, 2)): 4}
    agreed = alpha_estimate(alphas)
    assert agreed["value"] == pytest.approx(1)
    assert agreed["interval"] is not None
    assert agreed["interval"][0] < 0.9


@pytest.mark.parametrize("name", ["mean_f1", "balanced_accuracy", "kappa", "mcc"])
def test_errors_that_go_together_tell_less_and_a_class_without_labels_nothing(name: str) -> None:
    good, bad = Confusion(4, 0, 0, 4), Confusion(1, 3, 3, 1)
    kind, strict = Confusion(4, 3, 0, 1), Confusion(1, 0, 3, 4)
    together, apart = (
        width(rate_estimates(counts)[name])
        for counts in ({good: 20, bad: 20}, {good: 10, bad: 10, kind: 10, strict: 10})
    )
    assert together > 1.3 * apart
    rare, common = (
        width(rate_estimates({Confusion(tp=1): 100 - unmet, Confusion(tn=1): unmet})[name])
        for unmet in (2, 50)
    )
    assert rare > 3 * common
    assert rate_estimates({Confusion(tp=4, fn=1): 9})[name]["interval"] is None


def test_a_mean_of_rates_is_as_uncertain_as_the_one_with_few_clusters() -> None:
    one, two = ((1.0, 1.0), (0.0, 0.0)), ((1.0, 1.0), (1.0, 1.0))
    rare, common = mean_interval([{one: 48, two: 2}]), mean_interval([{two: 50}])
    assert rare
    assert common
    assert rare[0] < 0.4
    assert common[0] > 0.9


def test_values_that_hardly_vary_have_a_narrow_interval() -> None:
    values = Spread.of([((0.5 + 0.01 * (k % 3), 1.0), 1) for k in range(40)])
    wide, narrow = rate_interval(values), rate_interval(values, values=True)
    assert wide
    assert narrow
    assert narrow[1] - narrow[0] < (wide[1] - wide[0]) / 2
    assert narrow[0] < 0.50975 < narrow[1]
    shares = {Share.known(0.5 + 0.01 * k): 10 for k in range(3)}
    own, wider = measure(shares)["interval"], measure(shares, span=(-5, 1))["interval"]
    assert own
    assert wider
    assert wider[1] - wider[0] < 1.5 * (own[1] - own[0])  # the scale is six times as long


def test_weighted_kappa_is_cohens_of_values_and_alike_for_two_levels() -> None:
    cells = Confusion(8, 2, 1, 9)
    pairs = [(1, 1)] * 8 + [(0, 1)] * 2 + [(1, 0)] + [(0, 0)] * 9
    sums = Counter((1, a, b, a + b, a * b) for a, b in pairs)
    estimate = weighted_kappa_estimate(sums)
    value, interval = estimate["value"], estimate["interval"]
    assert value == pytest.approx(float(kappa(cells)))
    assert value is not None
    assert interval
    assert interval[0] < value < interval[1]
    assert weighted_kappa_estimate({(1, 1, 1, 2, 1): 5}) == {"value": None, "interval": None}


def test_one_cluster_has_no_interval_and_none_has_no_value() -> None:
    single = rate_estimates({Confusion(2, 1, 1, 2): 1})
    assert all(estimate["value"] is not None for estimate in single.values())
    assert all(estimate["interval"] is None for estimate in single.values())
    assert rate_estimates({Confusion(): 5})["mean_f1"]["value"] is None


def test_averages_over_instructions_and_types_by_hand() -> None:
    parts: Parts = {
        ("a", 1, 0): Confusion(2, 0, 0, 0),  # F1 1 and none
        ("a", 2, 0): Confusion(1, 1, 0, 0),  # 2/3 and 0
        ("b", 3, 0): Confusion(1, 0, 0, 1),  # 1 and 1
    }
    strict = mean_over(parts, zero=False)
    assert strict["f1_met"]["value"] == pytest.approx((1 + 2 / 3 + 1) / 3)
    assert strict["f1_unmet"]["value"] == pytest.approx(1 / 2)
    assert strict["defined"] == {"f1_met": 3, "f1_unmet": 2}
    zero = mean_over(parts, zero=True)
    assert zero["f1_unmet"]["value"] == pytest.approx(1 / 3)
    by_type = mean_over_types(parts, zero=True)
    assert by_type["f1_met"]["value"] == pytest.approx(((1 + 2 / 3) / 2 + 1) / 2)
    assert by_type["f1_unmet"]["value"] == pytest.approx((0 + 1) / 2)
    assert by_type["mean_f1"]["value"] == pytest.approx((5 / 6 + 1) / 4 + 0.25)
