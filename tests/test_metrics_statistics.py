from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.statistics import clustered_spearman, spearman


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


def test_rank_correlation_without_variation_or_pairs_has_no_value() -> None:
    assert spearman([1, 1, 1], [1, 2, 3]) == {"rho": None, "n": 3, "interval": None}
    assert spearman([], []) == {"rho": None, "n": 0, "interval": None}
    assert spearman([1, 2, math.nan], [3, 5, 4])["n"] == 2
    assert spearman([1, 2, 3, 4], [1, 2, 3, 4])["interval"] == [1, 1]


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
