"""``heedful respond`` and ``heedful checklist``: bought once, resumable, clear about failures."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from commands import run
from fault_server import Answer, completion, refusal, serving
from jsonl import read_rows

# Whole commands, with servers, files and processes.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("empty_folder")]


def write(*samples: dict[str, Any]) -> None:
    with Path("in.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(sample) + "\n" for sample in samples)


def prompt(number: int) -> dict[str, Any]:
    return {"id": str(number), "prompt": f"Write number {number} in words. Use no commas."}


def asking(url: str, *words: str, output: str = "out.jsonl") -> list[str]:
    return ["in.jsonl", "--model", "toy", "--base-url", url, "-o", output, *words]


def number_of(body: dict[str, Any]) -> str:
    (number,) = re.findall(r"Write number (\d+) in words", body["messages"][0]["content"])
    return str(number)


def a_checklist(number: str, *texts: str) -> Answer:
    texts = (f"Write number {number} in words", "Use no commas", *texts)
    blocks = (
        f"<c{k}>\nTYPE: inverse\nPRIORITY: primary\nTEXT: {text}\n</c{k}>"
        for k, text in enumerate(texts, start=1)
    )
    return completion("\n\n".join(blocks))


@pytest.mark.parametrize("command", ["respond", "checklist"])
def test_rows_are_made_once_and_the_same_command_goes_on(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(prompt(1), {"id": "2", "prompt": "p", "response": "Old.", "checklist": ["Old."]})
    with serving(script=lambda _, body: a_checklist(number_of(body))) as server:
        assert run(command, *asking(server.url)) == 0
        first = Path("out.jsonl").read_bytes()
        assert "2 rows: 1 completed, 1 unchanged" in capsys.readouterr().out
        assert run(command, *asking(server.url)) == 0
        assert "2 rows were" in capsys.readouterr().out
        assert len(server.bodies) == 1
        assert Path("out.jsonl").read_bytes() == first
        assert run(command, *asking(server.url, "--temperature", "0.5")) == 0
        assert len(server.bodies) == 2
    made, kept = read_rows("out.jsonl")
    if command == "respond":
        assert made["response"].startswith("<c1>")
        assert kept["response"] == "Old."
    else:
        assert [item["text"] for item in made["checklist"]][1] == "Use no commas"
        assert [item["text"] for item in kept["checklist"]] == ["Old."]


def test_a_failed_row_is_named_costs_no_other_and_is_retried(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(prompt(1), prompt(2), {"id": "3"})

    def answer(_: int, body: dict[str, Any]) -> Answer:
        return refusal(400, "no twos") if number_of(body) == "2" else completion("One.")

    with serving(script=answer) as server:
        assert run("respond", *asking(server.url)) == 1
        said = capsys.readouterr()
        assert "line 2: 2: model toy" in said.err
        assert "no twos" in said.err
        assert "line 3: 3: conversation" in said.err
        assert "--retry-failed" in said.err
        assert "3 rows: 1 completed, 1 failed" in said.out
    result = read_rows("out.jsonl")
    assert [row.get("response") for row in result] == ["One.", None, None]
    assert "no twos" in result[1]["problem"]
    with serving(completion("Two.")) as server:
        words = asking(server.url)
        # Another address is another run; a named one says what changed.
        assert run("respond", *words, "--run", "r") == 1
        assert len(server.bodies) == 2
        assert run("respond", *words, "--run", "r", "--retry-failed") == 1
        assert len(server.bodies) == 2
        assert run("respond", *words, "--run", "r", "--samples", "2") == 2
    assert "samples was 1, now 2" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["respond", "checklist"])
def test_wrong_use_is_refused_before_any_call(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(prompt(1))
    with serving(completion("One.")) as server:
        wrong = [
            (["in.jsonl", "-o", "out.jsonl"], "no model"),
            (["in.jsonl", "--model", "toy"], "--output"),
            (asking(server.url, output="no/such/out.jsonl"), "no such folder"),
            (["gone.jsonl", *asking(server.url)[1:]], "no such file"),
            (asking(server.url, "--format", "telepathy"), "telepathy"),
            (asking(server.url, "--body", "[1]"), "--body"),
        ]
        for words, message in wrong:
            assert run(command, *words) == 2
            said = capsys.readouterr()
            assert message in said.out + said.err
        assert not server.bodies
    assert not Path("out.jsonl").exists()


def test_a_wrong_key_stops_the_run_and_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    write(*map(prompt, range(9)))
    with serving(refusal(401, "bad key sk-secret-123")) as server:
        words = asking(server.url, "-k", "sk-secret-123", "--max-concurrency", "1")
        assert run("respond", *words) == 2
        assert len(server.bodies) == 1
    said = capsys.readouterr().err
    assert "check the key" in said
    assert "sk-secret" not in said
    assert not Path("out.jsonl").exists()


def test_compiling_shows_what_each_constraint_becomes_and_writes_it_down(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(
        {
            "id": "a",
            "prompt": "Q",
            "checklist": ["At most 90 words.", "Be kind."],
            "response": "Hm.",
        },
        {"id": "b"},
    )
    assert run("checklist", "in.jsonl", "--compile", "-o", "out.jsonl") == 1  # b cannot be read
    printed = capsys.readouterr()
    assert "(heedful:count)" in printed.out
    assert "'Be kind'" in printed.out
    assert "line 2" in printed.err
    (row,) = read_rows("out.jsonl")
    check = {"id": "heedful:count", "args": {"unit": "words", "at_most": 90}}
    assert row["checklist"] == [{"text": "At most 90 words.", "check": check}, {"text": "Be kind."}]
    assert run("evaluate", "out.jsonl", "--judge", "rules", "--quiet") == 0


def test_a_model_is_told_what_code_counts_if_asked_to() -> None:
    write(
        {
            "id": "a",
            "prompt": "Q",
            "checklist": ["At most 90 words, if possible."],
            "response": "One two.",
        }
    )
    words = ("evaluate", "in.jsonl", "--judge", "checklist", "--model", "toy", "--quiet")
    for flags in ((), ("--measure",)):
        with serving(completion("<c1>\nFew.\nVERDICT: MET\n</c1>")) as server:
            assert run(*words, "--base-url", server.url, *flags) == 0
        prompt = server.bodies[0]["messages"][0]["content"]
        assert ("2 words" in prompt) == bool(flags)
