"""Splits by instruction, and exports: each layout as its tool reads it."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from critiques import critique, item, write
from heedful.core.errors import InputError, UsageError
from heedful.core.nouns import Sample
from heedful.critic.data.export import export
from heedful.critic.data.options import ExportSettings
from heedful.critic.data.pairs import Pairs
from heedful.critic.data.split import InstructionSplit
from jsonl import read_rows


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """A file of one pair; the second constraint is judged otherwise."""
    path = tmp_path / "pairs.jsonl"
    Pairs([item(critique("+++"), critique("+-+"), critique("+++", " too"))]).write(path)
    return path


@pytest.fixture
def critiques(tmp_path: Path) -> Path:
    return write(tmp_path / "critiques.jsonl", [item(critique("+-+"))])


def exported(source: Path, to: str) -> list[dict[str, Any]]:
    folder = source.parent / to
    assert run("critic", "export", source, "--to", to, "-o", folder) == 0
    return read_rows(folder / "train.jsonl")


CRITIQUE = critique("+-+")
ASKED = "Use no commas."


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


def test_critiques_for_fine_tuning(critiques: Path) -> None:
    (row,) = exported(critiques, "trl")
    assert row["completion"] == said(CRITIQUE)
    (asked,) = row["prompt"]
    assert asked["role"] == "user"
    assert ASKED in asked["content"]
    (row,) = exported(critiques, "alpaca")
    assert row == {
        "instruction": asked["content"], "input": "", "system": "", "output": CRITIQUE,
    }  # fmt: skip
    (row,) = exported(critiques, "sharegpt")
    assert row["conversations"] == [
        {"from": "human", "value": asked["content"]},
        {"from": "gpt", "value": CRITIQUE},
    ]
    (row,) = exported(critiques, "openai")
    assert row == {"messages": [asked, *said(CRITIQUE)]}


def test_pairs_for_preference_training(pairs: Path) -> None:
    (pair,) = read_rows(pairs)
    (row,) = exported(pairs, "trl")
    assert row["prompt"] == pair["prompt"]
    assert (row["chosen"], row["rejected"]) == (said(pair["chosen"]), said(pair["rejected"]))
    assert row["segments"] == pair["segments"]
    (row,) = exported(pairs, "alpaca")
    assert (row["chosen"], row["rejected"]) == (pair["chosen"], pair["rejected"])
    (row,) = exported(pairs, "sharegpt")
    assert row["conversations"] == [{"from": "human", "value": pair["prompt"][0]["content"]}]
    assert row["rejected"] == {"from": "gpt", "value": pair["rejected"]}
    (row,) = exported(pairs, "openai")
    assert row["input"]["messages"] == pair["prompt"]
    assert row["preferred_output"] == said(pair["chosen"])
    assert row["non_preferred_output"] == said(pair["rejected"])


@pytest.mark.parametrize("to", ["alpaca", "sharegpt"])
@pytest.mark.parametrize("kind", ["pairs", "critiques"])
def test_the_dataset_info_names_columns_that_are_there(
    to: str, kind: str, request: pytest.FixtureRequest
) -> None:
    source: Path = request.getfixturevalue(kind)
    (row,) = exported(source, to)
    info = json.loads((source.parent / to / "dataset_info.json").read_text("utf-8"))[to]
    assert info["file_name"] == "train.jsonl"
    assert set(info["columns"].values()) == set(row)
    assert info.get("ranking", False) == (kind == "pairs")
    assert info.get("formatting", "alpaca") == to


@pytest.mark.slow
@pytest.mark.parametrize("to", ["trl", "parquet"])
@pytest.mark.parametrize("kind", ["pairs", "critiques"])
def test_hugging_face_datasets_loads_the_folder(
    to: str, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    source: Path = request.getfixturevalue(kind)
    folder = source.parent / to
    assert run("critic", "export", source, "--to", to, "-o", folder) == 0
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == ["train"]
    (row,) = loaded["train"]
    plain = exported(source, "trl") if to == "parquet" else read_rows(folder / "train.jsonl")
    assert row == plain[0]


def test_the_card_says_what_is_in_it_and_how_it_came_about(pairs: Path) -> None:
    stage = {
        "stage": "judgment",
        "in": {"judgments": 1500, "constraints": 300, "rows": 100},
        "out": {"judgments": 1400, "constraints": 290, "rows": 91},
        "reasons": {"no majority": 100},
    }
    funnel = pairs.parent / "funnel.json"
    funnel.write_text(json.dumps({"funnel": {"stages": [stage]}}), encoding="utf-8")
    folder = pairs.parent / "mine"
    assert run("critic", "export", pairs, "--funnel", funnel, "-o", folder) == 0
    card = (folder / "README.md").read_text("utf-8")
    assert card.startswith('---\npretty_name: "mine"\n')
    assert 'data_files: "train.jsonl"' in card
    assert "| pairs | 1 |" in card
    assert "- 1 pair from 1 of 1 item\n" in card
    assert "- constraint-level, ratio, seed 42\n" in card
    assert "| final judgment | 1,500 → 1,400 | 93.3 | 300 → 290 | 100 → 91 |" in card
    assert "| final judgment: no majority | 100 |" in card


def test_rows_without_a_final_critique_are_named_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [item(critique("+-+")), item(None, critique("+++"), id="2"), item("Fine.", id="3")]
    source = write(tmp_path / "in.jsonl", rows)
    folder = tmp_path / "out"
    assert run("critic", "export", source, "-o", folder) == 1
    said = capsys.readouterr()
    assert said.out.count("2 rows") == 1
    assert re.findall(r"^line (\d+): (\d+):", said.err, re.MULTILINE) == [("2", "2"), ("3", "3")]
    assert len(read_rows(folder / "train.jsonl")) == 1
    assert "without a final critique | 2 |" in (folder / "README.md").read_text()


def test_a_damaged_pair_is_named(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pair,) = read_rows(pairs)
    write(pairs, [pair, pair | {"id": "2", "chosen": ""}, {"id": "3", "rejected": "a"}])
    assert run("critic", "export", pairs, "-o", pairs.parent / "out") == 1
    errors = capsys.readouterr().err
    assert re.search("line 2: 2: .*chosen", errors)
    assert "line 3: 3: prompt_name" in errors


def test_only_an_earlier_export_is_replaced(
    critiques: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = critiques.parent / "out"
    assert run("critic", "export", critiques, "--to", "alpaca", "-o", folder) == 0
    assert run("critic", "export", critiques, "--to", "trl", "-o", folder) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "train.jsonl"]
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    assert run("critic", "export", critiques, "-o", folder) == 2
    assert "'notes.txt'" in capsys.readouterr().err
    (folder / "notes.txt").unlink()
    (folder / "train.jsonl").unlink()
    assert run("critic", "export", critiques, "-o", folder) == 2
    assert "'README.md'" in capsys.readouterr().err
    assert run("critic", "export", critiques, "-o", critiques.parent / "out.jsonl") == 2
    assert "out.jsonl" in capsys.readouterr().err


def test_nothing_to_export_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path / "in.jsonl", [item(None, critique("+++"))])
    assert run("critic", "export", source, "-o", tmp_path / "out") == 2
    assert "no final critique" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []


def test_a_prompt_of_the_users_own(critiques: Path) -> None:
    prompt = critiques.parent / "prompt.txt"
    prompt.write_text("Judge.\n{{response}}\n{{checklist}}\n{{format}}", encoding="utf-8")
    folder = critiques.parent / "out"
    export(critiques, folder, settings=ExportSettings(prompt_file=prompt))
    (row,) = read_rows(folder / "train.jsonl")
    assert row["prompt"][0]["content"].startswith("Judge.\n")


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
