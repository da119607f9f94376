"""Protocols swept on labelled rows: accuracy against cost, and the command."""

import json
import random
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from commands import run as command
from fault_server import Answer, completion, serving
from heedful import Constraint, Message, Sample, UsageError, dry_run, evaluate
from heedful.analysis.align.sweep import protocols, sweep
from heedful.core.errors import StopRunError
from heedful.core.nouns import Check, Status
from heedful.metrics.clusters import CHOOSING, cluster_of, place_of
from heedful.models import Price, ScriptedModel
from told import Told

pytestmark = pytest.mark.usefixtures("empty_folder")

ROWS = 80


def met(text: str) -> bool:
    """The truth of a constraint, which its text names."""
    return text.endswith("yes")


def rows(count: int = ROWS) -> list[Sample]:
    checklists = [
        tuple(
            Constraint(text=f"Constraint {k}.{n} {'yes' if (k + n) % 2 else 'no'}") for n in (1, 2)
        )
        for k in range(count)
    ]
    return [
        Sample(
            id=str(k),
            conversation=(Message(role="user", content=f"Question {k}."),),
            checklist=checklist,
            response="An answer.",
            labels=tuple(met(each.text) for each in checklist),
        )
        for k, checklist in enumerate(checklists)
    ]


def reply(content: str, error: Callable[[str, int, int], bool], sample: int = 0) -> str:
    """Judge what a plain prompt lists, erring on what is chosen by text, number and sample."""
    shown = re.findall(r"^(\d+)\. (.*)$", content.rsplit("CHECKLIST", 2)[1], re.MULTILINE)
    return "\n\n".join(
        f"<c{n}>\nSo.\nVERDICT: "
        f"{'MET' if met(text) != error(text, len(shown), sample) else 'UNMET'}\n</c{n}>"
        for n, text in shown
    )


def model(name: str, error: Callable[[str, int, int], bool]) -> ScriptedModel:
    scripted = ScriptedModel(lambda messages, n: reply(messages[-1].content, error, n))
    scripted.name = name
    return scripted


def worse_together(text: str, shown: int, sample: int) -> bool:
    """Err on a fifth where constraints are judged together."""
    return shown > 1 and random.Random(f"{text} {sample}").random() < 0.2


def never(*_: object) -> bool:
    return False


def by_name(summary: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each for each in summary["protocols"]}


def test_what_is_dearer_and_worse_is_not_on_the_frontier() -> None:
    arms = protocols({"per_call": [1, None], "votes": [1, 3]}, model=model("m", worse_together))
    summary = sweep(rows(), arms, margin=0.02)
    found = by_name(summary)
    alone, together = found["per_call=1 votes=1"], found["per_call=all votes=1"]
    assert (alone["accuracy_on_choose"], summary["rate"]) == (1.0, "balanced_accuracy")
    three = found["per_call=all votes=3"]["accuracy_on_choose"]
    assert 0.7 < together["accuracy_on_choose"] < three
    assert together["cost"] < alone["cost"] < found["per_call=1 votes=3"]["cost"]
    assert summary["unit"] == "tokens"
    assert summary["best"] == summary["chosen"] == "per_call=1 votes=1"
    assert (alone["frontier"], together["frontier"]) == (True, True)
    assert not found["per_call=1 votes=3"]["frontier"]  # three times the price for nothing
    assert together["difference"]["interval"][1] < 0
    assert summary["proof"]["after"]["accuracy_compared"]["value"] == 1.0


def test_the_chosen_protocol_is_measured_on_rows_that_no_protocol_was_chosen_on() -> None:

    def lucky(name: str) -> ScriptedModel:
        return model(name, lambda text, *_: random.Random(f"{name} {text}").random() < 0.3)

    scripted = [lucky(f"m{place}") for place in range(6)]
    summary = sweep(rows(), protocols({"model": scripted}))
    parts = summary["parts"]
    name = summary["best"].removeprefix("model=")
    assert summary["chosen"] == summary["best"]
    prove = [row for row in rows() if place_of(cluster_of(row)) >= CHOOSING]
    assert (parts["choose"]["rows"], parts["prove"]["rows"]) == (ROWS - len(prove), len(prove))
    texts = [each.text for row in prove for each in row.checklist]
    right = [random.Random(f"{name} {text}").random() >= 0.3 for text in texts]
    measured = summary["proof"]["after"]["accuracy"]["value"]
    assert measured == pytest.approx(sum(right) / len(right))
    calls = [len(each.calls) for each in scripted]
    assert sorted(calls)[:5] == [parts["choose"]["rows"]] * 5  # only one of them saw the others
    assert max(calls) == ROWS


def test_what_is_undecided_is_not_right() -> None:
    def silent(messages: Sequence[Message], _: int) -> str:
        return reply(messages[-1].content, never) if "Question 1" in messages[-1].content else ""

    arms = protocols({"reasks": [0]}, model=ScriptedModel(silent))
    summary = sweep(rows(20), arms)  # 11 of 20 rows are answered
    (found,), proof = summary["protocols"], summary["proof"]["after"]
    decided = found["coverage"] * summary["parts"]["choose"]["rows"]
    decided += proof["coverage"] * summary["parts"]["prove"]["rows"]
    assert decided == pytest.approx(11)
    assert found["accuracy_on_choose"] == pytest.approx(found["coverage"])
    assert proof["accuracy_compared"]["value"] == pytest.approx(proof["coverage"])


def test_a_dry_run_counts_all_arms_and_a_budget_holds_over_them(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", rows(12))
    scripted = model("m", never)
    arms = protocols({"per_call": [1, None]}, model=scripted)
    prices = {"m": Price(prompt=1, completion=1)}
    estimate = dry_run(sweep, path, arms, prices=prices)
    assert not scripted.calls
    assert [each["judge"] for each in estimate["judges"]] == ["per_call=1", "per_call=all"]
    with pytest.raises(StopRunError):
        sweep(path, arms, folder=tmp_path / "r", prices=prices, max_cost=1e-3, concurrency=1)
    made = len(scripted.calls)
    assert 0 < made < estimate["calls"]
    first = sweep(path, arms, folder=tmp_path / "r", prices=prices)
    parts = first["parts"]
    assert estimate["calls"] == 3 * parts["choose"]["rows"]
    calls = estimate["calls"] + parts["prove"]["rows"]  # the chosen one judges the rest
    assert len(scripted.calls) == calls  # what was answered isn't bought again
    assert (first["unit"], first["chosen"]) == ("dollars", "per_call=all")
    assert sweep(path, arms, folder=tmp_path / "r", prices=prices) == first
    assert len(scripted.calls) == calls


def test_code_gives_the_labels() -> None:
    words = Check(
        id="length_constraints:number_words", args={"num_words": 3, "relation": "at least"}
    )
    samples = [
        each.model_copy(
            update={
                "labels": None,
                "checklist": (Constraint(text=f"C{each.id} yes", check=words), *each.checklist[1:]),
                "response": "Three short words." if int(each.id) % 2 else "One.",
            }
        )
        for each in rows(20)
    ]
    arms = protocols({"per_call": [None]}, model=model("m", never))
    summary = sweep(samples, arms, truth="rules")
    assert summary["labels"] == {
        "rows": 20, "instructions": 20, "met": 10, "unmet": 10, "from": {"code": 20},
    }  # fmt: skip
    assert summary["protocols"][0]["accuracy_on_choose"] == 0.5  # it takes all of them for met
    assert summary["proof"]["after"]["accuracy_compared"]["value"] == 0.5
    with pytest.raises(UsageError, match="is code"):
        sweep(
            samples, protocols({}, judge="rules,checklist", model=model("m", never)), truth="rules"
        )
    with pytest.raises(UsageError, match="isn't a judge that is code"):
        sweep(samples, arms, truth="recorded")


def test_saved_runs_are_protocols_without_a_call(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", rows(12))
    sure = Told(lambda row, at: Status.MET if met(row.checklist[at].text) else Status.UNMET)
    for name in ("a", "b"):
        evaluate(path, judge=sure, run=tmp_path / name)
    assert (
        command("judge-accuracy", path, "--runs", "a", "b", "--sweep", "runs", "-o", "s.json") == 0
    )
    summary = json.loads((tmp_path / "s.json").read_text())
    assert [each["accuracy_on_choose"] for each in summary["protocols"]] == [1.0, 1.0]
    assert [each["frontier"] for each in summary["protocols"]] == [True, False]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["votes"], "has no values"),
        (["wibble=1"], "no setting"),
        ([f"votes={','.join(map(str, range(1, 70)))}"], "more than 64"),
        (["runs"], "nothing to sweep"),
        (["votes=1", "--margin", "-3"], "margin"),
        (["votes=1", "--scoring", "faithful"], "strict"),
    ],
)
def test_what_cannot_be_swept_is_said_before_a_call(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "a.jsonl", rows(2))
    url = "http://127.0.0.1:9/v1"
    assert (
        command("judge-accuracy", path, "--model", "m", "--base-url", url, "--sweep", *words) == 2
    )
    assert said in capsys.readouterr().err


def test_the_command_that_is_printed_runs_the_chosen_protocol(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def script(_: int, body: dict[str, Any]) -> Answer:
        return completion(reply(body["messages"][-1]["content"], never))

    path = written(tmp_path / "a.jsonl", rows(12))
    with serving(script=script) as server:
        flags = ["--base-url", server.url, "--format", "native", "--model", "m"]
        sweeping = ["--sweep", "per_call=1,all", "-o", "s.html"]
        assert command("judge-accuracy", path, *flags, *sweeping) == 0
        assert "Accuracy against cost" in (tmp_path / "s.html").read_text()
        printed = capsys.readouterr().out
        (line,) = (each.strip() for each in printed.splitlines() if "heedful evaluate" in each)
        before = len(server.bodies)
        program, *words = shlex.split(line)
        words[words.index("FILE")] = str(path)
        assert (program, command(*words, "--base-url", server.url)) == ("heedful", 0)
        assert len(server.bodies) == before + 12  # all constraints of a row in one call


def written(path: Path, samples: Sequence[Sample]) -> Path:
    lines = (each.model_dump_json(exclude_defaults=True) for each in samples)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path
