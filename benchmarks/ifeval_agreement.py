"""How often heedful's verdicts agree with IFEval's own, and what the word lists cost.

    python benchmarks/ifeval_agreement.py --data DIR

DIR holds ``ifeval/``, ``mifeval_en/`` and ``nltk_data/``. Prints the agreement with the verdicts
that M-IFEval's authors stored for three models, strict and loose; every disagreement; and how many
sentence verdicts change where Punkt's data is not installed. docs/evidence.md explains them.
Exits with 1 where fewer than 99.8 % agree, or more than 0.5 % of the sentence verdicts change.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

LEAST_AGREEMENT = 0.998
MOST_FLIPS = 0.005
SENTENCES = "length_constraints:number_sentences"


def read(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def samples(data: Path) -> list[dict[str, Any]]:
    """List the checks on each response: GPT-4's without stored verdicts, the others with them."""
    responses = read(data / "ifeval" / "input_response_data_gpt4_20231107_145030.jsonl")
    by_prompt = {row["prompt"]: row["response"] for row in responses}
    rows = [
        {"model": "gpt-4", "response": by_prompt[row["prompt"]], "stored": None} | row
        for row in read(data / "ifeval" / "input_data.jsonl")
    ]
    prompts = {row["prompt"]: row for row in read(data / "mifeval_en" / "en_input_data.jsonl")}
    for folder in sorted(path for path in (data / "mifeval_en").iterdir() if path.is_dir()):
        strict, loose = (
            read(folder / f"eval_results_{name}.jsonl") for name in ("strict", "loose")
        )
        for row, other in zip(strict, loose, strict=True):
            stored = (row["follow_instruction_list"], other["follow_instruction_list"])
            rows.append(
                {"model": folder.name, "response": row["response"], "stored": stored}
                | prompts[row["prompt"]]
            )
    return rows


def judge(data: Path) -> None:
    """Print heedful's findings on all samples as JSON (in a process with its own NLTK_DATA)."""
    from heedful.core.nouns import Check
    from heedful.verify import Readings, sentence_rules

    findings = []
    for row in samples(data):
        readings = Readings(row["response"])
        for id_, args in zip(row["instruction_id_list"], row["kwargs"], strict=True):
            check = Check(id=id_.removeprefix("en:"), args=args)
            strict, loose = readings.read(check)
            findings.append([check.id, strict.met, loose, strict.found])
    print(json.dumps([sentence_rules(), findings]))


def findings(data: Path, nltk_data: Path) -> tuple[str, list[Any]]:
    """Judge all samples where NLTK's data is in that folder or nowhere."""
    with tempfile.TemporaryDirectory() as home:
        # A home of its own, lest Punkt's data be found in the user's.
        environment = os.environ | {"NLTK_DATA": str(nltk_data), "HOME": home}
        done = subprocess.run(
            [sys.executable, __file__, "--data", str(data), "--judge"],
            env=environment,
            check=True,
            stdout=subprocess.PIPE,
        )
    rules, findings = json.loads(done.stdout)
    return rules, findings


def agreement(data: Path, findings: list[Any]) -> float:
    """Print the agreement with the stored verdicts, and each disagreement."""
    agreed = total = 0
    position = 0
    for row in samples(data):
        for place in range(len(row["instruction_id_list"])):
            id_, strict, loose, reason = findings[position]
            position += 1
            if row["stored"] is None:
                continue
            stored = tuple(verdicts[place] for verdicts in row["stored"])
            total += 2
            agreed += (strict == stored[0]) + (loose == stored[1])
            if (strict, loose) != stored:
                print(f"  {row['model'].split('__')[-1]}, prompt {row['key']}, {id_}")
                print(f"    strict, loose: ours {strict}, {loose}; stored {stored[0]}, {stored[1]}")
                print(f"    found: {reason}")
    print(f"{agreed}/{total} verdicts agree: {agreed / total:.2%}")
    return agreed / total


def flips(with_punkt: list[Any], without: list[Any]) -> float:
    """Print how many sentence verdicts change without Punkt's data."""
    pairs = [
        (one[1:3], two[1:3])
        for one, two in zip(with_punkt, without, strict=True)
        if one[0] == SENTENCES
    ]
    changed: int = sum((a != b) + (c != d) for (a, c), (b, d) in pairs)
    counts = sum(
        one[3] != two[3]
        for one, two in zip(with_punkt, without, strict=True)
        if one[0] == SENTENCES
    )
    print(f"{changed}/{2 * len(pairs)} sentence verdicts change: {changed / 2 / len(pairs):.2%}")
    print(f"{counts}/{len(pairs)} sentence counts change: {counts / len(pairs):.2%}")
    return changed / 2 / len(pairs)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of data")
    parser.add_argument("--judge", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    data = arguments.data.resolve()
    if arguments.judge:
        judge(data)
        return 0
    rules, with_punkt = findings(data, data / "nltk_data")
    print(f"Sentences by {rules.split(' at ')[0]}. Disagreements with the stored verdicts:")
    agreed = agreement(data, with_punkt)
    rules, without = findings(data, data / "no such folder")
    print(f"Sentences by rules that are {rules}, compared with Punkt's data:")
    changed = flips(with_punkt, without)
    return int(agreed < LEAST_AGREEMENT or changed > MOST_FLIPS)


if __name__ == "__main__":
    sys.exit(main())
