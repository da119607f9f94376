"""Batches in which a beginning that several rows share is computed once.

The constraints of one response make rows that differ in their last lines only. Such rows become one
tree: their common beginning, and behind it a branch for each row. A branch sees the beginning and
itself, and its positions go on from the beginning's end, so losses and gradients are those of the
rows one by one.
"""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from heedful.models.engine import attends_fully, sharing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from heedful.critic.training.rows import Encoded
    from heedful.critic.training.settings import SftSettings

IGNORED = -100
"""The label of tokens that are not trained on, by torch's convention."""

_PADDING = {"ids": 0, "labels": IGNORED, "positions": 0, "branches": -1}

Tree = dict[str, list[int]]
"""Tokens, labels, positions, and the branch that a token is of: 0 is the common beginning."""

Batch = list[Tree]
"""The trees of one forward pass."""


def shares(skeleton: Any, settings: SftSettings) -> bool:
    """Tell whether a model's attention can be masked token by token."""
    wanted = settings.share_prompts and settings.attention in (None, "sdpa")
    supported = getattr(skeleton, "_supports_sdpa", False)
    return wanted and supported and attends_fully(skeleton, skeleton.config.get_text_config())


def batches(rows: Sequence[Encoded], settings: SftSettings) -> list[Batch]:
    """Divide rows into batches of so many tokens or rows; every row is in one of them."""
    choice = random.Random(settings.seed)
    groups = []
    for members, shared in sharing([row.prompt for row in rows]):
        group = choice.sample([rows[at] for at in members], len(members))
        if settings.group_by_length:
            group.sort(key=len)
        groups.append((group, shared if len(group) > 1 else 0))
    choice.shuffle(groups)
    if settings.batch_tokens:
        return list(_by_tokens(groups, settings.batch_tokens))
    if settings.group_by_length:
        groups.sort(key=lambda group: max(map(len, group[0])))
    return _by_rows(groups, settings.batch_size)


_Groups = list[tuple[list["Encoded"], int]]
"""Rows with the number of tokens that all of them begin with."""


def _by_rows(groups: _Groups, size: int) -> list[Batch]:
    """Make batches of so many rows; what a tree leaves empty goes to the largest that fits."""
    trees: list[tuple[int, Tree]] = []
    for group, shared in groups:
        for at in range(0, len(group), size):
            part = group[at : at + size]
            trees.append((len(part), _tree(part, shared)))
    made: list[Batch] = []
    open_ones: dict[int, list[Batch]] = defaultdict(list)  # by how many rows still fit
    for rows, tree in sorted(trees, key=lambda each: -each[0]):
        room = next((room for room in range(rows, size) if open_ones[room]), size)
        if room == size:
            made.append([])
        batch = open_ones[room].pop() if room < size else made[-1]
        batch.append(tree)
        open_ones[room - rows].append(batch)
    return made


def _by_tokens(groups: _Groups, most: int) -> Iterator[Batch]:
    """Yield batches of at most so many tokens, padding included, unless one row has more."""
    trees = []
    for group, shared in groups:
        taken: list[Encoded] = []
        for row in group:
            if taken and shared + sum(len(each) - shared for each in [*taken, row]) > most:
                trees.append(_tree(taken, shared))
                taken = []
            taken.append(row)
        trees.append(_tree(taken, shared))
    batch: Batch = []
    for tree in sorted(trees, key=lambda tree: len(tree["ids"])):
        if batch and (len(batch) + 1) * len(tree["ids"]) > most:
            yield batch
            batch = []
        batch.append(tree)
    yield batch


def _tree(rows: Sequence[Encoded], shared: int) -> Tree:
    tree: Tree = {
        "ids": rows[0].prompt[:shared],
        "labels": [IGNORED] * shared,
        "positions": list(range(shared)),
        "branches": [0] * shared,
    }
    for number, row in enumerate(rows, start=1):
        asked = row.prompt[shared:]
        size = len(row) - shared
        tree["ids"] += asked + row.answer
        tree["labels"] += [IGNORED] * len(asked) + row.answer
        tree["positions"] += range(shared, len(row))
        tree["branches"] += [number] * size
    return tree


def collated(batch: Sequence[Tree], pad_token_id: int) -> dict[str, Any]:
    """Make the tensors of a forward pass."""
    import torch

    width = max(len(tree["ids"]) for tree in batch)
    padding = {**_PADDING, "ids": pad_token_id}
    ids, labels, positions, branches = (
        torch.tensor([tree[name] + [fill] * (width - len(tree[name])) for tree in batch])
        for name, fill in padding.items()
    )
    seen, sees = branches[:, None, None, :], branches[:, None, :, None]
    mask = ((seen == 0) | (seen == sees)).tril()
    return {
        "input_ids": ids,
        "labels": labels,
        "position_ids": positions,
        "attention_mask": mask,
    }


def collator(pad_token_id: int) -> Callable[[Sequence[dict[str, Any]]], dict[str, Any]]:
    """Make the collator of a data set whose rows are batches."""

    def made(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return collated([tree for row in rows for tree in row["trees"]], pad_token_id)

    return made
