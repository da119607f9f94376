"""Rows that begin alike are computed once, and nothing else changes."""

import random
from pathlib import Path

import pytest

from extras import needs
from heedful.critic.training.rows import Encoded
from heedful.critic.training.settings import SftSettings
from heedful.critic.training.trainer import IGNORED, Batch, Tree, batches


def made(seed: int) -> list[Encoded]:
    """Make rows of a few responses, each with a few constraints."""
    choice = random.Random(seed)

    def tokens(most: int) -> list[int]:
        return [choice.randrange(5, 300) for _ in range(choice.randint(1, most))]

    rows = []
    for _ in range(choice.randint(1, 12)):
        start = tokens(60)
        size = choice.randint(1, 9)
        rows += [Encoded(start + tokens(9), tokens(9)) for _ in range(size)]
    return choice.sample(rows, len(rows))


def split(tree: Tree) -> list[tuple[list[int], list[int], list[int]]]:
    """Return tokens, labels and positions of each row of a tree, as its branch sees them."""
    names = ("ids", "labels", "positions")
    rows = []
    for branch in sorted({*tree["branches"]} - {0}):
        seen = [at for at, of in enumerate(tree["branches"]) if of in {0, branch}]
        ids, labels, positions = ([tree[name][at] for at in seen] for name in names)
        rows.append((ids, labels, positions))
    return rows


def expected(row: Encoded) -> tuple[list[int], list[int], list[int]]:
    ids = row.prompt + row.answer
    return ids, [IGNORED] * len(row.prompt) + row.answer, list(range(len(ids)))


def width(batch: Batch) -> int:
    return len(batch) * max(len(tree["ids"]) for tree in batch)


@pytest.mark.parametrize("seed", range(20))
def test_each_row_is_in_one_batch_as_it_is(seed: int) -> None:
    rows = made(seed)
    computed = {}
    for limit in ({"batch_size": 1}, {"batch_size": 4}, {"batch_tokens": 150}):
        divided = batches(rows, SftSettings.model_validate(limit))
        found = [row for batch in divided for tree in batch for row in split(tree)]
        assert sorted(found) == sorted(map(expected, rows))
        for batch in divided:
            in_batch = sum(len(split(tree)) for tree in batch)
            if "batch_tokens" in limit:
                assert in_batch == 1 or width(batch) <= 150
            else:
                assert in_batch <= limit["batch_size"]
        computed[str(limit)] = sum(len(tree["ids"]) for batch in divided for tree in batch)
    alone, shared, _ = computed.values()
    assert alone == sum(map(len, rows))
    assert shared <= alone


def test_three_constraints_of_a_response_cost_its_beginning_once() -> None:
    rows = [Encoded([*range(10, 30), number], [1, 2]) for number in (5, 6, 7)]
    ((tree,),) = batches(rows, SftSettings(batch_size=8))
    assert len(tree["ids"]) == 20 + 3 * 3
    assert tree["positions"][20:] == [20, 21, 22] * 3


@pytest.mark.training
@pytest.mark.filterwarnings("ignore")
def test_a_branch_sees_what_its_row_sees_alone(tmp_path: Path) -> None:
    """Logits of shared rows are those of each row by itself, padding beside them or not."""
    needs("trl", extra="train")
    import torch
    from transformers import AutoModelForCausalLM

    from heedful.critic.training.trainer import collated
    from tiny_model import save_tiny_model

    model = AutoModelForCausalLM.from_pretrained(save_tiny_model(tmp_path / "tiny"))
    divided = batches(made(3), SftSettings(batch_size=4))
    assert any(len(split(tree)) > 1 for batch in divided for tree in batch)
    with torch.no_grad():
        for batch in divided:
            given = collated(batch, 0)
            labels = given.pop("labels")
            logits = model(**given).logits
            for place, tree in enumerate(batch):
                for branch, (ids, _, _) in enumerate(split(tree), start=1):
                    seen = [at for at, of in enumerate(tree["branches"]) if of in {0, branch}]
                    alone = model(input_ids=torch.tensor([ids])).logits[0]
                    torch.testing.assert_close(logits[place, seen], alone, rtol=1e-3, atol=1e-3)
                assert (labels[place, len(tree["ids"]) :] == IGNORED).all()
