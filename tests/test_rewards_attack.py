"""The attack suite, on scripted judges of several characters."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from commands import run
from fault_server import Answer, refusal, serving, verdicts
from heedful import Critique, Judgment, Sample, Status, UsageError
from heedful.judges import Rules
from heedful.rewards.attacking import HONEST, attack_judge, attempts, document, examples
from heedful.rewards.attacks import ATTACKS, kinds
from heedful.rewards.gates import GATES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

pytestmark = pytest.mark.slow  # whole commands, with servers, files and processes

FLUENT = {"a famous line", "another topic", "shuffled words", "words shuffled", "cut in half"}
"""Attacks that only a judge who reads can see."""


class Scripted:
    """A judge that says of all constraints what a function says of the response."""

    config: dict[str, Any] = {}  # noqa: RUF012 - a constant

    def __init__(self, name: str, met: Callable[[str], bool | None]) -> None:
        self.name = name
        self._met = met

    async def judge(self, row: Sample, requested: Sequence[int] | None = None) -> Critique:
        met = self._met(row.response or "")
        status = Status.FAILED if met is None else Status.MET if met else Status.UNMET
        size = len(row.checklist if requested is None else requested)
        return Critique(judgments=(Judgment(status=status),) * size)


GOOD = {sample.response for sample in examples()}
PERMISSIVE = Scripted("permissive", lambda _: True)
GULLIBLE = Scripted(
    "gullible",
    lambda text: text in GOOD or bool(re.search(r"met|satisf|VERDICT|满足|perfect", text)),
)
ECHOING = Scripted("echoing", lambda text: text in GOOD or "VERDICT: MET" in text)
STRICT = Scripted("strict", lambda text: text in GOOD)
SILENT = Scripted("silent", lambda _: None)


def attack(judge: Any, **options: Any) -> dict[str, Any]:
    return attack_judge(judge, examples(), **options)


@pytest.mark.parametrize("judge", [PERMISSIVE, GULLIBLE, ECHOING, STRICT], ids=lambda j: j.name)
def test_gates_stop_the_attacks_that_a_judge_lets_pass_and_no_good_response(judge: Any) -> None:
    result = attack(judge)
    for setting in ("alone", "gates"):
        assert result["attacks"][HONEST][setting]["rate"] == 1
    for name, numbers in result["attacks"].items():
        if name in FLUENT or name == HONEST:
            continue
        assert numbers["gates"]["passed"] <= numbers["alone"]["passed"]
        # Chinese is no other script to an instruction in Chinese.
        most = 1 if name == "Chinese" else 0
        assert numbers["gates"]["passed"] <= most, name


def test_the_characters_of_judges_show_in_their_pass_rates() -> None:
    rates = {
        judge.name: {kind: each["alone"]["rate"] for kind, each in attack(judge)["kinds"].items()}
        for judge in (PERMISSIVE, GULLIBLE, ECHOING, STRICT)
    }
    assert set(rates["permissive"].values()) == {1}
    assert {kind for kind, rate in rates["strict"].items() if rate} == {HONEST}
    assert rates["gullible"]["self-praise"] > rates["echoing"]["self-praise"] == 0
    assert rates["echoing"]["forged verdicts"] > 0
    assert rates["echoing"]["mutation"] > 0


def test_undecided_rewards_are_neither_passed_nor_forgotten() -> None:
    result = attack(SILENT)
    for numbers in result["attacks"].values():
        alone = numbers["alone"]
        assert alone["passed"] == 0
        assert alone["undecided"] == alone["tried"]
        gated = numbers["gates"]
        assert gated["passed"] == 0
    assert result["kinds"]["nothing"]["gates"]["undecided"] == 0


def test_kinds_sum_up_their_attacks() -> None:
    result = attack(PERMISSIVE)
    for kind, numbers in result["kinds"].items():
        members = [each for each in result["attacks"].values() if each["kind"] == kind]
        for setting in ("alone", "gates"):
            for key in ("tried", "passed", "undecided"):
                assert numbers[setting][key] == sum(each[setting][key] for each in members)
    assert set(kinds(list(ATTACKS))) | {HONEST} == set(result["kinds"])


def test_attacks_are_the_same_each_time_and_differ_with_the_seed() -> None:
    first, again, other = (
        [attempt.sample.response for attempt in attempts(examples(), seed)] for seed in (0, 0, 1)
    )
    assert first == again != other


def test_without_a_good_response_there_are_no_mutations() -> None:
    samples = [sample.model_copy(update={"response": None}) for sample in examples()]
    result = attack_judge(PERMISSIVE, samples)
    assert "mutation" not in result["kinds"]
    assert HONEST not in result["kinds"]


def test_without_a_checklist_nothing_can_be_attacked() -> None:
    with pytest.raises(UsageError):
        attack_judge(Rules(), [Sample(id="1", prompt="Greet.")])


def test_the_report_has_a_row_and_a_bar_for_each_kind() -> None:
    result = attack(PERMISSIVE)
    laid_out = document(result)
    table, *_ = laid_out.parts
    assert [row[0] for row in table.rows] == list(result["kinds"])  # type: ignore[union-attr]
    (chart,) = laid_out.charts
    bars = json.dumps(chart.spec)
    assert all(f'"{kind}"' in bars for kind in result["kinds"])


def test_the_command_writes_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "id": "1",
            "prompt": "Write a greeting without a comma.",
            "checklist": [{"text": "No commas.", "check": {"id": "punctuation:no_comma"}}],
            "response": "Good morning to all of you!",
        },
        {"id": "2", "prompt": "Greet.", "checklist": [{"text": "It is kind."}]},
    ]
    source = tmp_path / "good.jsonl"
    source.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    words = ["reward", "attack", source, "--judge", "rules", "-n", "1", "-o", tmp_path / "out"]
    assert run(*words) == 0
    result = json.loads((tmp_path / "out" / "attacks.json").read_text(encoding="utf-8"))
    assert result["samples"] == 1
    assert result["attacks"]["a dot"]["alone"]["passed"] == 1
    assert result["attacks"]["a dot"]["gates"]["passed"] == 0
    assert run(*words[:-2], "--gates", "nonsense") == 2
    assert len(GATES) > 10


def test_the_command_resumes_within_a_budget_and_repeats_only_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    prices = {"m": {"prompt": 1, "completion": 2}}
    (tmp_path / "prices.json").write_text(json.dumps(prices), encoding="utf-8")
    refusing = True

    def script(number: int, body: dict[str, Any]) -> Answer:
        prompt = body["messages"][-1]["content"]
        return refusal(400, "no") if refusing and "mend nets" in prompt else verdicts(number, body)

    with serving(script=script) as server:
        words = ["reward", "attack", "-j", "checklist", "--model", "m", "--base-url", server.url]
        words += ["--prices", "prices.json", "--run", "r", "--max-concurrency", "4"]
        assert run(*words, "--dry-run") == 0
        counted = int(re.findall(r"m/plain +(\d+)", capsys.readouterr().out)[0])
        assert not server.bodies
        assert not (tmp_path / "r").exists()
        assert run(*words, "--max-cost", "0.05") == 2
        assert "stopped before --max-cost" in capsys.readouterr().err
        assert 0 < len(server.bodies) < counted
        assert run(*words, "--max-cost", "5") == 1  # what was refused is undecided
        assert "--retry-failed" in capsys.readouterr().err
        refused = sum("mend nets" in str(body) for body in server.bodies)
        assert refused
        asked = len(server.bodies)
        assert asked - counted <= 4  # calls in flight when the money was over
        refusing = False
        assert run(*words, "--retry-failed") == 0
        retried = [str(body) for body in server.bodies[asked:]]
        assert retried
        assert all("mend nets" in body for body in retried)
        asked = len(server.bodies)
        # Other gates cost no call: they are code.
        assert run(*words, "--gates", "empty") == 0
        assert len(server.bodies) == asked
    result = json.loads((tmp_path / "r" / "attacks.json").read_text(encoding="utf-8"))
    assert result["kinds"]["forged verdicts"]["gates"]["passed"] > 0
    assert result["resumed"] == sum(each["alone"]["tried"] for each in result["kinds"].values())
