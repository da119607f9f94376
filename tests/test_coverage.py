"""Every kind of interval holds the truth about as often as it says, as simulated for the docs."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def simulations() -> Any:
    """Import the script; a package has its name."""
    sys.path.insert(0, str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("simulations", BENCHMARKS / "coverage.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["simulations"] = module
    spec.loader.exec_module(module)
    return module


SIMULATED = simulations()
KINDS = {kind.name: kind for kind in SIMULATED.kinds()}


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("n", [9, 30])
def test_intervals_hold_the_truth(name: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.metrics.contrasts.swapped_totals", SIMULATED.FEW_SWAPS)
    monkeypatch.setattr("heedful.metrics.calibration.SAMPLES", SIMULATED.SAMPLES)
    kind = KINDS[name]
    random = np.random.default_rng(1)
    shares = []
    for value, correlation in kind.cells:
        outcomes = [kind.simulate(random, n, value, correlation) for _ in range(60 // kind.cost)]
        hits = SIMULATED.held(outcomes)
        if len(hits) > 10:
            shares.append(sum(hits) / len(hits))
    assert min(shares) > 0.75  # of few data sets
    assert sum(shares) / len(shares) > 0.93
    assert n < 30 or "tasks of 2" in name or sum(shares) / len(shares) < 0.996  # not by being wide
