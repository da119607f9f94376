"""Fine-tune in this process with and without shared prompts, in CPU seconds and FLOPs.

    python benchmarks/local_training.py --model FOLDER --data EXPORT [--rows 24] [--batch-size 8]

Both ways compute losses and gradients of the same rows (the first ones of the export, which are
those of a few responses), without an optimizer's step, so that both must come to the same.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.utils.flop_counter import FlopCounterMode

from heedful.critic.training import SftSettings
from heedful.critic.training.rows import Rows, data_file, open_chat, tokenised
from heedful.critic.training.trainer import IGNORED, learnt_positions_only, quiet, sft_trainer
from heedful.models.folder import find_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful.data.training_sets import Example


class First(Rows):
    """The first rows of an export."""

    most = 0

    def __iter__(self) -> Iterator[tuple[int, Example]]:
        """Yield so many rows."""
        return islice(super().__iter__(), self.most)


def main() -> None:
    """Measure both ways in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=24)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = First(data_file(given.data), pairs=False)
    rows.most = given.rows
    folder = find_folder(given.model)
    seconds = {}
    for name, shared in (("each row", False), ("shared", True)):
        settings = SftSettings(
            share_prompts=shared,
            batch_size=given.batch_size,
            dtype=given.dtype,
            gradient_accumulation=1,
        )
        chat, context = open_chat(folder, settings)
        tokens = tokenised(rows, chat, context)
        with quiet(), learnt_positions_only():
            trainer = sft_trainer(folder.path, chat, tokens.rows, Path("unused"), settings)
            batches = list(trainer.get_train_dataloader())
            learnt = sum(int((batch["labels"] != IGNORED).sum()) for batch in batches)
            loss = 0.0
            started = time.process_time()
            with FlopCounterMode(display=False) as counter, trainer.accelerator.autocast():
                for batch in batches:
                    one = trainer.compute_loss(
                        trainer.model, dict(batch), num_items_in_batch=torch.tensor(learnt)
                    )
                    one.backward()
                    loss += float(one)
            seconds[name] = time.process_time() - started
            gradients = [each.grad.norm() for each in trainer.model.parameters()]
            norm = float(torch.stack(gradients).norm())
        computed = sum(batch["input_ids"].numel() for batch in batches)
        print(
            f"{name}: {len(tokens.rows)} rows, {computed:,} tokens computed,"
            f" {counter.get_total_flops() / 1e12:.2f} TFLOP, {seconds[name]:.1f} CPU seconds,"
            f" loss {loss:.5f}, gradient {norm:.4f}",
            flush=True,
        )
    print(f"{seconds['each row'] / seconds['shared']:.2f} times as fast")


if __name__ == "__main__":
    main()
