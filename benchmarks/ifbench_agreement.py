"""How often heedful's verdicts agree with those that IFBench's authors stored, id by id.

    python benchmarks/ifbench_agreement.py --data DIR

DIR holds ``ifbench/`` and ``nltk_data/``. Prints, for faithful and for strict scoring, the four
accuracies, the agreement per id, and every disagreement; docs/evidence.md explains them. Needs
``pip install 'heedful[ifbench]'``. Exits with 1 where faithful scoring agrees with fewer than 98 %
of the verdicts.
"""

from __future__ import annotations

import argparse
import json
import operator
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

LEAST_AGREEMENT = 0.98

# The last row stored holds seven prompts, read as one; its ids are those of the last of them.
LAST = "Generate CSV data: The column names are"


class Verdict(NamedTuple):
    """What is stored of one constraint, and what heedful says."""

    key: str
    id: str
    stored: tuple[bool, bool]
    ours: tuple[bool, bool]
    found: str


def read(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def verdicts(data: Path, seed: int | None) -> list[list[Verdict]]:
    """Judge all stored responses; one list for each."""
    from heedful.core.nouns import Check
    from heedful.verify import Readings

    prompts = {row["prompt"].strip(): row for row in read(data / "IFBench_test.jsonl")}
    last = next(row for prompt, row in prompts.items() if prompt.startswith(LAST))
    rows = []
    for strict, loose in zip(
        read(data / "eval_results_strict.jsonl"),
        read(data / "eval_results_loose.jsonl"),
        strict=True,
    ):
        prompt = prompts.get(strict["prompt"].strip(), last)
        readings = Readings(strict["response"], seed=seed, sample=prompt["key"])
        row = []
        for at, (id_, args) in enumerate(
            zip(strict["instruction_id_list"], prompt["kwargs"], strict=True)
        ):
            stored = (strict["follow_instruction_list"][at], loose["follow_instruction_list"][at])
            strict_, loose_ = readings.read(Check(id=id_, args=args), at)
            row.append(Verdict(prompt["key"], id_, stored, (strict_.met, loose_), strict_.found))
        rows.append(row)
    return rows


def accuracies(rows: list[list[tuple[bool, bool]]]) -> str:
    """Name the four accuracies: prompts and instructions strict, then loose."""
    parts = []
    for reading in (0, 1):
        verdicts = [[pair[reading] for pair in row] for row in rows]
        prompts, instructions = list(map(all, verdicts)), [each for row in verdicts for each in row]
        parts += [
            f"{sum(values)}/{len(values)} ({sum(values) / len(values):.2%})"
            for values in (prompts, instructions)
        ]
    return ", ".join(parts)


def report(rows: list[list[Verdict]]) -> float:
    """Print the agreement and each disagreement; return the share of verdicts that agree."""
    flat = [verdict for row in rows for verdict in row]
    agreed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for verdict in flat:
        total[verdict.id] += 2
        agreed[verdict.id] += sum(map(operator.eq, verdict.ours, verdict.stored))
    print(f"  accuracies: {accuracies([[verdict.ours for verdict in row] for row in rows])}")
    share = agreed.total() / total.total()
    print(f"  {agreed.total()}/{total.total()} verdicts agree: {share:.2%}")
    others = sorted(id_ for id_, number in total.items() if agreed[id_] < number)
    print(f"  {len(total) - len(others)} of {len(total)} ids agree in all verdicts; the others:")
    for id_ in others:
        print(f"    {id_}: {agreed[id_]}/{total[id_]}")
        for verdict in flat:
            if verdict.id == id_ and verdict.ours != verdict.stored:
                print(f"      prompt {verdict.key}: {shown(verdict)}")
    return share


def shown(verdict: Verdict) -> str:
    """Name stored and own verdicts, strict and loose, and what was found."""
    pairs = [
        ", ".join("met" if value else "unmet" for value in pair)
        for pair in (verdict.stored, verdict.ours)
    ]
    return f"stored {pairs[0]}; ours {pairs[1]}: {verdict.found[:80]}"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of data")
    data: Path = parser.parse_args().data.resolve()
    from heedful.core.errors import VerifierError

    os.environ["NLTK_DATA"] = str(data / "nltk_data")
    try:
        strict = verdicts(data / "ifbench", None)
    except VerifierError as error:
        sys.exit(str(error))
    print(f"Stored: {accuracies([[verdict.stored for verdict in row] for row in strict])}")
    print("Faithful scoring, seed 0:")
    share = report(verdicts(data / "ifbench", 0))
    print("Strict scoring:")
    report(strict)
    return int(share < LEAST_AGREEMENT)


if __name__ == "__main__":
    sys.exit(main())
