"""Compiled verdicts against the verdicts that language models left in the data.

    python benchmarks/compiled_agreement.py --data DIR

For each file: how many constraints compile, how many of these code decides, how many of these the
recorded judge agrees with; and every disagreement, by the kind of check, with its ids and what the
code found, so that it can be looked up who is right.
"""

from __future__ import annotations

import argparse
import asyncio
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from heedful.core.nouns import Check, Judgment, Sample, Status
from heedful.data import formats
from heedful.judges import Compiled, Recorded
from heedful.verify.compiler.compile import compile_constraint

FILES = (
    *(f"cfbench/judge/{model}_eval.json" for model in (
        "deepseek_v2", "ernie4", "glm4", "gpt4_turbo_0409", "gpt4o", "yi_large"
    )),
    "sysbench/gpt35.jsonl",
    "if_critic/critiques.json",
    "if_critic/sft_data.json",
    "if_critic/dpo_data.json",
)  # fmt: skip


class Case(NamedTuple):
    """One constraint that compiles: where it stands, and what both say."""

    place: str
    check: Check
    code: Judgment
    model: Judgment


def cases(sample: Sample) -> list[Case]:
    """Judge a sample twice; keep the constraints that compile."""
    ours = asyncio.run(Compiled().judge(sample)).judgments
    theirs = asyncio.run(Recorded().judge(sample)).judgments
    cases = []
    for position, constraint in enumerate(sample.checklist):
        check = compile_constraint(constraint.text).check
        if check is not None:
            place = f"{sample.id} {position + 1}"
            cases.append(Case(place, check, ours[position], theirs[position]))
    return cases


def kind(check: Check) -> str:
    """Name the kind of a check: its verifier, and the unit of a count."""
    if "checks" in check.args:
        inner = (kind(Check.model_validate(each)) for each in check.args["checks"])
        return " + ".join(dict.fromkeys(inner))
    name = check.id.removeprefix("heedful:")
    return f"{name} {check.args['unit']}" if "unit" in check.args else name


def wilson(hits: int, number: int, z: float = 1.96) -> tuple[float, float]:
    """Return the Wilson score interval of a share, 95 % by default."""
    share = hits / number
    centre = share + z * z / (2 * number)
    spread = z * math.sqrt(share * (1 - share) / number + z * z / (4 * number * number))
    scale = 1 + z * z / number
    return (centre - spread) / scale, (centre + spread) / scale


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of data")
    data = parser.parse_args().data
    total: Counter[str] = Counter()
    kinds: dict[str, list[Case]] = defaultdict(list)
    both_by_kind: Counter[str] = Counter()
    for name in FILES:
        counts: Counter[str] = Counter()
        for row in formats.open_source(data / name):
            if row.sample is None or row.sample.response is None:
                continue
            counts["all"] += len(row.sample.checklist)
            for case in cases(row.sample):
                counts["compiled"] += 1
                counts["decided"] += case.code.status.decided
                if case.code.status.decided and case.model.status.decided:
                    counts["both"] += 1
                    both_by_kind[kind(case.check)] += 1
                    counts["agree"] += case.code.status is case.model.status
                    if case.code.status is not case.model.status:
                        kinds[kind(case.check)].append(case)
        print(f"{name}: {dict(counts)}")
        total += counts
    low, high = wilson(total["agree"], total["both"])
    share = total["agree"] / total["both"]
    print(f"all: {dict(total)}; agreement {share:.1%} ({low:.1%} to {high:.1%})")
    for name, disagreements in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{name}: {len(disagreements)} of {both_by_kind[name]} differ")
        for case in disagreements:
            code = "met" if case.code.status is Status.MET else "unmet"
            print(f"    {case.place}: code {code} ({case.code.explanation})")


if __name__ == "__main__":
    main()
