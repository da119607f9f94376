"""Exports: each layout as its tool reads it, checked by the tool where it is installed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from commands import run
from critiques import critique, item, write
from heedful.critic.data.export import export
from heedful.critic.data.options import ExportSettings
from heedful.critic.data.pairs import Pairs
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
