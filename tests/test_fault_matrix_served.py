"""`heedful serve` with every fault of its model's server: no fault is a defect or a reward.

A fault that passes is not noticed. One that stays leaves the reward undecided with the reason, and
so does one after which no call can succeed, once the model has answered.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fault_server import Answer, serving, verdicts
from heedful_server import ASKED, Server, server
from test_fault_matrix import HARMLESS, LASTING, PASSING, STOPPING

FAULTS = (*PASSING, *HARMLESS, *LASTING, *STOPPING)
SOME = {*FAULTS[:18:6], "401"}
UNLIKE = {"too long", "401 after two answers"}
"""Those that depend on a limit that is too large here, and on answers before."""


def mark(fault: str) -> str:
    """Name a fault by a text without commas."""
    return f"number {FAULTS.index(fault)} of faults"


class Model:
    """Answers as a judge, and bends the answer to whatever holds the name of a fault."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def __call__(self, number: int, body: dict[str, Any]) -> Answer:
        text = str(body["messages"])
        good = verdicts(number, body)
        for fault in FAULTS:
            if mark(fault) in text:
                again = fault in self.asked
                self.asked.add(fault)
                return good if again and fault in PASSING else self.bend(fault)(good)
        return good

    @staticmethod
    def bend(fault: str) -> Callable[[Answer], Answer]:
        if fault in STOPPING:
            return STOPPING[fault][0]
        return {**PASSING, **HARMLESS, **LASTING}[fault]


@pytest.fixture(scope="module")
def made() -> Iterator[Server]:
    with serving(script=Model()) as model, server("--timeout=2", model_url=model.url) as server_:
        assert server_.rewards(row("the first day"))[1]["rewards"] == [1]
        yield server_


def row(text: str) -> dict[str, Any]:
    return {
        **ASKED,
        "response": f"Hello to you dear guest of {text} and welcome to all of your friends.",
    }


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=pytest.mark.slow if fault in SOME else pytest.mark.exhaustive)
        for fault in FAULTS
        if fault not in UNLIKE
    ],
)
def test_the_server_survives_every_fault_of_its_model(made: Server, fault: str) -> None:
    status, body = made.rewards(row(mark(fault)))
    assert status == 200
    (result,) = body["results"]
    decided = fault in PASSING or fault in HARMLESS
    assert (body["rewards"] == [1]) is decided
    assert bool(result["undecided"]) is not decided
    if fault in STOPPING:  # at the first request it would be 502; later on training goes on
        assert STOPPING[fault][1] in result["undecided"]
    assert "defect" not in str(body)
    status, body = made.rewards(row(f"the day after {mark(fault)[1:]}"))
    assert (status, body["rewards"]) == (200, [1])
    assert made.get("/ready")[1]["status"] == "ok"
