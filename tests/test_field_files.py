"""Files as the field writes them, each evaluated with no flag but the file."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest

from commands import run
from heedful import evaluate
from heedful.analysis.meta import meta
from heedful.core.errors import HeedfulError
from heedful.data.formats import columns, open_source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from heedful.core.nouns import Sample

USAGE = 2
TEXTS = ["No commas.", "At most 3 words."]


def table(path: Path, *rows: Sequence[str]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def samples(path: Path) -> list[Sample]:
    rows = list(open_source(path))
    assert all(row.problem is None for row in rows), rows
    return [row.sample for row in rows if row.sample is not None]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (("Query", "gpt_out", "Rubrics"), "read Query as prompt, gpt_out as response, Rubrics as"),
        (("question", "answer", "requirements"), "answer as response"),
        (("User Input", "Model Response", "Evaluation Criteria"), "Model Response as response"),
        (("prompt", "completion", "checklist"), "read completion as response: --map"),
        (("prompt", "response", "checklst"), "read checklst as checklist: --map"),
    ],
)
def test_usual_names_of_columns(header: tuple[str, ...], said: str, tmp_path: Path) -> None:
    path = table(tmp_path / "own.csv", header, ("Greet.", "Hi, you!", "No commas."))
    evaluation = evaluate(path, run=tmp_path / "run")
    assert [verdict.status for row in evaluation for verdict in row.verdicts] == ["unmet"]
    assert said in evaluation.summary["columns"]
    assert evaluate(path, run=tmp_path / "run").progress.resumed == 1
    mapping = evaluation.summary["columns"].partition("--map ")[2].strip("'")
    assert evaluate(path, map=mapping, run=tmp_path / "run").progress.resumed == 1
    in_memory = evaluate([dict(zip(header, ("Greet.", "Hi, you!", ["No commas."]), strict=True))])
    assert said in in_memory.summary["columns"]
    assert in_memory.summary["verdicts"]["unmet"] == 1


def test_what_goes_without_saying_is_not_said(tmp_path: Path) -> None:
    row = ("Greet.", "Hi!", "No commas.")
    path = table(tmp_path / "own.csv", ("prompt", "response", "checklist"), row)
    assert "columns" not in evaluate(path).summary


def test_several_responses_ask_which(tmp_path: Path) -> None:
    header = ("Query", "gpt_out", "llama_out", "Rubrics")
    path = table(tmp_path / "own.csv", header, ("Greet.", "Hi, you!", "Hi!", "No commas."))
    with pytest.raises(HeedfulError) as refused:
        evaluate(path)
    assert "--map Query=prompt,Rubrics=checklist,gpt_out=response" in str(refused.value)
    assert "--response gpt_out --response llama_out" in str(refused.value)


@pytest.mark.parametrize(
    "cell",
    [
        "No commas.; At most 3 words.; Be kind.",
        "No commas. | At most 3 words. | Be kind.",
        "1) No commas. 2) At most 3 words. 3) Be kind.",
        "(1) No commas. (2) At most 3 words. (3) Be kind.",
        "1. No commas.; 2. At most 3 words.; 3. Be kind.",
        "No commas.\nAt most 3 words.\nBe kind.",
        "- No commas.\n- At most 3 words.\n- Be kind.",
        "1. No commas.\n2. At most 3 words.\n3. Be kind.",
        json.dumps([*TEXTS, "Be kind."]),
    ],
)
@pytest.mark.parametrize("name", ["checklist", "Rubrics"])
def test_a_cell_that_is_a_list(cell: str, name: str, tmp_path: Path) -> None:
    path = table(tmp_path / "own.csv", ("prompt", "response", name), ("Greet.", "Hi!", cell))
    (sample,) = samples(path)
    assert [each.text for each in sample.checklist] == [*TEXTS, "Be kind."]
    mapping = f"prompt=prompt,response=response,{name}=checklist"
    assert len(evaluate(path, map=mapping)[0].verdicts) == len(sample.checklist)


@pytest.mark.parametrize(
    "cell",
    [
        "Use formal language; avoid slang.",
        "Contain 1) a table; 2) a list; and 3) a summary.",
        "Name the price; the place; and the time.",
        "是否提到了海平面上升: 8.9 cm | 海面上昇について言及されているか：8.9cm",
    ],
)
def test_a_sentence_is_not_torn_apart(cell: str) -> None:
    assert columns.mark_of([cell]) == ""


def test_pairs_are_lists_where_several_rows_have_them() -> None:
    assert columns.mark_of(["No commas; short", "Be kind; rhyme", "No lists; one line"]) == ";"


@pytest.mark.parametrize("labels", [("0", "1"), ("no", "yes"), ("unmet", "met"), ("False", "True")])
def test_labels_one_a_row(labels: tuple[str, str], tmp_path: Path) -> None:
    rows = [("Greet.", "Hi, you!", "No commas.", labels[0]), ("Greet.", "Hi!", "Short.", labels[1])]
    path = table(tmp_path / "own.csv", ("query", "answer", "constraint", "label"), *rows)
    counts = meta(path, judge="compiled")["labels"]
    assert (counts["met"], counts["unmet"]) == (1, 1)


def test_labels_in_one_cell(tmp_path: Path) -> None:
    row = ("Greet.", "Hi, you!", " | ".join(TEXTS), "unmet; met")
    header = ("prompt", "response", "checklist", "labels")
    (sample,) = samples(table(tmp_path / "own.csv", header, row))
    assert sample.labels == (False, True)


def test_a_pointer_of_git_lfs_is_refused(tmp_path: Path) -> None:
    pointer = tmp_path / "responses.jsonl"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
    data = table(tmp_path / "own.csv", ("prompt", "checklist"), ("Greet.", "No commas."))
    for files in ((pointer,), (data, pointer)):
        words = [*files[:1], *(("--responses", pointer) if len(files) > 1 else ())]
        assert run("evaluate", *words) == USAGE
    with pytest.raises(HeedfulError, match=r"Git LFS.*git lfs pull"):
        evaluate(pointer)


def test_a_report_without_samples_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate([{"prompt": 3}], run=tmp_path / "r")
    assert run("report", tmp_path / "r", "-o", tmp_path / "r.html", "--no-charts") == 1
    assert "could not be read" in capsys.readouterr().err
