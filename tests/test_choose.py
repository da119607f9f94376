"""Choices of a model between two responses, in both orders."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import commands
from fault_server import completion, serving
from heedful import InputError, Sample, judge_accuracy
from heedful.core.nouns import Message
from heedful.jobs.choose import choose
from heedful.judges.prompts.fence import unfence
from heedful.models import ScriptedModel

PAIRS = [("long answer", "short", 1), ("long answer", "short", 2), ("no", "longer", 2)]


def records() -> list[dict[str, Any]]:
    return [
        {"input": f"q{at}", "output_1": one, "output_2": two, "label": label}
        for at, (one, two, label) in enumerate(PAIRS)
    ]


def shown(messages: Sequence[Message]) -> list[str]:
    return [each.text for each in unfence(messages[0].content) if "RESPONSE" in each.label]


def longer(messages: Sequence[Message], _: int) -> str:
    one, two = shown(messages)
    return "RANKING: 1 > 2" if len(one) > len(two) else "RANKING: 2 > 1"


def measured(reply: Any, tmp_path: Path) -> dict[str, Any]:
    data, output = tmp_path / "dataset.json", tmp_path / "choices.jsonl"
    data.write_text(json.dumps(records()))
    choose(data, ScriptedModel(reply), output=output)
    choices: dict[str, Any] = judge_accuracy(output)["choices"]
    return choices


def test_a_judge_that_reads_is_the_same_in_both_orders(tmp_path: Path) -> None:
    choices = measured(longer, tmp_path)
    assert choices["pairs"] == 3
    assert choices["accuracy"]["value"] == pytest.approx(2 / 3)
    assert choices["positional_agreement"]["value"] == 1
    assert choices["first_shown"]["value"] == pytest.approx(0.5)


def test_rows_without_pairs_are_refused() -> None:
    with pytest.raises(InputError, match="no row says which"):
        choose([{"prompt": "Greet.", "response": "Hi"}], ScriptedModel(""))


def test_what_cannot_be_read_chooses_neither(tmp_path: Path) -> None:
    choices = measured("The first.", tmp_path)
    assert choices["accuracy"]["coverage"] == choices["ties"] == 0
    assert choices["accuracy"]["bounds"] == [0, 1]


def test_a_tie_is_wrong(tmp_path: Path) -> None:
    choices = measured("RANKING: 1 = 2", tmp_path)
    assert (choices["ties"], choices["accuracy"]["value"]) == (6, 0)
    assert choices["accuracy"]["coverage"] == choices["positional_agreement"]["value"] == 1
    assert choices["first_shown"]["value"] is None


def test_rows_name_the_worse_ones() -> None:
    rows = [
        Sample(id="b", prompt="q", response="longer"),
        Sample.model_validate(
            Sample(id="a", prompt="q", response="x").model_dump()
            | {"preferred_to": ["b", "nobody"]}
        ),
    ]
    made = list(choose(rows, ScriptedModel(longer)))
    assert [each.id for each in made] == ["a>b", "a>nobody"]
    assert made[0].sample is not None
    assert (made[0].sample.model_extra or {})["choice"] == {
        "label": 2,
        "unswapped": 1,
        "swapped": 1,
    }
    assert "nobody" in (made[1].problem or "")


def test_the_command_writes_what_meta_reads(tmp_path: Path) -> None:
    data, output = tmp_path / "dataset.json", tmp_path / "choices.jsonl"
    data.write_text(json.dumps(records()))
    with serving(script=lambda *_: completion("RANKING: 2 > 1")) as server:
        words = ["--model", "m", "--base-url", server.url, "--run", tmp_path / "run"]
        assert commands.run("choose", data, "-o", output, *words) == 0
    assert commands.run("judge-accuracy", output) == 0
