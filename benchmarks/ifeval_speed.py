"""How fast heedful's IFEval verifiers are beside lm-eval's, and whether the verdicts are the same.

    python benchmarks/ifeval_speed.py --data DIR --peer-python PATH

DIR holds ``ifeval/``, ``mifeval_en/`` and ``nltk_data/``; PATH is the interpreter of an environment
with ``lm-eval[ifeval]``. Both sides score GPT-4's 541 responses strictly and loosely, turn by turn,
each time in a new process. Imports, reading the files and a first pass over another model's
responses to the same prompts (so that profiles and patterns are loaded, while no text is seen
twice) are not timed, on either side. Prints the medians in rows per second, for all constraints
and for those that need no language detection, and every difference between the verdicts. Exits
with 1 where one has no explanation.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROUNDS = 7
LANGUAGE = (
    "language:response_language",
    "change_case:english_capital",
    "change_case:english_lowercase",
)
Row = dict[str, Any]
Verdicts = list[list[list[bool]]]


def read(path: Path) -> list[Row]:
    """Read a file of JSON lines."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def samples(data: Path) -> tuple[list[Row], list[Row]]:
    """Return the rows to warm up with and the rows to time, all with a response."""
    rows = read(data / "ifeval" / "input_data.jsonl")
    responses = read(data / "ifeval" / "input_response_data_gpt4_20231107_145030.jsonl")
    by_prompt = {row["prompt"]: row["response"] for row in responses}
    timed = [row | {"response": by_prompt[row["prompt"]]} for row in rows]
    others = read(data / "mifeval_en" / "claude-3-haiku-20240307" / "eval_results_strict.jsonl")
    by_prompt = {row["prompt"]: row["response"] for row in others}
    warm_up = [
        row | {"response": by_prompt[row["prompt"]]} for row in rows if row["prompt"] in by_prompt
    ]
    return warm_up, timed


def without_language(rows: list[Row]) -> list[Row]:
    """Drop the constraints that need language detection, and rows that have no others."""
    rows_with_checks = []
    for row in rows:
        pairs = zip(row["instruction_id_list"], row["kwargs"], strict=True)
        left = [(id_, args) for id_, args in pairs if id_ not in LANGUAGE]
        if left:
            ids, kwargs = zip(*left, strict=True)
            rows_with_checks.append(
                row | {"instruction_id_list": list(ids), "kwargs": list(kwargs)}
            )
    return rows_with_checks


def heedful(rows: list[Row]) -> Verdicts:
    """Score rows with heedful."""
    from heedful.core.nouns import Check
    from heedful.verify import Readings

    verdicts = []
    for row in rows:
        readings = Readings(row["response"])
        pairs = zip(row["instruction_id_list"], row["kwargs"], strict=True)
        findings = [readings.read(Check(id=id_, args=args)) for id_, args in pairs]
        verdicts.append([[each.strict.met for each in findings], [each.loose for each in findings]])
    return verdicts


def peer(rows: list[Row]) -> Verdicts:
    """Score rows with lm-eval."""
    from lm_eval.tasks.ifeval import utils

    verdicts = []
    for row in rows:
        example = utils.InputExample(
            key=row["key"],
            instruction_id_list=row["instruction_id_list"],
            prompt=row["prompt"],
            kwargs=row["kwargs"],
        )
        strict = utils.test_instruction_following_strict(example, row["response"])
        loose = utils.test_instruction_following_loose(example, row["response"])
        verdicts.append([strict.follow_instruction_list, loose.follow_instruction_list])
    return verdicts


def work(side: str, data: Path, *, language: bool) -> None:
    """Warm up, time one pass, and print it as JSON (in a process of its own)."""
    import random

    import langdetect

    # The peer's random draws, made repeatable; heedful's strict scoring makes none.
    langdetect.DetectorFactory.seed = 0
    random.seed(0)
    score = heedful if side == "heedful" else peer
    warm_up, timed = samples(data)
    if not language:
        timed = without_language(timed)
    score(warm_up)
    started = time.perf_counter()
    verdicts = score(timed)
    seconds = time.perf_counter() - started
    print(json.dumps([len(timed) / seconds, verdicts]))


def measure(
    pythons: dict[str, str], data: Path, *, language: bool
) -> tuple[dict[str, list[float]], dict[str, Verdicts]]:
    """Let both sides work by turns; return their speeds and their verdicts."""
    speeds: dict[str, list[float]] = {side: [] for side in pythons}
    verdicts: dict[str, Verdicts] = {}
    environment = os.environ | {"NLTK_DATA": str(data / "nltk_data")}
    for _ in range(ROUNDS):
        for side, python in pythons.items():
            command = [python, __file__, "--data", str(data), "--peer-python", "", "--side", side]
            done = subprocess.run(
                command + ["--no-language"] * (not language),
                env=environment,
                check=True,
                stdout=subprocess.PIPE,
            )
            # lm-eval may speak of downloads first.
            speed, verdicts[side] = json.loads(done.stdout.splitlines()[-1])
            speeds[side].append(speed)
    return speeds, verdicts


def report(title: str, speeds: dict[str, list[float]]) -> None:
    """Print the medians, the ranges, and the median of the rounds' ratios."""
    print(title)
    for side, each in speeds.items():
        median = statistics.median(each)
        print(f"  {side:8} {median:8.0f} rows/s ({min(each):.0f} to {max(each):.0f})")
    # Of each round, because what else the machine does slows both sides of a round alike.
    ratios = [ours / theirs for ours, theirs in zip(*speeds.values(), strict=True)]
    print(f"  ratio    {statistics.median(ratios):8.1f} ({min(ratios):.1f} to {max(ratios):.1f})")


def compare(rows: list[Row], verdicts: dict[str, Verdicts]) -> int:
    """Print each difference; return how many are not the peer's random letter."""
    unexplained = differences = 0
    for row, ours, theirs in zip(rows, *verdicts.values(), strict=True):
        for place, id_ in enumerate(row["instruction_id_list"]):
            pair = [[verdict[place] for verdict in side] for side in (ours, theirs)]
            if pair[0] == pair[1]:
                continue
            differences += 1
            letter = row["kwargs"][place].get("letter", "a")
            random_letter = id_.endswith(":letter_frequency") and not letter.isalpha()
            unexplained += not random_letter
            why = f"the peer counts a random letter for {letter!r}" if random_letter else "?"
            print(f"  prompt {row['key']}, {id_}: strict, loose {pair[0]}, peer {pair[1]}: {why}")
    print(f"{differences} constraints with different verdicts, {unexplained} not explained")
    return unexplained


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of data")
    parser.add_argument("--peer-python", required=True, help="an interpreter with lm-eval[ifeval]")
    parser.add_argument("--side", choices=("heedful", "lm-eval"), help=argparse.SUPPRESS)
    parser.add_argument("--no-language", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    data = arguments.data.resolve()
    if arguments.side:
        work(arguments.side, data, language=not arguments.no_language)
        return 0
    pythons = {"heedful": sys.executable, "lm-eval": arguments.peer_python}
    speeds, verdicts = measure(pythons, data, language=True)
    report("All constraints, strict and loose:", speeds)
    unexplained = compare(samples(data)[1], verdicts)
    speeds, _ = measure(pythons, data, language=False)
    report("Constraints without language detection, strict and loose:", speeds)
    return int(bool(unexplained))


if __name__ == "__main__":
    sys.exit(main())
