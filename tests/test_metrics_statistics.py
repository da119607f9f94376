from __future__ import annotations

import math

import numpy as np
import pytest

from heedful.metrics.statistics import spearman


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
