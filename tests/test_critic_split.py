"""Splitting by instruction: exact, seeded, and nothing lost in silence."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from critiques import critique, item, write
from heedful.core.errors import InputError, UsageError
from heedful.core.nouns import Sample
from heedful.critic.data.split import InstructionSplit
from jsonl import read_rows


def samples(instructions: int, responses: int = 2) -> list[Sample]:
    return [
        item(critique("+++"), id=f"{number}-{each}", prompt=f"Do {number}.")
        for each in range(responses)
        for number in range(instructions)
    ]


@pytest.mark.parametrize("seed", [0, 42])
def test_no_instruction_is_on_both_sides(tmp_path: Path, seed: int) -> None:
    source = write(tmp_path / "in.jsonl", samples(10))
    assert run("critic", "split", source, "--seed", str(seed), "-o", tmp_path / "parts") == 0
    sft, preference = (read_rows(tmp_path / "parts" / f"{p}.jsonl") for p in ("sft", "preference"))
    assert (len(sft), len(preference)) == (12, 8)
    assert {row["tags"]["part"] for row in sft} == {"sft"}
    instructions = [
        {row["conversation"][0]["content"] for row in part} for part in (sft, preference)
    ]
    assert not instructions[0] & instructions[1]
    ids = [row["id"] for row in sft]
    assert ids == [sample.id for sample in samples(10) if sample.id in ids]
    summary = json.loads((tmp_path / "parts" / "summary.json").read_text("utf-8"))
    assert summary["instructions"] == {"sft": 6, "preference": 4}


def test_the_seed_decides_and_neither_order_nor_ids_do(tmp_path: Path) -> None:
    def parts(rows: list[Sample], seed: int) -> dict[str, str]:
        split = InstructionSplit(write(tmp_path / "in.jsonl", rows), seed=seed)
        return {sample.conversation[0].content: part for part, sample in split}

    rows = samples(12)
    renamed = [row.model_copy(update={"id": f"x{at}"}) for at, row in enumerate(rows[::-1])]
    assert parts(rows, 3) == parts(renamed, 3)
    assert parts(rows, 3) != parts(rows, 4)


@given(st.integers(2, 30), st.floats(0.01, 0.99))
def test_both_parts_have_instructions_and_their_share(
    tmp_path_factory: pytest.TempPathFactory, number: int, share: float
) -> None:
    source = write(tmp_path_factory.mktemp("split") / "in.jsonl", samples(number, 1))
    split = InstructionSplit(source, share=share)
    first, second = split.instructions.values()
    assert first + second == number
    assert min(first, second) >= 1
    assert abs(first - share * number) <= 1
    assert Counter(part for part, _ in split) == split.instructions


def test_rows_that_cannot_be_placed_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nameless = item(critique("+++"), id="no prompt").model_copy(update={"conversation": ()})
    source = write(tmp_path / "in.jsonl", [*samples(3), nameless, {"id": "broken", "response": 1}])
    assert run("critic", "split", source, "-o", tmp_path / "parts") == 1
    said = capsys.readouterr()
    assert "line 7: no prompt: " in said.err
    assert "line 8: broken:" in said.err
    assert "2 rows could not" in said.out


def test_what_cannot_be_split_is_refused(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", samples(1, 3))
    with pytest.raises(InputError, match="1 instruction"):
        InstructionSplit(source)
    with pytest.raises(UsageError, match=r"share is 1\.0"):
        InstructionSplit(source, share=1.0)
