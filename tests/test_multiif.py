"""Multi-IF from its files to its numbers; all conversations here are our own."""

import csv
import json
import math
from datetime import date
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from heedful import evaluate
from heedful.core.errors import InputError
from heedful.core.nouns import Check, Constraint, Critique, Judgment, Sample, Status
from heedful.data import formats
from heedful.metrics import Summary

IDS = ["punctuation:no_comma", "length_constraints:number_words", "keywords:existence"]
KWARGS = [
    "{}",
    '{"num_words": 3, "relation": "at least", "keywords": null}',
    '{"keywords": ["sea"]}',
]
PROMPTS = ["Describe the sea.", "Use three words or more.", "Name the sea."]
ANSWERS = ["Blue.", "Deep and blue.", "The sea is deep, and blue."]


def record(key: str = "1:1:en", language: str = "English", **more: Any) -> dict[str, Any]:
    """A row as the data set has it: everything is text."""
    row = {"turns": "", "responses": ""}
    for turn, prompt in enumerate(PROMPTS, start=1):
        row[f"turn_{turn}_prompt"] = json.dumps({"role": "user", "content": prompt})
        row[f"turn_{turn}_instruction_id_list"] = json.dumps(IDS[:turn])
        row[f"turn_{turn}_kwargs"] = json.dumps(KWARGS[:turn])
    return row | {"key": key, "turn_index": "0", "language": language} | more


def answered(**more: Any) -> dict[str, Any]:
    columns = {f"turn_{turn}_response": text for turn, text in enumerate(ANSWERS, start=1)}
    return record(**columns, **more)


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write CSV or JSON lines, by the path's name."""
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
        else:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return path


def read(path: Path, **options: Any) -> list[formats.Row]:
    return list(formats.read(path, **options))


def samples(rows: list[formats.Row]) -> list[Sample]:
    assert not [row.problem for row in rows if row.problem]
    return [row.sample for row in rows if row.sample]


# --- the format ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["data.csv", "data.jsonl"])
def test_each_turn_is_a_sample_that_follows_on_the_one_before(tmp_path: Path, name: str) -> None:
    first, second, third = samples(read(write(tmp_path / name, [answered()])))
    assert [first.id, second.id, third.id] == ["1:1:en-1", "1:1:en-2", "1:1:en-3"]
    assert third.tags == {
        "benchmark": "multiif",
        "conversation_id": "1:1:en",
        "turn": 3,
        "language": "English",
    }
    assert [(turn.role, turn.content) for turn in third.conversation] == [
        ("user", PROMPTS[0]),
        ("assistant", ANSWERS[0]),
        ("user", PROMPTS[1]),
        ("assistant", ANSWERS[1]),
        ("user", PROMPTS[2]),
    ]
    assert (first.response, third.response) == (ANSWERS[0], ANSWERS[2])
    checks = [each.check for each in third.checklist]
    assert [check.id for check in checks if check] == [
        "multiif:punctuation:no_comma",
        "multiif:length_constraints:number_words",
        "keywords:existence",
    ]
    assert checks[1]
    assert checks[1].args == {"num_words": 3, "relation": "at least"}
    assert [each.subtype for each in third.checklist] == IDS


def test_parquet_is_read_row_by_row(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="heedful[parquet] is not installed")
    pq = pytest.importorskip("pyarrow.parquet")
    row = answered() | {"turns": None, "responses": None, "turn_index": 0, "at": date(2024, 10, 18)}
    pq.write_table(pa.Table.from_pylist([row] * 300), tmp_path / "data.parquet")
    result = samples(read(tmp_path / "data.parquet"))
    assert len(result) == 900
    dated = write(tmp_path / "data.csv", [answered(at="2024-10-18")])
    assert result[:3] == samples(read(dated))
    whole = (tmp_path / "data.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "cut.parquet")


def said(upto: int) -> list[dict[str, str]]:
    turns: list[dict[str, str]] = []
    for prompt, answer in zip(PROMPTS[:upto], ANSWERS, strict=False):
        turns += [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
    return turns


@pytest.mark.parametrize(
    ("more", "turns"),
    [
        ({f"turn_{k}_response": t for k, t in enumerate(ANSWERS, start=1)} | {"turn_index": 1}, 3),
        ({"responses": ANSWERS}, 3),
        ({"responses": json.dumps(ANSWERS)}, 3),
        ({"responses": [{"response": text} for text in ANSWERS]}, 3),
        ({"messages": said(3)}, 3),
        ({"turn_index": "1", "responses": ANSWERS[0], "turns": json.dumps(said(1)[:-1])}, 1),
        ({"turn_index": 2, "responses": ANSWERS[1], "turns": json.dumps(said(2)[:-1])}, 2),
        ({"turn_index": "3", "responses": ANSWERS[2], "turns": json.dumps(said(3)[:-1])}, 3),
        (
            {
                "turn_index": "2",
                "responses": json.dumps([{"response": ANSWERS[1]}]),
                "turns": json.dumps(said(2)[:-1]),
            },
            2,
        ),
    ],
)
def test_responses_are_found_in_every_form(
    tmp_path: Path, more: dict[str, Any], turns: int
) -> None:
    result = samples(read(write(tmp_path / "data.jsonl", [record(**more)])))
    assert [sample.response for sample in result] == ANSWERS[:turns]


@pytest.mark.parametrize(
    "answers",
    [
        [{"key": "1:1:en", "turn": k, "response": text} for k, text in enumerate(ANSWERS, start=1)],
        [{"key": "1:1:en"} | {f"turn_{k}_response": t for k, t in enumerate(ANSWERS, start=1)}],
        [record(turn_index=3, responses=ANSWERS[2], turns=json.dumps(said(3)[:-1]))],
    ],
)
def test_responses_of_another_file_are_joined(
    tmp_path: Path, answers: list[dict[str, Any]]
) -> None:
    data = write(tmp_path / "data.csv", [record()])
    joined = read(data, responses=write(tmp_path / "answers.jsonl", answers))
    assert samples(joined) == samples(read(write(tmp_path / "full.csv", [answered()])))


def test_a_turn_without_response_fails_and_costs_no_other(tmp_path: Path) -> None:
    data = write(tmp_path / "data.csv", [record()])
    answers = [
        {"key": "1:1:en", "turn": 1, "response": "Blue."},
        {"key": "1:1:en", "turn": 4, "response": "Blue."},
        {"key": "9:9:en", "turn": 1, "response": "Blue."},
    ]
    rows = read(data, responses=write(tmp_path / "answers.jsonl", answers))
    assert [row.problem is None for row in rows] == [True, False, False, False, False]
    assert "no response in" in str(rows[1].problem)
    assert "1:1:en-2" in str(rows[1].problem)
    assert "its turn: 1, 2 or 3" in str(rows[3].problem)
    assert "joins no prompt" in str(rows[4].problem)
    failed = evaluate(write(tmp_path / "part.csv", [record(turn_1_response="Blue.")]))
    assert failed.summary["verdicts"] | {"unmet": 0} == {
        "met": 1, "unmet": 0, "unparsed": 0, "failed": 5, "unsupported": 0,
    }  # fmt: skip
    assert failed.summary["metrics"]["multiif"]["turn_1"]["value"] == 1
    assert failed.summary["metrics"]["multiif"]["turns"]["value"] is None


# --- the numbers --------------------------------------------------------------------------------


def turn(
    key: int, number: int, language: str, strict: list[bool], loose: list[bool] | None = None
) -> tuple[Sample, Critique]:
    constraint = Constraint(text="x", check=Check(id="punctuation:no_comma"))
    tags: dict[str, str | int | float | bool] = {
        "benchmark": "multiif", "conversation_id": str(key), "turn": number, "language": language,
    }  # fmt: skip
    sample = Sample(id=f"{key}-{number}", checklist=(constraint,) * len(strict), tags=tags)
    verdict = {True: Status.MET, False: Status.UNMET}
    judgments = tuple(
        Judgment(status=verdict[one], loose=verdict[other])
        for one, other in zip(strict, loose or strict, strict=True)
    )
    return sample, Critique(judgments=judgments)


def summary(turns: list[tuple[Sample, Critique]]) -> dict[str, Any]:
    result = Summary()
    for sample, critique in turns:
        result.add(sample, critique)
    return result.result()


TURNS = [
    turn(1, 1, "English", [True]),
    turn(1, 2, "English", [True, False], [True, True]),
    turn(2, 1, "English", [True]),
    turn(2, 2, "English", [True, True]),
    turn(3, 1, "Hindi", [False]),
    turn(3, 2, "Hindi", [False, True]),
]


def test_turns_and_languages_are_averaged_as_published() -> None:
    result = summary(TURNS)
    metrics = result["metrics"]["multiif"]
    by_hand = {
        "turn_1": 2 / 3,
        "turn_2": fmean([1 / 3, 4 / 6, 2 / 3, 5 / 6]),
        "turn_1_languages": fmean([1, 0]),
        "turn_2_languages": fmean([fmean([1 / 2, 3 / 4, 1, 1]), fmean([0, 1 / 2, 0, 1 / 2])]),
    }
    by_hand["turns"] = fmean([by_hand["turn_1"], by_hand["turn_2"]])
    by_hand["turns_languages"] = fmean([by_hand["turn_1_languages"], by_hand["turn_2_languages"]])
    assert {name: one["value"] for name, one in metrics.items()} == pytest.approx(by_hand)
    assert result["metrics"]["ifeval"]["prompt_strict"]["value"] == 1 / 2  # over all turns
    second = result["by"]["turn"]["2"]
    assert {name: one["value"] for name, one in second["ifeval"].items()} == pytest.approx(
        {
            "prompt_strict": 1 / 3,
            "instruction_strict": 4 / 6,
            "prompt_loose": 2 / 3,
            "instruction_loose": 5 / 6,
        }
    )
    assert second["multiif"]["mean"]["value"] == pytest.approx(by_hand["turn_2"])
    assert result["by"]["language and turn"]["Hindi 2"]["multiif"]["mean"]["value"] == 0.25
    assert result["by"]["language"]["Hindi"]["samples"] == 2
    assert result["by"]["language"]["Hindi"]["ifeval"]["instruction_strict"]["value"] == 1 / 3


def test_one_language_needs_no_mean_of_languages() -> None:
    assert set(summary(TURNS[:4])["metrics"]["multiif"]) == {"turns", "turn_1", "turn_2"}


def test_the_interval_resamples_conversations_not_turns() -> None:
    same = [turn(key, number, "en", [key % 2 == 0]) for key in range(40) for number in (1, 2, 3)]
    metrics = summary(same)["metrics"]["multiif"]
    widths = [high - low for low, high in (metric["interval"] for metric in metrics.values())]
    # Turns of a conversation that go together tell no more than one of them.
    assert widths[0] == pytest.approx(widths[1], abs=0.05)
    assert widths[0] == pytest.approx(2 * 1.96 * math.sqrt(0.25 / 40), abs=0.05)
