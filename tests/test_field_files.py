"""Files and data sets as the field writes them, each evaluated with no flag but its name."""

from __future__ import annotations

import csv
import datetime as dt
import gc
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from commands import run
from heedful import InputError, UsageError, evaluate, judge_accuracy, read
from heedful.core.errors import HeedfulError
from heedful.data.formats import columns, hub, open_source
from jsonl import write_rows

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
    mapping = evaluation.summary["columns"].partition("--map ")[2].strip("'")
    assert evaluate(path, map=mapping, run=tmp_path / "run").progress.resumed == 1
    in_memory = evaluate([dict(zip(header, ("Greet.", "Hi, you!", ["No commas."]), strict=True))])
    assert said in in_memory.summary["columns"]
    assert in_memory.summary["verdicts"]["unmet"] == 1


def test_several_responses_ask_which(tmp_path: Path) -> None:
    header = ("Query", "gpt_out", "llama_out", "Rubrics")
    path = table(tmp_path / "own.csv", header, ("Greet.", "Hi, you!", "Hi!", "No commas."))
    with pytest.raises(HeedfulError) as refused:
        evaluate(path)
    assert "--map Query=prompt,Rubrics=checklist,gpt_out=response" in str(refused.value)
    assert "--response gpt_out --response llama_out" in str(refused.value)


def test_several_responses_in_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    header = ("Query", "gpt_out", "llama_out", "Rubrics")
    path = table(tmp_path / "own.csv", header, (ASKED, SAID, "Hi!", "No commas."))
    words = ("evaluate", path, "--response", "gpt_out", "--response", "llama_out")
    assert run(*words) == 0
    said = capsys.readouterr().out
    assert "llama_out is better than gpt_out" in said or "gpt_out − llama_out" in said
    (folder,) = (tmp_path / "heedful-runs").iterdir()
    assert sorted(each.name for each in folder.iterdir()) == ["gpt_out", "llama_out"]
    assert run(*words, "--run", folder) == 0
    assert "done before" in capsys.readouterr().out
    assert run("evaluate", path, "--response", "gpt") == USAGE
    assert "'gpt_out', 'llama_out'" in capsys.readouterr().err
    mapping = "Query=prompt,Rubrics=checklist"
    assert run("evaluate", path, "--map", mapping, "--response", "llama_out") == 0
    assert "100.0 %" in capsys.readouterr().out


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
    (mapped,) = read(path, map=mapping)
    assert mapped.checklist == sample.checklist


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
    counts = judge_accuracy(path, judge="compiled")["labels"]
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


ASKED = "Greet."
SAID = "Hi, you!"


def lines(path: Path, *records: dict[str, Any]) -> Path:
    write_rows(path, records)
    return path


def document(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, indent=2))
    return path


def parquet(path: Path, *records: dict[str, Any]) -> Path:
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pytest.importorskip("pyarrow").Table.from_pylist(list(records)), path)
    return path


def saved(path: Path, *records: dict[str, Any]) -> Path:
    pytest.importorskip("datasets").Dataset.from_list(list(records)).save_to_disk(path)
    return path


def workbook(path: Path, *rows: Sequence[str]) -> Path:
    book = pytest.importorskip("openpyxl").Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def log(path: Path, kind: str) -> Path:
    """Have Inspect write a log."""
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import Sample as Asked
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    output = ModelOutput.from_content("mockllm/model", SAID)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    task = inspect_ai.Task(
        dataset=[Asked(id=1, input=ASKED, metadata={"checklist": TEXTS}, target="Hi")]
    )
    model = get_model("mockllm/model", custom_outputs=[output])
    inspect_ai.eval(task, model=model, log_dir=str(path), log_format=kind, display="none")
    gc.collect()  # what Inspect leaves open complains here, not in the next test
    (written,) = path.iterdir()
    return written


def sent(path: Path) -> Path:
    """Write a logged sample as lm-evaluation-harness 0.4 does."""
    record = {
        "doc_id": 0,
        "doc": {"question": "greet", "checklist": TEXTS},
        "target": "0",
        "arguments": {"gen_args_0": {"arg_0": ASKED, "arg_1": {"until": ["\n\n"]}}},
        "resps": [[SAID]],
        "filtered_resps": [SAID],
        "filter": "none",
        "metrics": ["bypass"],
        "doc_hash": "75",
        "bypass": None,
    }
    return lines(path, record)


TURNS = [{"role": "user", "content": ASKED}]
ANSWER = {"role": "assistant", "content": SAID}
BODY = {"id": "c", "object": "chat.completion", "model": "m", "choices": [{"message": ANSWER}]}
PROMPTFOO = {
    "evalId": "eval-1",
    "results": {
        "version": 3,
        "results": [
            {
                "id": "x",
                "prompt": {"raw": ASKED, "label": "p"},
                "vars": {},
                "provider": {"id": "openai:m"},
                "response": {"output": SAID},
                "testCase": {"assert": [{"type": "llm-rubric", "value": "No commas."}]},
                "gradingResult": {
                    "componentResults": [
                        {
                            "pass": False,
                            "reason": "One comma.",
                            "assertion": {"type": "llm-rubric", "value": "No commas."},
                        }
                    ]
                },
            }
        ],
    },
}
HEADER = ("Query", "gpt_out", "Rubrics")
OWN = {"prompt": ASKED, "response": SAID, "checklist": TEXTS}

FILES: dict[str, Any] = {
    "own columns": lambda at: table(at / "a.csv", HEADER, (ASKED, SAID, "\n".join(TEXTS))),
    "own fields": lambda at: lines(
        at / "a.jsonl", {"input": ASKED, "output": SAID, "criteria": TEXTS}
    ),
    "cells a | b": lambda at: table(at / "a.csv", HEADER, (ASKED, SAID, " | ".join(TEXTS))),
    "cells 1) a 2) b": lambda at: table(
        at / "a.csv", HEADER, (ASKED, SAID, f"1) {TEXTS[0]} 2) {TEXTS[1]}")
    ),
    "bullets in a workbook": lambda at: workbook(
        at / "a.xlsx", HEADER, (ASKED, SAID, "\n".join(f"- {text}" for text in TEXTS))
    ),
    "one JSON object": lambda at: document(at / "a.json", {"version": 1, "data": [OWN]}),
    "lm-eval samples": lambda at: sent(at / "samples_task.jsonl"),
    "Inspect .eval": lambda at: log(at / "logs", "eval"),
    "Inspect .json": lambda at: log(at / "logs", "json"),
    "OpenAI completions": lambda at: lines(
        at / "a.jsonl", {**BODY, "request": {"messages": TURNS}, "checklist": TEXTS}
    ),
    "OpenAI responses": lambda at: lines(
        at / "a.jsonl",
        {
            "object": "response",
            "input": ASKED,
            "output": [{"type": "message", "content": [{"type": "output_text", "text": SAID}]}],
            "metadata": {"checklist": json.dumps(TEXTS)},
        },
    ),
    "TRL": lambda at: lines(
        at / "a.jsonl", {"prompt": ASKED, "completion": SAID, "checklist": TEXTS}
    ),
    "TRL, conversational": lambda at: lines(
        at / "a.jsonl", {"prompt": TURNS, "completion": [ANSWER], "rubric": TEXTS}
    ),
    "ShareGPT": lambda at: lines(
        at / "a.jsonl",
        {
            "conversations": [{"from": "human", "value": ASKED}, {"from": "gpt", "value": SAID}],
            "constraints": TEXTS,
        },
    ),
    "Alpaca": lambda at: lines(
        at / "a.jsonl", {"instruction": ASKED, "input": "Me.", "output": SAID, "rubric": TEXTS}
    ),
    "verl": lambda at: parquet(
        at / "a.parquet",
        {
            "data_source": "own",
            "prompt": TURNS,
            "reward_model": {"style": "rule", "ground_truth": json.dumps(TEXTS)},
            "response": SAID,
        },
    ),
    "verl, IFEval": lambda at: parquet(
        at / "a.parquet",
        {
            "prompt": TURNS,
            "reward_model": {
                "ground_truth": str(
                    [{"instruction_id": ["punctuation:no_comma"], "kwargs": [None]}]
                )
            },
            "response": SAID,
        },
    ),
    "verl's validation": lambda at: lines(
        at / "1.jsonl", {"input": ASKED, "output": SAID, "gts": json.dumps(TEXTS), "score": 0.5}
    ),
    "OpenRLHF": lambda at: parquet(
        at / "a.parquet",
        {"context_messages": TURNS, "label": json.dumps({"checklist": TEXTS}), "response": SAID},
    ),
    "promptfoo": lambda at: document(at / "output.json", PROMPTFOO),
    "save_to_disk": lambda at: saved(at / "data", OWN),
    "W&B or MLflow table": lambda at: document(
        at / "a.table.json",
        {"columns": ["inputs", "outputs", "Rubrics"], "data": [[ASKED, SAID, "\n".join(TEXTS)]]},
    ),
}
"""Files by what writes them."""


# What Inspect leaves open is closed when it is collected, and says so.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "kind",
    # Inspect takes seconds to import.
    [pytest.param(kind, marks=[pytest.mark.slow] * kind.startswith("Inspect")) for kind in FILES],
)
def test_a_file_as_the_field_writes_it(kind: str, tmp_path: Path) -> None:
    path = FILES[kind](tmp_path)
    (row,) = evaluate(path)
    assert row.sample is not None, row.problem
    assert [each.text.rstrip(".") for each in row.sample.checklist][:1] in (
        ["No commas"],
        ["The response contains no commas"],
    ) or row.sample.checklist[0].check
    assert row.sample.response == SAID
    assert ASKED in row.sample.conversation[-1].content
    assert row.verdicts[0].status == "unmet"


def test_a_batch_joins_its_requests_and_own_rows(tmp_path: Path) -> None:
    answers = lines(
        tmp_path / "output.jsonl",
        {
            "id": "b",
            "custom_id": "q1",
            "response": {"status_code": 200, "body": BODY},
            "error": None,
        },
        {"custom_id": "q2", "response": None, "error": {"code": "batch_expired"}},
    )
    requests = lines(
        tmp_path / "requests.jsonl",
        {"custom_id": "q1", "method": "POST", "body": {"model": "m", "messages": TURNS}},
    )
    rows = lines(tmp_path / "rows.jsonl", {**OWN, "id": "q1", "response": None})
    for data in (requests, rows):
        first, failed = open_source(data, responses=answers)
        assert first.sample is not None
        assert (first.sample.id, first.sample.response) == ("q1", SAID)
        assert first.sample.conversation[0].content == ASKED
        assert "the request q2 failed" in str(failed.problem)
        assert "batch_expired" in str(failed.problem)
    alone, failed = open_source(answers)
    assert alone.sample is not None
    assert alone.sample.response == SAID
    assert "batch_expired" in str(failed.problem)


def test_a_batch_of_anthropic(tmp_path: Path) -> None:
    message = {"role": "assistant", "model": "m", "content": [{"type": "text", "text": SAID}]}
    record = {"custom_id": "q1", "result": {"type": "succeeded", "message": message}}
    failed = {"custom_id": "q2", "result": {"type": "errored", "error": {"type": "invalid"}}}
    first, second = open_source(lines(tmp_path / "a.jsonl", record, failed))
    assert first.sample is not None
    assert (first.sample.response, first.sample.tags) == (SAID, {"model": "m"})
    assert "invalid" in str(second.problem)


def test_tools_rows_in_memory() -> None:
    record = {"prompt": TURNS, "completion": [ANSWER], "checklist": TEXTS}
    assert [v.status for v in evaluate([record])[0].verdicts] == ["unmet", "met"]


def test_a_mapping_still_names_a_tools_own_fields(tmp_path: Path) -> None:
    mapping = "doc.question=prompt,filtered_resps=response,doc.checklist=checklist"
    (row,) = evaluate(sent(tmp_path / "a.jsonl"), map=mapping)
    assert row.sample is not None
    assert (row.sample.conversation[0].content, row.sample.response) == ("greet", SAID)
    (row,) = evaluate(tmp_path / "a.jsonl", map=mapping.replace("resps", "resps.0"))
    assert row.sample is not None
    assert row.sample.response == SAID


def test_a_folder_of_splits_names_them(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_list([OWN])
    datasets.DatasetDict({"train": data, "test": data}).save_to_disk(tmp_path / "d")
    with pytest.raises(HeedfulError, match="splits: test, train"):
        evaluate(tmp_path / "d")


ROWS = [
    {"question": "Greet.", "answer": "Hello", "rubric": ["No commas."], "made": dt.date.max},
    {"question": "Greet.", "answer": "Hi, you", "rubric": ["No commas."], "made": None},
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    calls: list[Any] = []

    def load_dataset(name: str, config: str | None, **options: Any) -> Any:
        calls.append((name, config, options))
        if name == "nobody/offline":
            raise ConnectionError("no connection")
        return iter([{"x": b"bytes"}] if name == "nobody/bytes" else ROWS)

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    hub.fetched.cache_clear()
    yield calls
    hub.fetched.cache_clear()


MAP = "question=prompt,answer=response,rubric=checklist"


@pytest.mark.parametrize("source", ["hf:own/set:en@train", "hf://datasets/own/set:en@train"])
def test_a_dataset_is_judged_like_a_file(source: str, asked: list[Any], tmp_path: Path) -> None:
    assert run("evaluate", source, "--map", MAP, "--run", tmp_path / "run") == 0
    assert len(asked) == 1
    assert asked[0] == ("own/set", "en", {"split": "train", "streaming": True})
    in_python = evaluate(source, format=f"map:{MAP}").summary
    assert in_python["verdicts"]["met"] == in_python["verdicts"]["unmet"] == 1


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("hf:nobody/offline", r"hf:nobody/offline@test: .* no connection .*connection"),
        ("hf:nobody/bytes", "of type bytes"),
    ],
)
def test_what_cannot_be_read_says_why(source: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        evaluate(source, format=f"map:{MAP}")


def test_without_the_extra_the_hint_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    hub.fetched.cache_clear()
    with pytest.raises(UsageError, match=r"pip install 'heedful\[hub\]'"):
        evaluate("hf:own/set")
