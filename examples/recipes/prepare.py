"""Write checklists as the training data of TRL, verl and OpenRLHF.

    python examples/recipes/prepare.py checklists.jsonl -o data --held-out 200

Makes ``trl.jsonl``, ``verl.parquet`` and ``openrlhf.jsonl`` of the same instructions, and
``held-out.jsonl`` of the others, to evaluate the policy on. INPUT is any file that heedful reads,
such as the output of ``heedful checklist``.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

from heedful.data import formats


def main() -> None:
    """Read the command line, and write the files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("input", type=Path, help="instructions with checklists")
    parser.add_argument("-o", "--output", type=Path, default=Path("data"), help="a folder")
    parser.add_argument("--held-out", type=int, default=0, help="instructions kept for evaluation")
    parser.add_argument("--seed", type=int, default=0, help="of which these are")
    options = parser.parse_args()
    rows = [_row(each.sample) for each in formats.read(options.input) if each.sample]
    rows = [row for row in rows if row["checklist"] and row["messages"]]
    random.Random(options.seed).shuffle(rows)
    if options.held_out >= len(rows):
        parser.error(f"--held-out: there are {len(rows)} rows with an instruction and a checklist")
    held_out, rows = rows[: options.held_out], rows[options.held_out :]
    options.output.mkdir(parents=True, exist_ok=True)
    _write(options.output / "held-out.jsonl", held_out)
    _write(options.output / "trl.jsonl", [_trl(row) for row in rows])
    _write(options.output / "openrlhf.jsonl", [_openrlhf(row) for row in rows])
    _write_parquet(options.output / "verl.parquet", [_verl(row) for row in rows])
    print(f"{len(rows)} instructions to train on, {len(held_out)} held out: {options.output}")


def _row(sample: Any) -> dict[str, Any]:
    turns = [{"role": turn.role, "content": turn.content} for turn in sample.conversation]
    checklist = [each.model_dump(mode="json", exclude_none=True) for each in sample.checklist]
    return {"id": sample.id, "messages": turns, "checklist": checklist}


def _trl(row: dict[str, Any]) -> dict[str, Any]:
    # The checks of different constraints have different arguments, which Arrow can't hold.
    return {"prompt": row["messages"], "checklist": json.dumps(row["checklist"])}


def _openrlhf(row: dict[str, Any]) -> dict[str, Any]:
    label = json.dumps({"prompt": row["messages"], "checklist": row["checklist"]})
    return {"input": row["messages"], "label": label}


def _verl(row: dict[str, Any]) -> dict[str, Any]:
    truth = json.dumps({"prompt": row["messages"], "checklist": row["checklist"]})
    return {
        "data_source": "heedful",
        "prompt": row["messages"],
        "reward_model": {"style": "model", "ground_truth": truth},
        "extra_info": {"index": row["id"]},
    }


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows), path)


if __name__ == "__main__":
    main()
