"""The durable engine: order, resume, faults, interruptions."""

import asyncio
import io
import json
import re
from pathlib import Path

import pytest

from heedful.core.errors import InputError, RunError
from heedful.engine.progress import Display, line
from heedful.engine.runner import Item, Progress, run
from heedful.engine.schema import Input
from heedful.engine.store import Store


def items(count: int) -> list[Item[int]]:
    return [Item(line=k + 1, id=f"id-{k}", value=k) for k in range(count)]


def execute(store: Store, rows: list[Item[int]], work: object, concurrency: int = 4) -> Progress:
    return asyncio.run(run(rows, work, store, encode=json.dumps, concurrency=concurrency))  # type: ignore[arg-type]


async def double(value: int) -> str:
    await asyncio.sleep((value * 7 % 5) / 1000)  # rows finish out of order
    return json.dumps(2 * value)


def test_a_run_that_was_resumed_with_all_done_leaves_its_file_to_others(tmp_path: Path) -> None:
    for _ in range(2):
        store = Store(tmp_path)
        execute(store, items(5), double)
        with Store(tmp_path) as other:
            other.set_meta("seen", value=True)
    assert Store(tmp_path).meta("seen")


def test_a_resumed_run_works_only_on_what_is_left(tmp_path: Path) -> None:
    asked: list[int] = []

    async def interrupted_at_30(store: Store) -> None:
        whole = asyncio.current_task()
        assert whole is not None

        async def work(value: int) -> str:
            if value == 30:
                whole.cancel()  # as Ctrl-C does
                await asyncio.sleep(60)
            asked.append(value)
            return await double(value)

        await run(items(50), work, store, encode=json.dumps, concurrency=1)

    with Store(tmp_path) as store, pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted_at_30(store))
    assert asked == list(range(30))

    async def counts(value: int) -> str:
        asked.append(value)
        return await double(value)

    with Store(tmp_path) as store:
        progress = execute(store, items(50), counts)
        assert len(list(store.entries())) == 50
    assert sorted(asked) == list(range(50))
    assert (progress.done, progress.resumed) == (50, 30)


def test_work_that_raises_costs_its_own_row_only(tmp_path: Path) -> None:
    async def fails_on_two(value: int) -> str:
        if value == 2:
            message = "no"
            raise ValueError(message)
        return await double(value)

    with Store(tmp_path) as store:
        progress = execute(store, items(4), fails_on_two)
        failures = [entry.failure for entry in store.entries()]
    assert failures == [None, None, "ValueError: no", None]
    assert progress.failed == 1


def test_the_second_of_two_equal_ids_is_a_problem_that_names_the_first(tmp_path: Path) -> None:
    rows = [
        Item(line=1, id="a", value=1),
        Item(line=2, id="b", value=2),
        Item(line=5, id="a", value=3),
    ]
    with Store(tmp_path) as store:
        execute(store, rows, double)
        problems = [entry.problem for entry in store.entries()]
    assert problems[:2] == [None, None]
    assert problems[2] is not None
    assert re.search(r"'a'.*line 1\b", problems[2])


def test_a_row_that_cannot_be_stored_is_a_problem_of_its_own(tmp_path: Path) -> None:
    def encode(value: int) -> str:
        if value == 1:
            message = "surrogates not allowed"
            raise ValueError(message)
        return json.dumps(value)

    with Store(tmp_path) as store:
        asyncio.run(run(items(3), double, store, encode=encode))
        problems = [entry.problem for entry in store.entries()]
    assert [bool(problem) for problem in problems] == [False, True, False]


def test_a_fault_of_the_source_is_raised_as_it_is_and_loses_nothing(tmp_path: Path) -> None:
    def source() -> object:
        yield from items(10)
        raise InputError("the disk went away", where="data.jsonl")

    with Store(tmp_path) as store:
        with pytest.raises(InputError, match=r"data\.jsonl: the disk went away"):
            asyncio.run(run(source(), double, store, encode=json.dumps, concurrency=2))  # type: ignore[arg-type]
        assert sum(entry.output is not None for entry in store.entries()) >= 9


def test_another_configuration_is_refused_and_the_difference_is_named(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.configure({"judge": "rules", "scoring": "strict"})
        store.add_inputs([Input(0, 1, "a", "x", None)])
        store.add_output(0, "{}")
    with Store(tmp_path) as store:
        store.configure({"judge": "rules", "scoring": "strict"})
        with pytest.raises(RunError, match=r"scoring.*strict.*faithful"):
            store.configure({"judge": "rules", "scoring": "faithful"})


def test_progress_says_how_far_how_fast_and_how_long() -> None:
    progress = Progress(total=200, done=50, failed=2, started=100.0)
    assert line(progress, 110.0) == "50 of 200 rows (25%), 5 rows/s, 0:30 left, 2 failed"
    assert line(Progress(done=7, resumed=2, started=0.0), 1.0) == "7 rows, 5 rows/s, 2 from before"
    paid = Progress(done=3, started=0.0, spent=lambda: 0.25)
    assert line(paid, 1.0) == "3 rows, 3 rows/s, $0.2500 spent"
    judged = Progress(done=3, started=0.0, coverage=lambda: 0.9999)
    assert line(judged, 1.0) == "3 rows, 3 rows/s, coverage 99.9%"


def test_a_pipe_gets_no_control_characters_and_a_quick_run_prints_nothing() -> None:
    stream = io.StringIO()
    display = Display(stream)
    display(Progress(done=1))
    display.clear()
    assert stream.getvalue() == ""
