"""Padding that random batches waste, and batches of rows of about the same length.

    python benchmarks/padding.py DATA --model FOLDER [--batch-size 4] [--rows N]

DATA is what ``heedful critic train sft`` takes, FOLDER a model, whose tokenizer is all that counts.
Prints the share of a batch's tokens that are padding, in the mean over 100 orders of the rows, with
the samplers that the training uses without and with ``--group-by-length``. ``--rows`` draws as many
rows with replacement: the sampler sorts within fifty batches at most, and a quarter of the rows, so
few rows are hardly grouped.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING

from heedful.critic.training.rows import Rows, data_file, open_chat, tokenised
from heedful.critic.training.settings import SftSettings
from heedful.models.folder import find_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

ORDERS = 100


def main() -> None:
    """Read the rows and print the shares."""
    import torch
    from transformers.trainer_pt_utils import LengthGroupedSampler

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--rows", type=int, help="draw so many, with replacement")
    options = parser.parse_args()
    chat, _ = open_chat(find_folder(options.model), SftSettings())
    rows = tokenised(Rows(data_file(options.data), pairs=False), chat, None).rows
    lengths = [len(encoded) for _, encoded in rows]
    if options.rows:
        lengths = Random(0).choices(lengths, k=options.rows)
    shares: dict[str, list[float]] = {"random": [], "by length": []}
    for seed in range(ORDERS):
        generator = torch.Generator().manual_seed(seed)
        random = torch.randperm(len(lengths), generator=generator).tolist()
        grouped = LengthGroupedSampler(options.batch_size, lengths=lengths, generator=generator)
        shares["random"].append(wasted(lengths, random, options.batch_size))
        shares["by length"].append(wasted(lengths, list(grouped), options.batch_size))
    print(f"{len(lengths)} rows of {min(lengths)} to {max(lengths)} tokens")
    for name, values in shares.items():
        print(f"{name}: {100 * fmean(values):.1f} % padding")


def wasted(lengths: Sequence[int], order: Sequence[int], size: int) -> float:
    """Return the share of padding in batches of rows in some order."""
    batches = [
        [lengths[row] for row in order[start : start + size]]
        for start in range(0, len(order), size)
    ]
    computed = sum(max(batch) * len(batch) for batch in batches)
    return 1 - sum(lengths) / computed


if __name__ == "__main__":
    main()
