"""What responses and checklists would cost, did cost, and how they stop before they cost more."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import commands
from fault_server import Answer, FaultServer, completion, serving
from heedful import (
    Message,
    Sample,
    dry_run,
    respond,
)
from heedful.engine.progress import line
from heedful.engine.runner import Progress
from heedful.models import Completion, Price, Sampling, ScriptedModel, Usage, estimate_tokens

# Whole commands, with servers, files and processes.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("empty_folder")]

PRICES = {"scripted": Price(prompt=10.0, completion=100.0)}
USAGE = Usage(prompt_tokens=1000, completion_tokens=400)
PRICE = 0.05
"""What a call with this usage costs at these prices."""

WORDS = "Name a river"
LISTED = f"<c1>\nTEXT: {WORDS}\n</c1>"


def sample(key: str, words: str = "", **fields: Any) -> Sample:
    turn = Message(role="user", content=f"{WORDS}. {words or key}")
    return Sample(id=key, conversation=(turn,), **fields)


def samples(count: int) -> list[Sample]:
    return [sample(str(number)) for number in range(count)]


def counting(
    text: str = LISTED, fail: Callable[[int], Exception | None] = lambda _: None
) -> ScriptedModel:
    """A model whose server counts every call alike."""

    def reply(_: Sequence[Message], __: int) -> Completion:
        return Completion(text=text, usage=USAGE, model="scripted", finish_reason="stop")

    return ScriptedModel(reply, fail=fail)


def unasked() -> ScriptedModel:
    return ScriptedModel("", fail=lambda _: AssertionError("an estimate must not call"))


def sent(model: ScriptedModel) -> int:
    return sum(estimate_tokens(turn.content) for call in model.calls for turn in call.messages)


def test_an_estimate_of_responses_counts_what_is_then_asked(tmp_path: Path) -> None:
    rows = [sample("1"), sample("2"), sample("3", "2"), sample("4", response="The Rhine.")]
    rows.append(rows[0])  # a duplicate, which is not asked for
    options: dict[str, Any] = {"samples": 2, "run": tmp_path / "run", "prices": PRICES}
    result = dry_run(respond, rows, models=unasked(), **options)
    assert not (tmp_path / "run").exists()
    model = counting()
    summary = respond(rows, models=model, **options).summary
    assert result["calls"] == len(model.calls) == summary["cost"]["calls"] == 4
    assert result["reused"] == summary["cost"]["reused"] == 2  # the third asks as the second does
    assert result["rows"] == {"read": 9, "done": 0, "failed": 2, "unchanged": 1}
    assert (result["prompt_tokens"], result["completion_tokens"]) == (sent(model), 4 * 300)
    assert result["dollars"] == pytest.approx((sent(model) * 10 + 1200 * 100) / 1e6)
    assert summary["cost"]["dollars"] == pytest.approx(4 * PRICE)
    short = dry_run(respond, rows, models=unasked(), sampling=Sampling(max_tokens=7))
    assert (short["completion_tokens"], short["dollars"]) == (2 * 7, None)
    left = dry_run(respond, rows, models=unasked(), **options)
    assert (left["calls"], left["rows"]["done"]) == (0, 7)
    assert left["spent"] == pytest.approx(4 * PRICE)


@pytest.mark.parametrize("prices", [PRICES, None])
def test_the_progress_says_what_was_spent_where_that_is_known(
    prices: dict[str, Price] | None,
) -> None:
    seen: list[float | None] = []
    shown: list[str] = []

    def on_progress(progress: Progress) -> None:
        seen.append(progress.spent())
        shown.append(line(progress, progress.started + 1))

    respond(samples(3), models=counting(), prices=prices, concurrency=1, on_progress=on_progress)
    if prices:
        assert seen[:3] == [pytest.approx(k * PRICE) for k in (1, 2, 3)]
        assert shown[-1] == "3 rows, 3 rows/s, $0.1500 spent"
    else:
        assert set(seen) == {None}
        assert shown[-1] == "3 rows, 3 rows/s"


# The command line, against a server.


def command(server: FaultServer, *words: str) -> int:
    address = ["--base-url", server.url, "--api-key", "sk-secret-0123456789"]
    return commands.run(*words, *address)


def write(count: int) -> None:
    rows = (json.dumps({"id": str(k), "prompt": f"{WORDS}. {k}"}) for k in range(count))
    Path("in.jsonl").write_text("\n".join(rows), encoding="utf-8")


def answer(_: int, body: dict[str, Any]) -> Answer:
    made = completion(LISTED)
    usage = {"prompt_tokens": 1000, "completion_tokens": 400}
    return replace(made, body={**made.body, "model": body["model"], "usage": usage})


@pytest.mark.parametrize("name", ["respond", "checklist"])
def test_prices_a_limit_and_a_log_on_the_command_line(name: str) -> None:
    write(4)
    Path("prices.json").write_text('{"own": {"prompt": 10, "completion": 100}}')
    asked = [name, "in.jsonl", "-m", "own", "-o", "out.jsonl", "--run", "run"]
    asked += ["--prices", "prices.json", "--log-file", "log.txt"]
    with serving(script=answer) as server:
        assert command(server, *asked, "--max-cost", "0.125") == 2
        assert len(server.bodies) == 2
        assert command(server, *asked, "--max-cost", "0.25") == 0
        assert len(server.bodies) == 4
    cost = json.loads(Path("run/summary.json").read_text())["cost"]
    assert cost["dollars"] == pytest.approx(0.2)
    log = Path("log.txt").read_text(encoding="utf-8")
    levels = [line.split()[2] for line in log.splitlines()]
    assert levels == ["INFO", "CRITICAL", "INFO", "INFO"]
    assert "sk-secret" not in log
