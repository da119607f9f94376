"""What a judged row takes: tokens, the share that a prefix cache holds, bytes on disk.

    python benchmarks/scale.py

The rows are those of judging_throughput.py: AdvancedIF's records, with prompts of 200 words,
responses of 300 and five rubrics. Tokens and prefixes come from a dry run; bytes from a run whose
judge answers at once, as IF-Critic's published critiques are long: 150 tokens a constraint.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from judging_throughput import CONSTRAINTS, records

from heedful import dry_run, evaluate
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import ScriptedModel

EXPLANATION = "The response does what this constraint asks for, as can be seen here. " * 8


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    count = parser.parse_args().rows
    blocks = "\n\n".join(
        f"<c{k}>\n{EXPLANATION}\nVERDICT: MET\n</c{k}>" for k in range(1, CONSTRAINTS + 1)
    )
    with tempfile.TemporaryDirectory() as folder:
        rows, run = Path(folder) / "rows.jsonl", Path(folder) / "run"
        with rows.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records(count))
        for per_call in (None, 1):
            model = ScriptedModel(blocks)
            judge = Checklist(model, prompts.make("plain"), per_call=per_call)
            estimate = dry_run(evaluate, rows, judge=judge)
            share = estimate["prefix_tokens"] / estimate["prompt_tokens"]
            print(
                f"{per_call or 'all'} constraints a call: {estimate['calls'] / count:.0f} calls a "
                f"row, {estimate['prompt_tokens'] / estimate['calls']:.0f} tokens in, "
                f"{estimate['completion_tokens'] / estimate['calls']:.0f} out; "
                f"{100 * share:.0f} % of tokens in are a cached prefix"
            )
        judge = Checklist(ScriptedModel(blocks), prompts.make("plain"))
        evaluate(rows, judge=judge, run=run)
        for path in sorted(run.iterdir()):
            print(f"{path.name}: {path.stat().st_size / count:.0f} bytes a row")


if __name__ == "__main__":
    main()
