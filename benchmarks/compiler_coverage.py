"""How many real constraints compile, by data set and type; with --sample, some to be read.

    python benchmarks/compiler_coverage.py --data DIR
    python benchmarks/compiler_coverage.py --data DIR --sample 200 --seed 1
    python benchmarks/compiler_coverage.py --data DIR --prompts

The sample comes from the distinct texts that compile: read it to see which are wrong.
With --prompts, the sentences of IFEval's and IFBench's prompts are compiled instead, and those that
compile are printed to be read.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from heedful.core.nouns import Constraint, Sample
from heedful.data import formats
from heedful.jobs.checklists.compiled import CompiledRow, Coverage, compiled_rows, coverage_table
from heedful.verify import describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SENTENCE = range(9, 160)
"""Characters of what is taken for a sentence of a prompt."""

FILES = {
    "CFBench": ("cfbench/cfbench_data.json",),
    "SysBench": ("sysbench/gpt35.jsonl",),
    "IF-Critic": (
        "if_critic/checklists.json",
        "if_critic/sft_data.json",
        "if_critic/dpo_data.json",
    ),
    "TRACE": ("trace/2024_trace_evaluation.jsonl",),
}


def sources(data: Path) -> Iterator[tuple[str, Iterable[formats.Row | Sample]]]:
    """Open each data set."""
    for name, files in FILES.items():
        yield name, (row for file in files for row in formats.open_source(data / file))
    texts: dict[str, list[Constraint]] = {}
    for line in (data / "constraint_texts/texts.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        texts.setdefault(row["src"], []).append(Constraint(text=row["text"], type=row["type"]))
    for name, checklist in texts.items():
        yield name, [Sample(id=name, checklist=tuple(checklist))]


def sentences(data: Path) -> Iterator[Sample]:
    """Take the sentences of English prompts, each distinct one as a constraint."""
    texts: dict[str, None] = {}
    for name in ("ifeval/input_data.jsonl", "ifbench/IFBench_test.jsonl"):
        for line in (data / name).read_text(encoding="utf-8").splitlines():
            pieces = re.split(r"(?<=[.!?])\s+|\n+", json.loads(line)["prompt"])
            texts |= {piece.strip(): None for piece in pieces if len(piece) in SENTENCE}
    yield Sample(id="prompts", checklist=tuple(Constraint(text=text) for text in texts))


def show(name: str, row: CompiledRow) -> None:
    """Print a constraint and its check, to be read."""
    print(f"{name} {row.sample} {row.position}: {' '.join(row.constraint.text.split())}")
    if row.compiled.check is not None:
        print(f"    {describe(row.compiled.check)}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of data")
    parser.add_argument("--sample", type=int, default=0, help="how many to print for reading")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--prompts", action="store_true", help="compile sentences of prompts")
    arguments = parser.parse_args()
    if arguments.prompts:
        rows = list(compiled_rows(sentences(arguments.data)))
        compiled = [row for row in rows if row.compiled.check is not None]
        for row in compiled:
            show("prompts", row)
        print(f"{len(compiled)} of {len(rows)} sentences compile")
        return
    console = Console()
    distinct: dict[str, tuple[str, CompiledRow]] = {}
    for name, source in sources(arguments.data):
        coverage = Coverage()
        start = time.perf_counter()
        for row in compiled_rows(source):
            coverage.add(row)
            if row.compiled.check is not None:
                distinct.setdefault(row.constraint.text.strip(), (name, row))
        took = time.perf_counter() - start
        if not arguments.sample:
            console.print(f"{name}: {coverage.all.total() / took:,.0f} constraints/s")
            console.print(coverage_table(coverage).terminal())
    if arguments.sample:
        keys = sorted(distinct)
        for key in random.Random(arguments.seed).sample(keys, arguments.sample):
            show(*distinct[key])
    print(f"{len(distinct):,} distinct texts compile")


if __name__ == "__main__":
    main()
