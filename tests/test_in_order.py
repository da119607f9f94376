"""Rows are counted and written as they finish, and come to what the store alone comes to."""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import Critique, Judgment, Sample, StopRunError, evaluate
from heedful.core.nouns import Status
from heedful.engine.runner import Item, run
from heedful.engine.schema import Entry
from heedful.engine.store import Store
from heedful.jobs.run_counts import summarise
from properties import of_a_hundred

TURNS = st.lists(st.integers(0, 12), min_size=1, max_size=120)


@pytest.mark.slow
@of_a_hundred(30)
@given(turns=TURNS, concurrency=st.integers(1, 5), stops=st.lists(st.integers(0, 119), max_size=3))
def test_finished_rows_are_followed_in_order_each_once(
    turns: list[int], concurrency: int, stops: list[int]
) -> None:
    def source() -> Iterator[Item[int]]:
        for number, wait in enumerate(turns):
            problem = "broken" if wait == 12 else None
            key = str(number // 2 if wait == 11 else number)  # may be one that is there
            yield Item(number + 1, key, None if problem else number, problem)

    def session(store: Store, stop: int | None) -> list[Entry]:
        async def work(number: int) -> str:
            for _ in range(200 if number == 0 else turns[number]):  # the others wait for the first
                await asyncio.sleep(0)
            if number == stop:
                raise StopRunError("no money")
            if turns[number] == 10:
                raise ValueError("a defect")
            return json.dumps(number)

        followed: list[Entry] = []
        asyncio.run(
            run(source(), work, store, encode=str, concurrency=concurrency, follow=followed.append)
        )
        return followed

    with tempfile.TemporaryDirectory() as folder, Store(Path(folder)) as store:
        for stop in stops:
            try:
                session(store, stop)
            except StopRunError:
                store.forget([stop // 2])  # as a retry does
        assert session(store, None) == list(store.entries())


class Says:
    """A judge whose verdicts are in the sample, with all that a judgment may hold."""

    name = "says"
    config: Mapping[str, Any] = {"judge": "says"}

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        del requested
        said: list[dict[str, Any]] = sample.source["said"]
        for _ in range(sample.source["wait"]):
            await asyncio.sleep(0)
        if not said and sample.checklist:
            raise ValueError("a defect")
        return Critique(
            judgments=tuple(map(Judgment.model_validate, said)), declared=sample.source["declared"]
        )


STATUSES = st.sampled_from([status.value for status in Status])
JUDGMENTS = st.fixed_dictionaries(
    {
        "status": STATUSES,
        "explanation": st.sampled_from(["", "a", "Größe 😀"]),
        "judge": st.just("j"),
    },
    optional={
        "confidence": st.sampled_from([0.25, 1.0, 1 / 3]),
        "loose": STATUSES,
        "votes": st.just([{"judge": "a", "status": "met"}, {"judge": "b", "status": "unmet"}]),
        "contradiction": st.just(True),  # noqa: FBT003 - a field's value
    },
)
CONSTRAINTS = st.fixed_dictionaries(
    {"text": st.sampled_from(["No commas.", "Be kind."])},
    optional={
        "type": st.sampled_from(["content", "style"]),
        "priority": st.sampled_from(["primary", "secondary"]),
        "check": st.just({"id": "punctuation:no_comma"}),
        "note": st.sampled_from([1, [1, 2.5], {"a": None}]),
    },
)
TAGS = st.dictionaries(
    st.sampled_from(["benchmark", "model", "weight", "system_id"]),
    st.sampled_from(["advancedif", "cfbench", 1, 1.0, 0.5, True, "ü"]),
    max_size=3,
)


@st.composite
def samples(draw: st.DrawFn) -> list[Sample]:
    """Samples with all sorts of fields, a user's own among them."""
    made = []
    for number in range(draw(st.integers(1, 25))):
        checklist = draw(st.lists(CONSTRAINTS, max_size=3))
        size = len(checklist)
        judged = st.lists(JUDGMENTS, min_size=size, max_size=size)
        fields: dict[str, Any] = {
            "id": str(number),
            "conversation": [{"role": "user", "content": draw(st.sampled_from(["Hi.", "你好"]))}],
            "checklist": checklist,
            "response": draw(st.sampled_from([None, "", "One, two."])),
            "tags": draw(TAGS),
            "source": {
                "wait": draw(st.integers(0, 9)),
                "declared": draw(st.sampled_from([{}, {"all_ok": 1}])),
                "said": draw(st.one_of(st.just([]), judged)),
            },
        }
        if draw(st.booleans()):
            fields["labels"] = draw(st.lists(st.booleans(), min_size=size, max_size=size))
        if draw(st.booleans()):
            fields |= {"scores": 3, "own": (1, 2), "when": 1.5}
        made.append(Sample.model_validate(fields))
    return made


@pytest.mark.slow
@of_a_hundred(20)
@given(rows=samples(), scoring=st.sampled_from(["strict", "faithful"]), sessions=st.integers(1, 2))
def test_what_is_counted_as_rows_finish_is_what_the_store_comes_to(
    rows: list[Sample], scoring: Any, sessions: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "run"
        options: dict[str, Any] = {"judge": Says(), "scoring": scoring, "run": directory}
        for session in range(sessions):
            retry = session > 0
            summary = evaluate(rows, concurrency=3, retry_failed=retry, **options).summary
        files = [(directory / name).read_bytes() for name in ("results.jsonl", "summary.json")]
        assert {path.suffix for path in directory.iterdir()} <= {
            ".jsonl",
            ".json",
            ".sqlite",
            ".lock",
        }

        copy = Path(folder) / "copy"
        shutil.copytree(directory, copy)
        with Store(copy) as store:
            assert summarise(store, scoring, 0, store.meta("about")) == summary
        assert [(copy / name).read_bytes() for name in ("results.jsonl", "summary.json")] == files


def test_a_run_that_is_stopped_leaves_no_part_of_its_results(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl.part").write_text("left by a session that was killed\n")

    class Stops(Says):
        async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
            if sample.id == "2":
                raise StopRunError("no money")
            return await super().judge(sample, requested)

    source = {"said": [], "wait": 0, "declared": {}}
    rows = [Sample(id=str(number), prompt="Hi.", source=source) for number in range(4)]
    with pytest.raises(StopRunError):
        evaluate(rows, judge=Stops(), run=tmp_path)
    assert not list(tmp_path.glob("results.jsonl*"))
    evaluate(rows, judge=Says(), run=tmp_path)
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == len(rows)
    assert not list(tmp_path.glob("*.part"))
