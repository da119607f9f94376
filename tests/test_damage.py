"""Stores of which any byte may be damaged: nothing wrong is read, and what is whole comes out."""

import csv
import random
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from heedful import Constraint, Message, RunError, Sample, SavedRun, evaluate, export
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import ScriptedModel

Change = Callable[[bytes, random.Random], bytes]

pytestmark = pytest.mark.slow  # whole commands, with servers, files and processes

PAGE = 16384
ROWS = 60


def flip(data: bytes, chance: random.Random) -> bytes:
    """Flip one bit, as bad memory or a bad cable does."""
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def overwrite(data: bytes, chance: random.Random) -> bytes:
    """Put something else in the place of up to 64 bytes."""
    at = chance.randrange(len(data))
    other = chance.randbytes(chance.randrange(1, 64))
    return (data[:at] + other + data[at + len(other) :])[: len(data)]


def lose_sector(data: bytes, chance: random.Random) -> bytes:
    """Zero a sector, as a disk does."""
    at = chance.randrange(len(data) // 512) * 512
    return data[:at] + bytes(512) + data[at + 512 :]


def swap_pages(data: bytes, chance: random.Random) -> bytes:
    """Put two pages in each other's place."""
    pages = [data[at : at + PAGE] for at in range(0, len(data), PAGE)]
    first, second = chance.sample(range(1, len(pages)), 2)
    pages[first], pages[second] = pages[second], pages[first]
    return b"".join(pages)


def cut(data: bytes, chance: random.Random) -> bytes:
    """Lose the end."""
    return data[: chance.randrange(len(data))]


def spoil_schema(data: bytes, chance: random.Random) -> bytes:
    """Put what is no text among the names of tables, so that SQLite's messages are none either."""
    at = data.index(b"CREATE TABLE") + chance.randrange(60)
    return data[:at] + b"\xbb\xff" + data[at + 2 :]


CHANGES = (flip, overwrite, lose_sector, swap_pages, cut, spoil_schema)


def samples() -> list[Sample]:
    asked = (Message(role="user", content="Say things."),)
    checklist = tuple(Constraint(text=f"It says {thing}.") for thing in ("hello", "more"))
    return [
        Sample(id=f"s{n}", conversation=asked, checklist=checklist, response=f"hello {n} " * 40)
        for n in range(ROWS)
    ]


def reply(messages: Sequence[Message], sample: int) -> str:
    del sample
    number = int(messages[-1].content.partition("hello ")[2].split()[0])
    verdicts = ("MET", "UNMET") if number % 3 else ("UNMET", "UNMET")
    return "".join(f"<c{n}>\nSo.\nVERDICT: {word}\n</c{n}>\n" for n, word in enumerate(verdicts, 1))


def judged(run: Path, **options: Any) -> dict[str, Any]:
    judge = Checklist(ScriptedModel(reply), prompts.make("plain"))
    summary = evaluate(samples(), judge=judge, run=run, **options).summary
    return {name: summary[name] for name in ("metrics", "verdicts", "rows", "coverage")}


def everything(run: Path) -> tuple[Any, ...]:
    with SavedRun.open(run) as saved:
        return list(saved.entries()), list(saved.usage_records()), list(saved.answers())


def exported(run: Path, **options: Any) -> tuple[set[tuple[str, ...]], int]:
    """Export a run; return the table's rows, and how many rows of the run were lost."""
    path = run.with_suffix(".csv")
    lost = export(run, output=path, **options).unread
    with path.open(encoding="utf-8", newline="") as file:
        return {tuple(row) for row in csv.reader(file)}, lost


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("damage") / "run"
    judged(run)
    return run


T = TypeVar("T")


def unless_refused(work: Callable[[], T]) -> T | None:
    """Do what gives a result or else an error with a hint, and nothing else."""
    try:
        return work()
    except RunError as error:
        refusal = error
    assert refusal.hint
    return None


def survive(change: Change, seed: int, whole: Path, run: Path) -> None:
    """Damage a run, and use it in each way."""
    shutil.copytree(whole, run)
    store = run / "run.sqlite"
    store.write_bytes(change(store.read_bytes(), random.Random(seed)))
    assert unless_refused(lambda: everything(run)) in (None, everything(whole))
    salvaged = unless_refused(lambda: exported(run, salvage=True))
    if salvaged is not None:
        table, lost = salvaged
        wanted, _ = exported(whole)
        assert table <= wanted
        assert len(wanted - table) == 2 * lost
    assert unless_refused(lambda: judged(run)) in (None, judged(whole))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("change", CHANGES)
def test_nothing_wrong_is_read_from_a_damaged_run(
    change: Change, seed: int, whole: Path, tmp_path: Path
) -> None:
    survive(change, seed, whole, tmp_path / "run")


@pytest.mark.exhaustive
@pytest.mark.parametrize("change", CHANGES)
def test_nothing_wrong_is_read_however_a_run_is_damaged(
    change: Change, whole: Path, tmp_path: Path
) -> None:
    for seed in range(400):
        survive(change, seed, whole, tmp_path / str(seed) / "run")
        shutil.rmtree(tmp_path / str(seed))


def harm(run: Path, sql: str) -> None:
    db = sqlite3.connect(run / "run.sqlite")
    db.execute("PRAGMA journal_mode=DELETE")
    db.execute(sql)
    db.commit()
    db.close()


@pytest.mark.parametrize(
    ("sql", "lost", "paid"),
    [
        ("UPDATE outputs SET value = replace(value, 'unmet', 'met') WHERE position = 7", 1, 0),
        ("UPDATE outputs SET problem = 'x' WHERE position = 7", 1, 0),
        ("UPDATE inputs SET value = replace(value, 'hello', 'hallo') WHERE position = 7", 1, 0),
        ("UPDATE inputs SET id = x'80' WHERE position = 7", 1, 0),
        ("UPDATE inputs SET checksum = 1 WHERE position > 50", 9, 0),
        ("UPDATE calls SET value = replace(value, 'UNMET', 'MET')", 0, 0),
        ("UPDATE outputs SET value = '{}'", ROWS, 0),
        ("UPDATE outputs SET value = '{}'; UPDATE calls SET checksum = 1", ROWS, ROWS),
    ],
)
def test_a_row_that_is_not_as_it_was_written_is_left_out_and_worked_on_again(
    sql: str, lost: int, paid: int, whole: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    db = sqlite3.connect(run / "run.sqlite")
    db.execute("PRAGMA journal_mode=DELETE")
    db.executescript(sql)
    db.close()
    if lost:
        with pytest.raises(RunError, match=r"row \d+ is damaged"):
            everything(run)
        with pytest.raises(RunError, match="export --salvage"):
            export(run, output=tmp_path / "refused.csv")
    assert exported(run, salvage=True)[1] == lost
    model = ScriptedModel(reply)
    evaluate(samples(), judge=Checklist(model, prompts.make("plain")), run=run)
    assert len(model.calls) == paid
    assert judged(run) == judged(whole)
    everything(run)  # nothing is damaged any more


@pytest.mark.parametrize("table", ["inputs", "outputs", "calls", "usage"])
def test_rows_that_are_lost_are_missed(table: str, whole: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    db = sqlite3.connect(run / "run.sqlite")
    db.execute("PRAGMA journal_mode=DELETE")
    last = "" if table == "usage" else f"WHERE rowid = (SELECT max(rowid) FROM {table})"  # noqa: S608
    db.executescript(f"DELETE FROM {table} {last}")  # noqa: S608
    db.close()
    for use in (everything, judged):
        with pytest.raises(RunError, match="rows are missing"):
            use(run)


def test_an_answer_that_is_no_text_any_more_is_requested_again(whole: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    harm(run, "UPDATE calls SET value = CAST(x'ff7b' AS TEXT) WHERE rowid = 1")
    harm(run, "UPDATE calls SET value = x'00' WHERE rowid = 2")
    assert judged(tmp_path / "next", reuse=run) == judged(whole)
