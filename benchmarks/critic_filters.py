"""What each filter of critiques catches, of errors that were planted: tables in Markdown.

    python benchmarks/critic_filters.py [--rows 1000]

The rows, the expert and the verifiers are those of ``tests/planted.py``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from heedful.critic.data import STAGES, FilterSettings, filter_critiques, sample_critiques
from planted import Population, catches, wrong_at_the_end


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    given = parser.parse_args()
    rows = given.rows
    population = Population()
    with tempfile.TemporaryDirectory() as folder:
        critiques = Path(folder) / "critiques.jsonl"
        sample_critiques(population.samples(rows), expert=population.expert(), output=critiques)
        options: dict[str, Any] = {
            "expert": population.expert(),
            "verifiers": [population.verifier("a"), population.verifier("b")],
            "run": Path(folder) / "run",
        }
        print("| judgments with | planted | " + " | ".join(STAGES) + " | missed |")
        print("| --- " + "| ---: " * (len(STAGES) + 2) + "|")
        result = filter_critiques(critiques, settings=FilterSettings(), **options)
        for cause, catch in catches(result, population).items():
            if not catch.judgments:
                continue
            cells = (catch.judgments, *(catch.stages[stage] for stage in STAGES), catch.missed)
            print(f"| {cause} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
        print("\n| without | rows kept | judgments kept | wrong verdict, % | badly put, % |")
        print("| --- | ---: | ---: | ---: | ---: |")
        for skip in ((), *((stage,) for stage in STAGES), STAGES):
            settings = FilterSettings(skip=skip)
            result = filter_critiques(critiques, settings=settings, **options)
            total, wrong, garbled = wrong_at_the_end(result, population)
            kept = result.summary["funnel"]["rows"]["kept"]
            shares = (f"{100 * part / total:.2f}" for part in (wrong, garbled))
            named = ", ".join(skip) or "nothing"
            print(f"| {named} | {kept:,} | {total:,} | " + " | ".join(shares) + " |")


if __name__ == "__main__":
    main()
