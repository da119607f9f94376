"""The store and whole runs under any order of writing, stopping, dying and resuming."""

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from heedful import Constraint, Message, Sample, StopRunError, evaluate
from heedful.core.errors import ModelError
from heedful.engine.schema import Input, UsageRecord
from heedful.engine.store import Store
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import Completion, Sampling, Usage
from properties import of_a_hundred

KEYS = st.integers(0, 5).map(lambda number: b"key %d" % number)


class StoreMachine(RuleBasedStateMachine):
    """A store beside plain dicts; what is not committed is lost when its process dies."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.generation = 0
        self.store = Store(self.folder / "0")
        self.now: dict[str, Any] = {
            "inputs": {},
            "outputs": {},
            "calls": {},
            "usage": Counter(),
            "meta": None,
        }
        self.committed = deepcopy(self.now)

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    @rule(ids=st.lists(st.sampled_from([None, "a", "b", "c"]), max_size=4))
    def read(self, ids: list[str | None]) -> None:
        start = len(self.now["inputs"])
        rows = [Input(start + at, at, key, f"value {key}", None) for at, key in enumerate(ids)]
        for row, problem in zip(rows, self.store.add_inputs(rows), strict=True):
            taken = {key for key, _ in self.now["inputs"].values() if key is not None}
            duplicate = row.id in taken
            assert (problem is not None) == duplicate
            self.now["inputs"][row.position] = (None if duplicate else row.id, problem)

    @rule(position=st.integers(0, 8), value=st.sampled_from(["done", None]))
    def finish(self, position: int, value: str | None) -> None:
        if position in self.now["inputs"]:
            self.store.add_output(position, value, None if value else "failed")
            self.now["outputs"][position] = value

    @rule(key=KEYS, tokens=st.integers(0, 9), caller=st.sampled_from("xy"))
    def call(self, key: bytes, tokens: int, caller: str) -> None:
        if self.store.call(key) is None:
            record = UsageRecord(caller, "model", "model", prompt_tokens=tokens)
            self.store.add_call(key, f"answer {tokens}", record)
            self.now["calls"][key] = f"answer {tokens}"
            self.now["usage"][caller] += tokens

    @rule(value=st.integers())
    def configure(self, value: int) -> None:
        self.store.flush()  # as sessions do: what is configured is committed at once
        self.store.set_meta("key", value)
        self.now["meta"] = value
        self.committed = deepcopy(self.now)

    @rule()
    def flush(self) -> None:
        self.store.flush()
        self.committed = deepcopy(self.now)

    @rule(positions=st.sets(st.integers(0, 8)))
    def forget(self, positions: set[int]) -> None:
        self.store.forget(positions)
        self.now["outputs"] = {
            at: value for at, value in self.now["outputs"].items() if at not in positions
        }
        self.look()

    @rule(position=st.integers(0, 4))
    def truncate(self, position: int) -> None:
        self.store.truncate(position)
        for part in ("inputs", "outputs"):
            rest = {at: value for at, value in self.now[part].items() if at < position}
            self.now[part] = rest
        self.look()

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = Store(self.folder / str(self.generation))
        self.look()

    @rule()
    def die(self) -> None:
        """Go on with the files as they are, as after kill -9."""
        before = self.folder / str(self.generation)
        self.generation += 1
        shutil.copytree(before, self.folder / str(self.generation))
        dead, self.store = self.store, Store(self.folder / str(self.generation))
        dead.close()
        self.now = deepcopy(self.committed)
        self.look()

    @rule()
    def look(self) -> None:
        entries = {entry.position: entry for entry in self.store.entries()}
        self.committed = deepcopy(self.now)  # looking commits
        assert {at: (entry.id, entry.problem) for at, entry in entries.items()} == self.now[
            "inputs"
        ]
        outputs = {at: value for at, value in self.now["outputs"].items() if at in entries}
        assert set(self.store.done()) == set(outputs)
        assert {at: entries[at].output for at in outputs} == outputs
        assert all(self.store.call(key) == value for key, value in self.now["calls"].items())
        usage: Counter[str] = Counter()
        for record in self.store.usage_records():
            usage[record.caller] += record.prompt_tokens
        assert usage == self.now["usage"]
        assert self.store.meta("key") == self.now["meta"]


TestStore = pytest.mark.slow(StoreMachine.TestCase)
TestStore.settings = of_a_hundred(30, stateful_step_count=25)


class Flaky:
    """A model that fails at given calls, for good or for the whole run, and counts them."""

    name = "m"
    config: Mapping[str, Any] = {"model": "m"}

    def __init__(self) -> None:
        self.answered: list[str] = []
        self.script: list[str] = []

    async def generate(
        self, messages: Sequence[Message], sampling: Sampling, *, sample: int = 0
    ) -> Completion:
        del sampling
        event = self.script.pop() if self.script else "answer"
        if event == "stop":
            raise StopRunError("no money")
        if event == "fail":
            raise ModelError("no answer")
        self.answered.append(f"{sample} {messages[-1].content}")
        text = "<c1>\nIt does.\nVERDICT: MET\n</c1>"
        usage = Usage(prompt_tokens=10, completion_tokens=5)
        return Completion(text=text, usage=usage, model="m")

    async def close(self) -> None:
        pass


def rows(count: int) -> list[Sample]:
    return [
        Sample(
            id=str(number),
            prompt=f"Write about {number}.",
            checklist=(Constraint(text="It is about it."),),
            response=f"This is about {number}.",
        )
        for number in range(count)
    ]


@of_a_hundred(25)
@given(
    sessions=st.lists(
        st.lists(st.sampled_from(["answer", "fail", "stop"]), max_size=6), max_size=4
    ),
    count=st.integers(1, 6),
    concurrency=st.integers(1, 4),
)
def test_however_a_run_is_stopped_it_ends_the_same_and_pays_once(
    sessions: list[list[str]], count: int, concurrency: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = Flaky()

        def session(name: str, script: list[str], *, retry: bool) -> Any:
            model.script = script[::-1]
            judge = Checklist(model, prompts.make("plain"))
            options: dict[str, Any] = {"concurrency": concurrency, "retry_failed": retry}
            return evaluate(rows(count), judge=judge, run=Path(folder) / name, **options)

        for script in sessions:
            try:
                session("disturbed", script, retry=True)
            except StopRunError:
                assert "stop" in script
        result = session("disturbed", [], retry=True)
        paid = len(model.answered)
        assert len(set(model.answered)) == paid
        assert result.summary["cost"]["calls"] == paid
        session("undisturbed", [], retry=False)
        lines = [
            (Path(folder) / name / "results.jsonl").read_bytes()
            for name in ("disturbed", "undisturbed")
        ]
        assert lines[0] == lines[1]
        assert [json.loads(line)["id"] for line in lines[0].splitlines()] == [
            row.id for row in rows(count)
        ]
