"""A server that does everything wrong: each row ends decided or with its reason, none is lost."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from fault_server import Answer, completion, refusal, serving
from heedful import Message, Sample, evaluate
from heedful.core.nouns import Constraint
from heedful.judges import Panel, prompts
from heedful.judges.likelihood import Likelihood
from heedful.judges.model import Checklist
from heedful.models import OpenAIModel
from heedful.models.base import AuthError

if TYPE_CHECKING:
    from pathlib import Path

CONSTRAINTS = 3
HANG_S = 30.0
TIMEOUT_S = 0.4


def block(number: int) -> str:
    return f"<c{number}>\nSeen.\nVERDICT: MET\n</c{number}>"


GOOD = completion("\n\n".join(block(number) for number in (1, 2, 3)))

PASSING = {
    "429": refusal(429, "slow down"),
    "429, Retry-After": replace(refusal(429, "slow down"), headers={"Retry-After": "0.05"}),
    "500": refusal(500, "oops"),
    "503": Answer(status=503, body="<html>busy</html>"),
    "reset": replace(GOOD, cut=0),
    "truncated": replace(GOOD, cut=60),
    "hang": replace(GOOD, delay_s=HANG_S),
    "broken JSON": Answer(body='{"choices": [{"mess'),
}
"""Faults of a first attempt that the next does not meet."""

LASTING = {
    "empty": (completion(""), "unparsed", "the reply is empty"),
    "garbage": (completion("%$§ 0x00 lorem"), "unparsed", "no block <c1>"),
    "two of three": (completion(f"{block(1)}\n{block(2)}"), "met", "Seen."),
    "four of three": (
        completion("\n".join(block(number) for number in (1, 2, 3, 4))),
        "unparsed",
        "parts whose numbers do not say",
    ),
    "filtered": (completion("", finish_reason="content_filter"), "failed", "content_filter"),
    "refused": (refusal(400, "this prompt is too long"), "failed", "this prompt is too long"),
    "always 500": (refusal(500, "oops"), "failed", "oops"),
    "slow": (replace(GOOD, delay_s=TIMEOUT_S / 4), "met", "Seen."),
}
"""Answers that come every time: the status of the first verdict, and a part of what it says."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Judge four rows for each fault; give the results by id."""
    attempts: Counter[str] = Counter()

    def answer(_: int, body: dict[str, Any]) -> Answer:
        result = re.search(r"row (\d) of (.+?)\.\n", body["messages"][-1]["content"])
        assert result
        attempts[result[0]] += 1
        if result[2] in LASTING:
            return LASTING[result[2]][0]
        return PASSING[result[2]] if attempts[result[0]] == 1 else GOOD

    samples = [
        Sample(
            id=f"{fault} {number}",
            conversation=(Message(role="user", content=f"This is row {number} of {fault}."),),
            checklist=tuple(Constraint(text=f"It is {what}.") for what in ("a", "b", "c")),
            response="It is.",
        )
        for number in range(4)
        for fault in (*PASSING, *LASTING)
    ]
    run: Path = tmp_path_factory.mktemp("run")
    with serving(script=answer) as server:
        model = OpenAIModel(
            "m",
            base_url=server.url,
            api_key="none",
            timeout_s=TIMEOUT_S,
            max_attempts=3,
            backoff_s=0.01,
        )
        evaluate(samples, judge=Checklist(model, prompts.make("plain")), run=run)
    lines = (run / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


@pytest.mark.parametrize("fault", PASSING)
def test_what_passes_costs_no_verdict(rows: dict[str, dict[str, Any]], fault: str) -> None:
    for number in range(4):
        statuses = [judgment["status"] for judgment in rows[f"{fault} {number}"]["judgments"]]
        assert statuses == ["met"] * CONSTRAINTS


@pytest.mark.parametrize("fault", LASTING)
def test_what_lasts_is_undecided_with_its_reason(
    rows: dict[str, dict[str, Any]], fault: str
) -> None:
    _, status, reason = LASTING[fault]
    for number in range(4):
        first = rows[f"{fault} {number}"]["judgments"][0]
        assert first["status"] == status
        assert reason in first["explanation"]


class Refused:
    """A model whose first call ends the run, while the others still wait for their answers."""

    name = "m"
    config: dict[str, Any] = {"model": "m"}  # noqa: RUF012 - the protocol's attribute

    def __init__(self) -> None:
        self.began = self.answered = 0

    async def generate(self, *_: Any, **__: Any) -> Any:
        self.began += 1
        if self.began == 1:
            raise AuthError("bad key")
        await asyncio.sleep(0.01)
        self.answered += 1

    async def close(self) -> None: ...


@pytest.mark.parametrize("kind", ["a call each", "likelihood", "panel"])
def test_a_row_whose_call_ends_the_run_makes_no_further_calls(kind: str) -> None:
    model: Any = Refused()
    checklist = tuple(Constraint(text=f"It is {what}.") for what in ("a", "b", "c"))
    turns = (Message(role="user", content="Write."),)
    row = Sample(id="1", conversation=turns, checklist=checklist, response="It is.")
    each = Checklist(model, prompts.make("plain"), per_call=1)
    members = [Checklist(model, prompts.make(name)) for name in ("plain", "structured", "short")]
    judges: dict[str, Any] = {
        "a call each": each,
        "likelihood": Likelihood(model),
        "panel": Panel(*members),
    }

    async def judge() -> None:
        with pytest.raises(AuthError):
            await judges[kind].judge(row)
        await asyncio.sleep(0.05)

    asyncio.run(judge())
    assert model.began > 1
    assert not model.answered
