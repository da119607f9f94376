"""A call that ends a run: the others of its row are not made."""

import asyncio
from typing import Any

import pytest

from heedful import Message, Sample
from heedful.core.nouns import Constraint
from heedful.judges import Panel, prompts
from heedful.judges.likelihood import Likelihood
from heedful.judges.model import Checklist
from heedful.models.base import AuthError


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
