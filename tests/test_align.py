"""A judge aligned with people's labels: planted faults, the proof, the protocol file."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from commands import run as command
from fault_server import Answer, completion, serving
from heedful import Constraint, InputError, Message, Sample, evaluate
from heedful.analysis.align import align
from heedful.metrics.clusters import CHOOSING, cluster_of, place_of
from heedful.models import Price, ScriptedModel

pytestmark = pytest.mark.usefixtures("empty_folder")

SOURCE, BRIEF, POLITE = "Names a source.", "Is brief.", "Is polite."
CLEARER = "Gives a URL of a source."


def rows(count: int) -> list[Sample]:
    """Rows whose response says what is true of it, with what a judge may take for it."""
    chance = random.Random(1)
    samples = []
    for number in range(count):
        truths = {text: chance.random() < 0.6 for text in (SOURCE, BRIEF, POLITE)}
        said = " ".join(f"{text[:-1]}={int(true)}" for text, true in truths.items())
        samples.append(
            Sample(
                id=f"r{number}",
                conversation=(Message(role="user", content=f"Question {number}."),),
                checklist=tuple(Constraint(text=text) for text in truths),
                response=f"{said} Number {number}.",
                labels=tuple(truths.values()),
            )
        )
    return samples


class Faulty:
    """A judge that misreads one criterion, needs examples for another, and slips at random."""

    def __init__(self, *, misreads: bool = True, slips: float = 0.0) -> None:
        self.misreads = misreads
        self.slips = slips
        self.model = ScriptedModel(self.reply, name="faulty")

    def reply(self, messages: Any, sample: int) -> str:
        content = messages[-1].content
        if content.startswith("A judge decides"):
            cause = "criterion" if SOURCE in content else "judge"
            wording = CLEARER if SOURCE in content else ""
            return json.dumps({"causes": [cause] * 5, "wording": wording, "definition": ""})
        checklist = content.rsplit("CHECKLIST", 2)[1]
        response = content.rsplit("RESPONSE", 2)[1]
        blocks = re.split(r"^(?=\d+\. )", checklist, flags=re.MULTILINE)[1:]
        said = [self.verdict(block, response, sample) for block in blocks]
        return "\n\n".join(
            f"<c{n}>\nSo.\nVERDICT: {'MET' if met else 'UNMET'}\n</c{n}>"
            for n, met in enumerate(said, 1)
        )

    def verdict(self, block: str, response: str, sample: int) -> bool:
        name = next((text for text in (BRIEF, POLITE) if text in block), SOURCE)
        true = f"{name[:-1]}=1" in response
        chance = random.Random(f"{response} {name} {sample}")
        number = int(re.search(r"Number (\d+)", response)[1])  # type: ignore[index]
        if self.misreads and name == SOURCE and CLEARER not in block:
            true = true if number % 2 else not true
        if self.misreads and name == BRIEF and "Example of a response" not in block:
            true = true if number % 3 else not true
        return true != (chance.random() < self.slips)


@pytest.mark.slow
def test_planted_faults_are_found_mended_and_proven(tmp_path: Path) -> None:
    faulty = Faulty(slips=0.1)
    out = tmp_path / "out"
    summary = align(rows(100), model=faulty.model, judge="checklist", output=out)
    found = {group["name"]: group for group in summary["groups"]}
    assert list(found)[:2] == [SOURCE, BRIEF]  # most disagreements first
    assert found[SOURCE]["causes"] == {"criterion": 5}
    assert found[BRIEF]["causes"] == {"judge": 5}
    gains = {each["name"]: each["gain_on_choose"] for each in summary["candidates"]}
    assert gains[f"other words for “{SOURCE}”"] > 0.1
    assert gains[f"two examples for “{BRIEF}”"] > 0.05
    joint = {name: gain for name, gain in gains.items() if " + " in name}
    assert max(joint, key=joint.__getitem__).endswith(" + 5 votes")  # slips are what is left
    assert gains[f"two examples for “{POLITE}”"] < 0.02
    proof = summary["proof"]
    assert proof["shown"] == "gain"
    assert proof["before"]["mean_f1"]["value"] < 0.75
    assert proof["after"]["mean_f1"]["value"] > 0.95
    low, high = proof["difference"]["interval"]
    assert 0.05 < low < high < 0.5
    protocol = json.loads((out / "protocol.json").read_text())
    assert protocol["criteria"][SOURCE] == CLEARER
    assert "Example of a response that meets it" in protocol["criteria"][BRIEF]
    assert protocol["options"]["votes"] == 5
    diff = (out / "checklist.diff").read_text().splitlines()
    assert diff[diff.index(f"-{SOURCE}") + 1] == f"+{CLEARER}"
    page = (out / "align.html").read_text()
    assert "A gain is shown" in page
    assert summary["proofs"] == 1


@pytest.mark.slow
def test_no_row_that_proves_is_shown_to_the_proposer_or_the_judge_before() -> None:
    faulty = Faulty()
    samples = rows(40)
    summary = align(samples, model=faulty.model, judge="checklist")
    prove = summary["parts"]["prove"]["rows"]
    shown = ["\n".join(each.content for each in call.messages) for call in faulty.model.calls]
    places = {
        sample.id: [at for at, text in enumerate(shown) if f"Number {sample.id[1:]}." in text]
        for sample in samples
    }
    proving = {row.id for row in samples if place_of(cluster_of(row)) >= CHOOSING}
    assert len(proving) == prove
    chose = max(max(at) for name, at in places.items() if name not in proving)
    assert all(min(places[name]) > chose for name in proving)


@pytest.mark.slow
def test_people_overrule_the_cause_of_a_disagreement(tmp_path: Path) -> None:
    faulty, causes = Faulty(), tmp_path / "causes.jsonl"
    options: Any = {"model": faulty.model, "judge": "checklist", "output": tmp_path}
    first = align(rows(40), **options)
    assert not any(group["doubted_labels"] for group in first["groups"])
    given = [json.loads(line) for line in causes.read_text().splitlines()]
    given[0]["people"] = "label"
    causes.write_text("\n".join(map(json.dumps, given)), encoding="utf-8")
    for _ in range(2):  # what they said stays in the file
        again = align(rows(40), **options)
        doubted = [each for group in again["groups"] for each in group["doubted_labels"]]
        assert doubted == [{"id": given[0]["id"], "constraint": given[0]["constraint"]}]
        assert sum(group["causes"].get("label", 0) for group in again["groups"]) == 1
    causes.write_text('{"id": "r1", "constraint": 1, "people": "mood"}', encoding="utf-8")
    with pytest.raises(InputError, match="no cause can be read"):
        align(rows(40), **options)


def test_a_judge_that_is_right_keeps_its_protocol(tmp_path: Path) -> None:
    faulty = Faulty(misreads=False)
    summary = align(rows(30), model=faulty.model, judge="checklist", output=tmp_path / "out")
    assert (summary["chosen"], summary["proof"]) == (None, None)
    assert "No gain is shown" in (tmp_path / "out" / "align.md").read_text()
    protocol = json.loads((tmp_path / "out" / "protocol.json").read_text())
    assert protocol["judge"] == "checklist"
    assert protocol["criteria"] == {}


@pytest.mark.slow
def test_what_cannot_be_paid_for_is_not_tried() -> None:
    faulty = Faulty()
    prices = {"faulty": Price(prompt=1, completion=1)}
    options: Any = {"model": faulty.model, "judge": "checklist", "prices": prices}
    whole = align(rows(30), **options)
    some = align(rows(30), **options, max_cost=whole["calls"]["dollars"] / 2)
    assert some["calls"]["dollars"] < whole["calls"]["dollars"] / 2
    assert any(each["tried_on"] == 0 for each in some["candidates"])


@pytest.mark.slow
def test_gepa_rewrites_the_rules(tmp_path: Path) -> None:
    pytest.importorskip("gepa")
    rule = "A source is a URL."

    def scripted(messages: Any, sample: int) -> str:
        content = messages[-1].content
        if "```" in content and "CHECKLIST" not in content:  # GEPA's own question
            return f"```\nDecide. {rule} {{{{response}}}}\n```"
        faulty.misreads = rule not in content
        return faulty.reply(messages, sample)

    faulty = Faulty()
    model = ScriptedModel(scripted)
    out = tmp_path / "out"
    summary = align(rows(40), model=model, judge="checklist", optimize=90, output=out)
    gains = {each["name"]: each["gain_on_choose"] for each in summary["candidates"]}
    assert gains["rules rewritten by GEPA"] > 0.2
    protocol = json.loads((out / "protocol.json").read_text())
    assert rule in protocol["options"]["prompt"]
    assert "{ {response}}" in protocol["options"]["prompt"]  # what a model writes has no places
    after = evaluate(rows(40), model=model, protocol=out / "protocol.json")
    assert after.summary["coverage"] == 1


def test_what_a_proposer_says_is_hostile_until_read() -> None:
    """Odd causes, words that are no text, and texts of many lines change nothing or one line."""
    replies = [
        json.dumps({"causes": [{"a": 1}, ["judge"], 5], "wording": ["x"], "definition": 7}),
        json.dumps({"causes": "judge", "wording": "A\nB {{response}}", "definition": "x" * 9999}),
        "[" * 9999,
    ]

    def scripted(messages: Any, sample: int) -> str:
        asked = messages[-1].content.startswith("A judge decides")
        return replies.pop() if asked else faulty.reply(messages, sample)

    faulty = Faulty(slips=0.3)
    model = ScriptedModel(scripted)
    summary = align(rows(12), model=model, judge="checklist", prompt="plain", seed=1)
    assert not replies
    assert all(group["causes"] == {} for group in summary["groups"])
    names = [each["name"] for each in summary["candidates"]]
    assert sum(name.startswith(("other words", "a definition")) for name in names) == 2


def test_settings_that_a_prompt_cannot_have_are_not_tried() -> None:
    faulty = Faulty(misreads=False)
    summary = align(rows(12), model=faulty.model, judge="checklist", prompt="if_critic")
    assert "verdicts alone" not in [each["name"] for each in summary["candidates"]]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "the file"),
        ('{"options": {"base_url": "http://evil"}}', "base_url"),
        ('{"options": {"votes": "3"}}', "options.votes"),
        ('{"criteria": {"a": 1}}', "criteria.a"),
        ('{"vote": 3}', "vote"),
    ],
)
def test_a_protocol_that_says_something_else_is_refused(
    content: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "p.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        evaluate(rows(1), protocol=path)


@pytest.mark.slow
def test_the_command_aligns_a_labelled_run_and_evaluate_takes_its_protocol(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faulty = Faulty()

    def script(_: int, body: dict[str, Any]) -> Answer:
        turns = [Message.model_validate(each) for each in body["messages"]]
        return completion(faulty.reply(turns, 0))

    samples = rows(60)
    data = tmp_path / "data.jsonl"
    bare = [each.model_copy(update={"labels": None}) for each in samples]
    data.write_text("\n".join(each.model_dump_json() for each in bare), encoding="utf-8")
    labels = "\n".join(each.model_dump_json(exclude_defaults=True) for each in samples)
    with serving(script=script) as server:
        flags = ["--judge", "checklist", "--model", "m", "--base-url", server.url]
        assert command("evaluate", data, *flags, "--run", "mine") == 0
        assert command("align", "mine", *flags) == 2
        assert "heedful view" in capsys.readouterr().err
        evaluate(samples, judge="rules", run="own")
        assert command("align", "own", *flags, "--dry-run") == 0  # by the labels of its rows
        Path("mine.labels.jsonl").write_text(labels, encoding="utf-8")
        assert command("align", "mine", *flags, "--dry-run") == 0
        bought = len(server.bodies)
        assert command("align", "mine", *flags) == 0
        told = capsys.readouterr().out
        assert "A gain is shown" in told
        assert "heedful evaluate FILE --protocol heedful-align/protocol.json" in told
        again = len(server.bodies)
        assert command("align", "mine", *flags, "-o", "again") == 0  # nothing is bought twice
        assert len(server.bodies) == again > bought == 60
        asked = ["--protocol", "heedful-align/protocol.json", "--base-url", server.url]
        assert command("judge-accuracy", "mine.labels.jsonl", *asked, "-o", "a.json") == 0
        (judge,) = json.loads(Path("a.json").read_text())["judges"]
        assert judge["pooled"]["accuracy"]["value"] > 0.95
