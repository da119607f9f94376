from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.expectation import OpenOutcome, Prediction, Units
from heedful.metrics.statistics import (
    ClusterShare,
    clustered_spearman,
    macro_measure,
    measure,
    spearman,
)


def pooled(met: int, unmet: int, undecided: int = 0) -> ClusterShare:
    decided = met + unmet
    return ClusterShare(met, decided, met, met + undecided, decided + undecided, decided)


def test_a_rate_carries_its_counts_coverage_and_bounds() -> None:
    rate = measure({pooled(3, 1): 2, pooled(1, 1, 2): 1}, readable=0.5)
    assert rate["numerator"] == 7
    assert rate["denominator"] == 10
    assert rate["value"] == 0.7
    assert rate["undecided"] == 2
    assert rate["coverage"] == pytest.approx(10 / 12 * 0.5)
    # As many rows could not be read: all of them may fail, or pass.
    assert rate["bounds"] == pytest.approx([7 / 24, (9 + 12) / 24])
    assert isinstance(rate["numerator"], int)


def test_an_open_outcome_counts_with_its_probability() -> None:
    nine, even = Prediction(0.9, 0.0), Prediction(0.5, 0.0)
    left = ClusterShare(0, 0, 0, 1, 1, 0, OpenOutcome(1, 0, 2)).settled(nine)
    assert left.numerator == pytest.approx(0.81)
    assert left.denominator == 1
    # Two must be met, and of three others at least two.
    either = ClusterShare(0, 0, 0, 1, 1, 0, OpenOutcome(1, 0, 2, 3, 2)).settled(even)
    assert either.numerator == pytest.approx(0.25 * 4 / 8)
    assert pooled(1, 2).settled(nine) == pooled(1, 2)
    # With a correlation of .5 a row's own rate is worth one verdict: (.8 + 3) / (1 + 3).
    together = ClusterShare(0, 0, 0, 1, 1, 0, OpenOutcome(3, 0, 1)).settled(Prediction(0.8, 0.5))
    assert together.numerator == pytest.approx(3.8 / 4)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)), min_size=1),
    st.tuples(*[st.integers(0, 3)] * 4),
)
def test_a_prediction_is_the_mean_over_its_beta_distribution(
    rows: list[tuple[int, int, int]], asked: tuple[int, int, int, int]
) -> None:
    prediction = Prediction.of((Units(met, met + unmet, left), 1) for met, unmet, left in rows)
    if prediction is None:
        return
    assert 0 <= prediction.correlation < 1
    met, unmet, all_of, some_of = asked
    chances = [
        prediction.chance(OpenOutcome(met, unmet, all_of, some_of, least))
        for least in range(some_of + 2)
    ]
    assert chances[0] <= 1 + 1e-9
    assert chances == sorted(chances, reverse=True)
    assert chances[-1] == 0
    left = all_of + some_of
    rate = prediction.at(left / (met + unmet + left)) if met + unmet + left else 0.0
    if prediction.correlation < 0.05 or not 0.05 < rate < 0.95:
        return
    a, b = rate * prediction.pseudo + met, (1 - rate) * prediction.pseudo + unmet

    def moment(hits: int, misses: int) -> float:
        gammas = (a + hits, b + misses, a + b), (a, b, a + b + hits + misses)
        over, under = (sum(map(math.lgamma, side)) for side in gammas)
        return math.exp(over - under)

    for least, chance in enumerate(chances):
        expected = sum(
            math.comb(some_of, hits) * moment(all_of + hits, some_of - hits)
            for hits in range(least, some_of + 1)
        )
        assert chance == pytest.approx(expected)


def test_what_was_not_observed_is_no_evidence() -> None:
    passed, failed = ClusterShare(1, 1, 1, 1, 1, 1), ClusterShare(0, 1, 0, 0, 1, 1)
    left = ClusterShare(0, 0, 0, 1, 1, 0, OpenOutcome(1, 0, 1)).settled(Prediction(0.8, 0.0))
    some = measure({passed: 40, failed: 10, left: 50})
    assert some["value"] == pytest.approx(0.8)
    assert some["interval"] == pytest.approx(measure({passed: 40, failed: 10})["interval"])


def test_a_rate_of_nothing_has_no_value() -> None:
    result = measure({pooled(0, 0, 4): 3})
    assert result["value"] is None
    assert result["interval"] is None
    assert result["coverage"] == 0
    assert result["bounds"] == [0, 1]
    assert result["undecided"] == 12
    assert measure({})["bounds"] is None


def test_a_macro_mean_weighs_strata_alike() -> None:
    strata = {
        "small": {pooled(1, 0): 1, pooled(0, 1): 1},
        "large": {pooled(1, 0): 90, pooled(0, 1): 10},
        "undecided": {pooled(0, 0, 1): 5},
    }
    result = macro_measure(strata)
    assert result["value"] == pytest.approx((0.5 + 0.9) / 2)
    assert result["denominator"] == 2
    assert result["undecided"] == 5
    assert result["coverage"] == pytest.approx(2 / 3)
    assert result["bounds"] == pytest.approx([1.4 / 3, 2.4 / 3])
    # The two of the small one tell little of half the mean.
    assert result["interval"] == pytest.approx([0.175, 0.962], abs=0.02)
    alone = macro_measure({name: {pooled(1, 0): 1} for name in ("a", "b", "c")})
    assert (alone["value"], alone["interval"]) == (1, None)
    assert macro_measure({})["value"] is None


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=9
    )
)
def test_pairs_seen_several_times_correlate_as_if_each_stood_alone(
    pairs: list[tuple[int, int, int]],
) -> None:
    x, y, counts = zip(*pairs, strict=True)
    spread = [(a, b) for a, b, count in pairs for _ in range(count)]
    alone = spearman([a for a, _ in spread], [b for _, b in spread])
    together = spearman(x, y, counts)
    assert together["n"] == alone["n"]
    assert together["rho"] == pytest.approx(alone["rho"])
    assert together["interval"] == pytest.approx(alone["interval"])


@pytest.mark.slow
def test_rank_correlation_is_scipys() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    draw = np.random.default_rng(5)
    x = draw.integers(0, 10, 200)
    y = x + draw.integers(0, 15, 200)
    result = spearman(x, y)
    assert result["rho"] == pytest.approx(stats.spearmanr(x, y).statistic)
    assert result["n"] == 200


def test_rank_correlations_interval_is_bonetts_and_wrights() -> None:
    # rho = 1 - 6 * 4 / (5 * 24) = 0.8; z = 1.0986; se = sqrt((1 + 0.32) / 2) = 0.8124
    result = spearman([1, 2, 3, 4, 5], [2, 1, 4, 3, 5])
    assert result["rho"] == pytest.approx(0.8)
    assert result["interval"] == pytest.approx(
        [math.tanh(1.09861 - 1.59230), math.tanh(1.09861 + 1.59230)], abs=1e-4
    )


def test_rank_correlation_covers_the_truth_as_often_as_it_says() -> None:
    draw = np.random.default_rng(11)
    truth = 6 / math.pi * math.asin(0.5 / 2)  # Spearman's rho of a normal pair with r = 0.5
    hits = 0
    for _ in range(400):
        x = draw.normal(size=60)
        y = 0.5 * x + math.sqrt(0.75) * draw.normal(size=60)
        low, high = spearman(x, y)["interval"] or (1, -1)
        hits += low <= truth <= high
    assert 0.92 <= hits / 400 <= 0.98


def test_rank_correlation_without_variation_or_pairs_has_no_value() -> None:
    assert spearman([1, 1, 1], [1, 2, 3]) == {"rho": None, "n": 3, "interval": None}
    assert spearman([], []) == {"rho": None, "n": 0, "interval": None}
    assert spearman([1, 2, math.nan], [3, 5, 4])["n"] == 2
    assert spearman([1, 2, 3, 4], [1, 2, 3, 4])["interval"] == [1, 1]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=4, max_size=30))
def test_rank_correlation_is_symmetric_and_bounded(pairs: list[tuple[int, int]]) -> None:
    x, y = zip(*pairs, strict=True)
    one, other = spearman(x, y), spearman(y, x)
    assert one == other or one["rho"] == pytest.approx(other["rho"])
    if one["rho"] is not None and one["interval"] is not None:
        assert -1 <= one["interval"][0] <= one["rho"] <= one["interval"][1] <= 1


def test_the_interval_of_a_rank_correlation_is_as_wide_as_the_jackknife_has_it() -> None:
    draw = np.random.default_rng(3)
    shared = draw.normal(size=(400, 1, 2))
    x, y = np.moveaxis(shared + draw.normal(size=(400, 3, 2)), -1, 0)
    # Whole numbers, so that there are ties.
    pairs = np.round(np.stack([x, 0.8 * x + 0.6 * y], axis=-1) * 2)
    clusters = [list(map(tuple, cluster)) for cluster in pairs.tolist()]
    estimate = clustered_spearman(clusters)
    assert estimate["interval"]
    without = [
        math.atanh(clustered_spearman(clusters[:at] + clusters[at + 1 :])["value"] or 0)
        for at in range(0, 400, 2)
    ]
    deviation = math.sqrt(np.var(without) * 399**2 / 400 * 400 / 399)
    low, high = map(math.atanh, estimate["interval"])
    assert (high - low) / 2 == pytest.approx(1.966 * deviation, rel=0.15)
