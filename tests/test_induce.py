"""Criteria induced from good and bad responses: a planted one separates, others don't."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from commands import run as command
from fault_server import Answer, completion, serving
from heedful import InputError, Message, Sample, UsageError
from heedful.analysis.align import induce
from heedful.models import ScriptedModel

pytestmark = pytest.mark.usefixtures("empty_folder")

PLANTED, CHANCE, ALWAYS, UNDECIDABLE = (
    "Cites a source.",
    "Uses the word blue.",
    "Is in English.",
    "Was written at night.",
)
REPLY = {"criteria": [PLANTED, CHANCE, ALWAYS, UNDECIDABLE, "cites  a source", 7, "", ["x"]]}


def rated(count: int, by: str) -> list[dict[str, Any]]:
    """Pairs to each instruction; the good response cites a source, in 9 of 10."""
    chance = random.Random(2)
    rows = []
    for number in range(count):
        for good in (True, False):
            cites = good == (chance.random() < 0.9)
            says = f"{'Source: x.' if cites else 'So it is.'}{' blue' * (chance.random() < 0.5)}"
            row: dict[str, Any] = {
                "id": f"{number}/{good}",
                "prompt": f"Question {number}.",
                "response": f"{says} Number {number} {good}.",
            }
            if by == "labels":
                row |= {"checklist": [{"text": "Is good."}], "labels": [good]}
            elif by == "preferred_to":
                row[by] = [f"{number}/False"] if good else []
            else:
                row[by] = number + (0.5 if good else 0.25)
            rows.append(row)
    return rows


def reply(messages: Any, _: int) -> str:
    content = messages[-1].content
    if content.startswith("Responses to instructions"):
        assert content.index("GOOD RESPONSE") < content.index("BAD RESPONSE")
        return json.dumps(REPLY)
    checklist = content.rsplit("CHECKLIST", 2)[1]
    response = content.rsplit("RESPONSE", 2)[1]
    met = {PLANTED: "Source" in response, CHANCE: "blue" in response, ALWAYS: True}
    texts = re.findall(r"^\d+\. (.*)$", checklist, re.MULTILINE)
    return "\n\n".join(
        f"<c{n}>\nSo.\nVERDICT: {'MET' if met[text] else 'UNMET'}\n</c{n}>"
        for n, text in enumerate(texts, 1)
        if text in met
    )


@pytest.mark.slow
@pytest.mark.parametrize("by", ["labels", "preferred_to", "score", "reward"])
def test_only_the_planted_criterion_separates(by: str, tmp_path: Path) -> None:
    data = tmp_path / "rated.jsonl"
    rows = rated(60, by)
    data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    model = ScriptedModel(reply)
    summary = induce(data, model=model, output=tmp_path / "out")
    found = {each["text"]: each for each in summary["criteria"]}
    assert set(found) == {PLANTED, CHANCE, ALWAYS, UNDECIDABLE}  # spelled alike is one
    assert [text for text, each in found.items() if each["separates"]] == [PLANTED]
    assert next(iter(found)) == PLANTED
    shown = "".join(
        c.messages[-1].content for c in model.calls if "Responses to" in c.messages[-1].content
    )
    held = [row for row in rows if f" {row['response'].split('Number ')[1]}" not in shown]
    assert summary["instructions"]["choose"] + summary["instructions"]["prove"] == 60
    proving = {
        row["id"]
        for row in rows
        for call in model.calls
        if "CHECKLIST" in call.messages[-1].content
        and f"Number {row['id'].replace('/', ' ')}." in call.messages[-1].content
    }
    assert proving
    assert not any(f"Number {name.replace('/', ' ')}." in shown for name in proving)
    # The share by hand, on the responses that were judged.
    for side, name in (("first", "True"), ("second", "False")):
        own = [row for row in held if row["id"] in proving and row["id"].endswith(name)]
        share = sum("Source" in row["response"] for row in own) / len(own)
        assert found[PLANTED][side]["value"] == pytest.approx(share)
    low, high = found[PLANTED]["difference"]["interval"]
    assert 0 < low < found[PLANTED]["difference"]["value"] < high <= 1
    assert found[ALWAYS]["difference"]["value"] == 0
    assert found[UNDECIDABLE]["undecided"] == len(proving)
    assert found[UNDECIDABLE]["difference"]["value"] is None  # nobody can answer it
    written = (tmp_path / "out" / "checklists.jsonl").read_text().splitlines()
    assert len(written) == 120
    assert all(json.loads(line)["checklist"] == [{"text": PLANTED}] for line in written)
    assert PLANTED in (tmp_path / "out" / "induced.html").read_text()


def test_a_response_between_two_others_is_neither_good_nor_bad() -> None:
    rows = [
        Sample(
            id=f"{n}{name}",
            conversation=(Message(role="user", content=f"Q{n}"),),
            response=f"Source {n}{name}",
            preferred_to=worse,
        )
        for n in range(12)
        for name, worse in (("a", [f"{n}b"]), ("b", [f"{n}c"]), ("c", []))
    ]
    broken = rows[0].model_copy(update={"id": "broken", "preferred_to": 7})
    model = ScriptedModel(reply)
    summary = induce([*rows, broken], model=model)
    (problem,) = summary["problems"]
    assert problem["id"] == "broken"
    shown = [call.messages[-1].content for call in model.calls]
    assert any(re.search(r"Source \d+a", each) for each in shown)
    assert not any(re.search(r"Source \d+b", each) for each in shown)


@pytest.mark.slow
def test_labels_of_one_response_to_an_instruction_are_enough() -> None:
    """Pairs are then of different instructions; both sides are still measured."""
    rows = [
        row
        for row in rated(80, "labels")
        if row["labels"][0] == (int(row["id"].split("/")[0]) % 2 == 0)
    ]
    data = Path("single.jsonl")
    data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    summary = induce(data, model=ScriptedModel(reply))
    (best,) = (each for each in summary["criteria"] if each["separates"])
    assert best["text"] == PLANTED


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(InputError, match="too few instructions"):
        induce([Sample(id="1", conversation=(), response="x")], model=ScriptedModel(reply))
    with pytest.raises(UsageError, match="no model"):
        induce([])


@pytest.mark.slow
def test_the_command_resumes_and_counts_before_it_buys(capsys: pytest.CaptureFixture[str]) -> None:
    def script(_: int, body: dict[str, Any]) -> Answer:
        return completion(reply([Message.model_validate(m) for m in body["messages"]], 0))

    Path("rated.jsonl").write_text("\n".join(map(json.dumps, rated(40, "score"))))
    with serving(script=script) as server:
        flags = ["--model", "m", "--base-url", server.url]
        assert command("induce", "rated.jsonl", *flags, "--dry-run") == 0
        assert not server.bodies
        assert "calls that propose" in capsys.readouterr().out
        assert command("induce", "rated.jsonl", *flags) == 0
        assert "1 of 4 criteria separate" in capsys.readouterr().out
        bought = len(server.bodies)
        assert command("induce", "rated.jsonl", *flags) == 0
        assert len(server.bodies) == bought > 0
    assert len(Path("heedful-induced/checklists.jsonl").read_text().splitlines()) == 80
