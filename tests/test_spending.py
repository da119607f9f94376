"""What a run would cost, what it did cost, and how it stops before it costs more."""

import contextlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import commands
from fault_server import Answer, FaultServer, serving, verdicts
from heedful import Check, Constraint, Message, Sample, dry_run, evaluate
from heedful.core.errors import RunError, StopRunError, UsageError
from heedful.judges import Cascade, Panel, Rules, prompts
from heedful.judges.model import Checklist
from heedful.models import Completion, Price, Sampling, ScriptedModel, Usage, estimate_tokens
from properties import of_a_hundred

PLAIN = prompts.make("plain")
PRICES = {"scripted": Price(prompt=10.0, completion=100.0)}
USAGE = Usage(prompt_tokens=600, completion_tokens=40)
PRICE = 0.01
"""What a call with this usage costs at these prices."""

CHECK = Constraint(text="No commas.", check=Check(id="punctuation:no_comma"))
"""Code decides it."""


def sample(key: str, *texts: str) -> Sample:
    return Sample(
        id=key,
        conversation=(Message(role="user", content=f"Question {key}."),),
        checklist=tuple(Constraint(text=text) for text in texts),
        response="A response.",
    )


def samples(count: int) -> list[Sample]:
    return [sample(str(number), "It is kind.") for number in range(count)]


def blocks(messages: Sequence[Message], verdict: str = "MET") -> str:
    listed = messages[-1].content.rsplit("CHECKLIST", 2)[1]
    numbers = re.findall(r"^(\d+)\. ", listed, re.MULTILINE)
    return "\n".join(f"<c{k}>\nSeen.\nVERDICT: {verdict}\n</c{k}>" for k in numbers)


def counting(
    usage: Usage = USAGE,
    verdict: str = "MET",
    fail: Callable[[int], Exception | None] = lambda _: None,
    latency_s: float = 0.0,
) -> ScriptedModel:
    """A model whose server counts every call alike."""

    def reply(messages: Sequence[Message], _: int) -> Completion:
        text = blocks(messages, verdict)
        return Completion(text=text, usage=usage, model="scripted", finish_reason="stop")

    return ScriptedModel(reply, fail=fail, latency_s=latency_s)


def unasked() -> ScriptedModel:
    return ScriptedModel("", fail=lambda _: AssertionError("an estimate must not call"))


def test_an_estimate_counts_what_a_run_then_asks_and_leaves_no_trace(tmp_path: Path) -> None:
    rows = [sample("1", "a", "b"), sample("2", "a"), sample("3", "a", "b", "c")]
    rows[1] = rows[1].model_copy(update={"checklist": (CHECK, Constraint(text="a"))})
    rows.append(sample("4").model_copy(update={"checklist": (CHECK,)}))
    rows.append(rows[0].model_copy(update={"id": "5"}))  # asks what the first asks
    rows.append(rows[0])  # a duplicate, which is not judged

    def judge(model: ScriptedModel) -> Cascade:
        return Cascade(Rules(), Checklist(model, PLAIN, per_call=1))

    result = dry_run(evaluate, rows, judge=judge(unasked()), run=tmp_path / "run", prices=PRICES)
    assert not (tmp_path / "run").exists()
    model = counting()
    summary = evaluate(rows, judge=judge(model), run=tmp_path / "run", prices=PRICES).summary
    assert result["calls"] == len(model.calls) == summary["cost"]["calls"] == 6
    assert result["reused"] == summary["cost"]["reused"] == 2
    assert result["rows"] == {"read": 6, "done": 0, "failed": 1}
    sent = sum(estimate_tokens(turn.content) for call in model.calls for turn in call.messages)
    assert result["prompt_tokens"] == sent
    assert result["completion_tokens"] == 6 * 150
    assert result["dollars"] == pytest.approx((sent * 10 + 900 * 100) / 1e6)
    assert result["judges"][0]["judge"] == "scripted/plain/1"


def test_an_estimate_of_a_run_that_is_there_counts_what_is_left(tmp_path: Path) -> None:
    def third(call: int) -> Exception | None:
        return StopRunError("out of money") if call == 2 else None

    rows = samples(5)
    stopped = Checklist(counting(fail=third), PLAIN)
    with pytest.raises(StopRunError):
        evaluate(rows, judge=stopped, run=tmp_path, concurrency=1)
    asked: dict[str, Any] = {"judge": Checklist(unasked(), PLAIN), "run": tmp_path}
    result = dry_run(evaluate, rows, prices=PRICES, **asked)
    assert (result["calls"], result["rows"]["done"]) == (3, 2)
    assert result["spent"] == pytest.approx(2 * PRICE)
    evaluate(rows, judge=Checklist(counting(verdict="PERHAPS"), PLAIN, reasks=1), run=tmp_path)
    assert dry_run(evaluate, rows, **asked)["calls"] == 0
    # A retry asks once more for each of the three that never got a verdict.
    assert dry_run(evaluate, rows, retry_failed=True, **asked)["calls"] == 3
    with pytest.raises(RunError, match="another configuration"):
        dry_run(evaluate, rows, scoring="faithful", **asked)


@pytest.mark.parametrize(
    ("per_call", "edit", "paid"),
    [
        (1, lambda texts: ["A new one.", *texts[1:]], 2),
        (2, lambda texts: ["A new one.", *texts[1:]], 2),  # the second call is as it was
        (2, lambda texts: ["A new one.", *texts], 4),  # each call holds other criteria
        (None, lambda texts: texts[:2], 2),
    ],
)
def test_after_an_edit_only_calls_with_other_criteria_are_paid_for(
    tmp_path: Path, per_call: int | None, edit: Any, paid: int
) -> None:
    def rows(texts: list[str]) -> list[Sample]:
        listed = [Constraint(text=text) for text in texts]
        prompts = ("Greet.", "Take leave.")
        return [Sample(prompt=each, checklist=listed, response="Hello") for each in prompts]

    texts = ["It is short.", "It is kind.", "It is true."]
    old, new = tmp_path / "old", tmp_path / "new"
    with serving(script=verdicts) as server:
        judge: dict[str, Any] = {"judge": "checklist", "model": "m", "base_url": server.url}
        evaluate(rows(texts), run=old, per_call=per_call, **judge)
        edited = rows(edit(texts))
        summary = evaluate(edited, per_call=per_call, run=new, reuse=old, **judge).summary
    assert summary["cost"]["calls"] == paid


@pytest.mark.parametrize("executor", ["local", "processes"])
def test_rows_that_were_added_are_the_only_ones_paid_for(tmp_path: Path, executor: Any) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    with serving(script=verdicts) as server:
        judge: dict[str, Any] = {
            "model": "m",
            "base_url": server.url,
            "prices": {"m": Price(prompt=1.0, completion=1.0)},
        }
        evaluate(samples(3), run=old, **judge)
        before = {path.name: path.read_bytes() for path in old.iterdir()}
        more: dict[str, Any] = {**judge, "run": new, "reuse": old}
        assert dry_run(evaluate, samples(5), **more)["calls"] == 2
        summary = evaluate(samples(5), executor=executor, **more).summary
        assert (summary["cost"]["calls"], summary["cost"]["reused"]) == (2, 3)
        whole = evaluate(samples(5), run=tmp_path / "whole", **judge)
        assert summary["metrics"] == whole.summary["metrics"]
        assert evaluate(samples(5), run=new, **judge).summary["cost"]["calls"] == 2
    assert {path.name: path.read_bytes() for path in old.iterdir()} == before
    with pytest.raises(RunError, match="no such run"):
        evaluate(samples(1), run=tmp_path / "none", reuse=tmp_path / "nowhere", **judge)


@pytest.mark.slow
@of_a_hundred(30)
@given(
    st.lists(st.integers(0, 4), max_size=6),
    st.one_of(st.none(), st.integers(1, 3)),
    st.integers(1, 3),
)
def test_an_estimate_is_the_number_of_calls(
    sizes: list[int], per_call: int | None, votes: int
) -> None:
    rows = [
        sample(str(key), *(f"{key}-{position}" for position in range(size)))
        for key, size in enumerate(sizes)
    ]
    model = counting()

    def judge(model: ScriptedModel) -> Panel:
        draws = [Checklist(model, PLAIN, per_call=per_call, sample_index=k) for k in range(votes)]
        return Panel(*draws)

    result = dry_run(evaluate, rows, judge=judge(unasked()))
    evaluate(rows, judge=judge(model))
    assert result["calls"] == len(model.calls)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_run_stops_before_the_call_that_would_cost_too_much(
    concurrency: int, tmp_path: Path
) -> None:
    rows = samples(10)
    options: dict[str, Any] = {"run": tmp_path, "prices": PRICES, "concurrency": concurrency}
    model = counting(latency_s=0.002)
    with pytest.raises(StopRunError, match="--max-cost"):
        evaluate(rows, judge=Checklist(model, PLAIN), max_cost=3.5 * PRICE, **options)
    assert len(model.calls) == 3
    # What was spent before counts, and nothing is bought twice.
    model = counting(latency_s=0.002)
    with pytest.raises(StopRunError, match=r"\$0.0500 of \$0.055 is spent"):
        evaluate(rows, judge=Checklist(model, PLAIN), max_cost=5.5 * PRICE, **options)
    assert len(model.calls) == 2
    model = counting()
    summary = evaluate(rows, judge=Checklist(model, PLAIN), max_cost=1.0, **options).summary
    assert len(model.calls) == 5
    assert summary["cost"]["dollars"] == pytest.approx(10 * PRICE)


@pytest.mark.slow
@of_a_hundred(30)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=12), st.floats(0.01, 0.3))
def test_with_a_bound_on_answers_the_limit_holds_whatever_they_are(
    lengths: list[int], limit: float
) -> None:
    spent: list[float] = []

    def reply(messages: Sequence[Message], _: int) -> Completion:
        number = int(re.findall(r"Question (\d+)", messages[-1].content)[0])
        sent = sum(estimate_tokens(turn.content) for turn in messages)
        spent.append((10 * sent + 100 * lengths[number]) / 1e6)
        usage = Usage(prompt_tokens=sent, completion_tokens=lengths[number])
        return Completion(text=blocks(messages), usage=usage, model="scripted")

    model = ScriptedModel(reply, latency_s=0.0001)
    judge = Checklist(model, PLAIN, sampling=Sampling(max_tokens=400))
    with contextlib.suppress(StopRunError):
        evaluate(samples(len(lengths)), judge=judge, max_cost=limit, prices=PRICES)
    assert sum(spent) <= limit + 1e-9


def test_a_limit_needs_prices_and_counts(tmp_path: Path) -> None:
    rows = samples(3)
    with pytest.raises(StopRunError, match="--prices"):
        evaluate(rows, judge=Checklist(unasked(), PLAIN), max_cost=1.0)
    with pytest.raises(UsageError, match="above 0"):
        evaluate(rows, judge=Checklist(unasked(), PLAIN), max_cost=0.0, prices=PRICES)
    options: dict[str, Any] = {"run": tmp_path, "prices": PRICES, "max_cost": 1.0}
    model = counting(Usage())
    for calls in (1, 1):  # the first answer shows it, and what it cost stays unknown
        with pytest.raises(StopRunError, match="tokens"):
            evaluate(rows, judge=Checklist(model, PLAIN), **options)
        assert len(model.calls) == calls


def test_what_was_bought_counts_be_it_in_use_or_not(tmp_path: Path) -> None:
    rows = samples(3)
    options: dict[str, Any] = {"run": tmp_path, "prices": PRICES}
    shy = counting(verdict="PERHAPS")
    first = evaluate(rows, judge=Checklist(shy, PLAIN), **options).summary["cost"]
    assert (first["calls"], first["reasks"]) == (6, 3)
    clear = counting()
    again = evaluate(rows, judge=Checklist(clear, PLAIN), retry_failed=True, **options).summary
    cost = again["cost"]
    assert again["verdicts"]["met"] == 3
    assert (cost["calls"], cost["reasks"], cost["prompt_tokens"]) == (9, 6, 9 * 600)
    assert cost["dollars"] == pytest.approx(9 * PRICE)
    assert {key: cost["judges"][0][key] for key in first if key in cost["judges"][0]} == {
        key: cost[key] for key in first if key in cost["judges"][0]
    }


def test_a_server_that_counts_nothing_leaves_the_cost_unknown() -> None:
    rows = samples(3)
    judge = Checklist(counting(Usage()), PLAIN)
    cost = evaluate(rows, judge=judge, prices=PRICES).summary["cost"]
    assert (cost["calls"], cost["uncounted"]) == (3, 3)
    assert cost["prompt_tokens"] is cost["completion_tokens"] is cost["dollars"] is None

    def mixed(messages: Sequence[Message], _: int) -> Completion:
        usage = USAGE if "Question 0" in messages[-1].content else Usage()
        return Completion(text=blocks(messages), usage=usage, model="scripted")

    judge = Checklist(ScriptedModel(mixed), PLAIN)
    cost = evaluate(rows, judge=judge, prices=PRICES).summary["cost"]
    assert (cost["uncounted"], cost["prompt_tokens"], cost["dollars"]) == (2, 600, None)


def test_a_model_is_priced_by_who_answered_or_else_by_who_was_asked() -> None:
    def reply(messages: Sequence[Message], _: int) -> Completion:
        return Completion(text=blocks(messages), usage=USAGE, model="/weights/critic-7b")

    judge = Checklist(ScriptedModel(reply), PLAIN)
    cost = evaluate(samples(1), judge=judge, prices=PRICES).summary["cost"]
    assert cost["dollars"] == pytest.approx(PRICE)
    special = {**PRICES, "/weights/critic-7b": Price(prompt=0.0, completion=0.0)}
    cost = evaluate(samples(1), judge=judge, prices=special).summary["cost"]
    assert cost["dollars"] == 0.0


# The command line, against a server.


def command(server: FaultServer, *words: str | Path) -> int:
    address = ["--base-url", server.url, "--api-key", "sk-secret-0123456789"]
    return commands.run(*words, *address)


@pytest.fixture
def rows_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(row.model_dump_json() + "\n" for row in samples(4)), encoding="utf-8")
    return path


def test_a_dry_run_prints_the_estimate_and_makes_nothing(
    rows_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("evaluate", rows_file, "--judge=rules,checklist", "--dry-run")
    with serving(script=verdicts) as server:
        assert command(server, *asked, "-m", "gpt-4.1-mini", "--votes", "3") == 0
        assert re.search(r"gpt-4.1-mini/plain +12 +[\d,]+ +1,800 +\$0\.0", capsys.readouterr().out)
        assert command(server, *asked, "-m", "own") == 0
        assert "price unknown" in capsys.readouterr().out
    assert server.bodies == []
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["rows.jsonl"]
    assert command(server, "evaluate", rows_file, "--judge", "rules", "--dry-run") == 0
    assert "no call" in capsys.readouterr().out


def test_prices_and_a_limit_on_the_command_line(
    rows_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str | Path] = ["evaluate", rows_file, "--judge", "checklist", "-m", "own"]
    asked += ["--run", "run"]
    with serving(script=verdicts) as server:
        assert command(server, *asked, "--max-cost", "1") == 2
        said = capsys.readouterr().err
        assert "model own" in said
        assert "--prices FILE" in said
        assert not Path("run").exists()
        for limit in ("-1", "nan", "much"):
            assert command(server, *asked, "--max-cost", limit) == 2
            assert "--max-cost" in capsys.readouterr().err
        assert not Path("run").exists()
        Path("prices.json").write_text('{"own": {"prompt": 10, "completion": 100}}')
        assert command(server, *asked, "--prices", "nowhere.json") == 2
        asked += ["--prices", "prices.json"]
        assert command(server, *asked, "--max-cost", "0.025") == 2
        assert "$0.0200 of $0.025 is spent" in capsys.readouterr().err
        assert len(server.bodies) == 2
        assert command(server, *asked, "--max-cost", "0.05") == 0
        assert "$0.0400" in capsys.readouterr().out
        assert len(server.bodies) == 4
    cost = json.loads(Path("run/summary.json").read_text())["cost"]
    assert cost["dollars"] == pytest.approx(0.04)


def test_what_was_sent_otherwise_than_asked_is_told(
    rows_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stubborn(number: int, body: dict[str, Any]) -> Answer:
        if "temperature" not in body:
            return verdicts(number, body)
        error = {"message": "Unsupported parameter: 'temperature'", "param": "temperature"}
        return Answer(400, {"error": {**error, "code": "unsupported_parameter"}})

    told = "temperature is left out, thinker refuses it"
    asked = ("evaluate", rows_file, "--judge", "checklist", "-m", "thinker", "--run", "run")
    with serving(script=stubborn) as server:
        for calls in (5, 5):  # the second time nothing is asked, and the verdicts are the same
            assert command(server, *asked) == 0
            assert len([body for body in server.bodies if "temperature" not in body]) == 4
            assert len(server.bodies) >= calls
            shown = " ".join(capsys.readouterr().out.split())
            assert told in shown
            assert json.loads(Path("run/summary.json").read_text())["adaptations"] == [told]
