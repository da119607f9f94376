"""Filters, by the index and by looking, and marks in texts: what holds for all of them."""

import re
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from properties import of_a_hundred

pytest.importorskip("starlette", reason="the extra 'view' is not installed")
pytest.importorskip("httpx2", reason="Starlette's client needs httpx2")

from pathlib import Path

from starlette.datastructures import QueryParams

from heedful.core.nouns import Constraint, Critique, Judgment, Message, Sample, Status
from heedful.engine.store import Input, Store
from heedful.pages.passages import marked, quotes, spans
from heedful.pages.viewer import building, index, runs
from heedful.pages.viewer.building import STATUSES, Builder, Facts, facts
from heedful.pages.viewer.index import ORDERS, Filter
from heedful.pages.viewer.runs import Recent, Run

LETTERS = "aAbB 中国é\n\"%_\\'x*"
TYPES = ("format", "content", "a b", '"')
JUDGES = ("rules", "panel(a, b)", "模型")
TEXT = st.text(LETTERS, max_size=12)

JUDGMENTS = st.builds(
    Judgment,
    status=st.sampled_from(list(Status)),
    explanation=TEXT,
    judge=st.sampled_from(JUDGES),
    confidence=st.none() | st.sampled_from((0.0, 0.5, 2 / 3, 1.0)),
    votes=st.none() | st.just(({"judge": "a", "status": "met"}, {"judge": "b", "status": "unmet"})),
)

FILTERS = st.builds(
    Filter,
    text=(st.text(LETTERS, max_size=4) | st.text("ab 中", max_size=7)).map(str.strip),
    status=st.sampled_from(("", *STATUSES, "undecided", "problem")),
    type=st.sampled_from(("", *TYPES)),
    judge=st.sampled_from(("", *JUDGES)),
    disagreement=st.sampled_from(("", "votes", "label")),
    low=st.none() | st.sampled_from((0.0, 0.6, 1.0)),
    high=st.none() | st.sampled_from((0.0, 0.6, 1.0)),
    tags=st.sampled_from(((), ("task:一",), ("task:two", "n:3"))),
    sort=st.sampled_from(("", *ORDERS.values(), *(f"-{name}" for name in ORDERS))).map(
        lambda sort: sort.replace("--", "")
    ),
    show=st.sampled_from(((), ("prompt",), ("verdicts", "cost"))),
    group=st.sampled_from(("", "repeats")),
)


@st.composite
def rows(draw: st.DrawFn) -> tuple[Sample, Critique | None]:
    count = draw(st.integers(0, 3))
    labels = draw(st.none() | st.lists(st.none() | st.booleans(), min_size=count, max_size=count))
    sample = Sample(
        id="set below",
        conversation=(Message(role="user", content=draw(TEXT)),),
        checklist=tuple(
            Constraint(text=draw(TEXT), type=draw(st.none() | st.sampled_from(TYPES)))
            for _ in range(count)
        ),
        response=draw(st.none() | TEXT),
        tags={"task": draw(st.sampled_from(("一", "two"))), "n": draw(st.integers(3, 4))},
        labels=None if labels is None else tuple(labels),
    )
    judgments = draw(st.lists(JUDGMENTS, min_size=count, max_size=count))
    return sample, draw(st.none() | st.just(Critique(judgments=tuple(judgments))))


def filled(directory: Path, made: list[tuple[Sample, Critique | None]]) -> None:
    with Store(directory) as store:
        store.configure({"judge": "made up"})
        for at, (sample, critique) in enumerate(made):
            named = sample.model_copy(update={"id": f"row {at}"})
            text = named.model_dump_json(exclude_defaults=True)
            store.add_inputs([Input(at, at + 1, named.id, text, None)])
            if critique is None:
                store.add_output(at, None, "the call failed")
            else:
                store.add_output(at, critique.model_dump_json(exclude_defaults=True))


def value(row: Facts, column: str) -> Any:
    """What a row is sorted by, said anew."""
    if column in ("met", "unmet"):
        return sum(each.status == column for each in row.judgments)
    if column == "undecided":
        return sum(each.status not in ("met", "unmet") for each in row.judgments)
    if column == "confidence":
        return min((e.confidence for e in row.judgments if e.confidence is not None), default=None)
    if column == "judge":
        return " ".join(sorted({each.judge for each in row.judgments}))
    if column == "tags":
        return " ".join(f"{name}:{tag}" for name, tag in row.tags.items()).casefold()
    return getattr(row, column)


def in_order(rows: list[int], known: list[Facts], sort: str) -> list[int]:
    """Sort stably; rows without a value come last."""
    column = sort.removeprefix("-")
    there = [at for at in rows if value(known[at], column) is not None]
    there.sort(key=lambda at: value(known[at], column), reverse=sort.startswith("-"))
    return there + [at for at in rows if value(known[at], column) is None]


def small_blocks() -> None:
    """Index the text of every two rows, so that a few rows have both kinds."""
    for module in (building, index, runs):
        module.BATCH = 2  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def blocks_as_before() -> Iterator[None]:
    yield
    for module in (building, index, runs):
        module.BATCH = 2048  # type: ignore[attr-defined]


@pytest.mark.slow
@of_a_hundred(60, suppress_health_check=[HealthCheck.too_slow])
@given(made=st.lists(rows(), max_size=6), wanted=st.lists(FILTERS, max_size=5), data=st.data())
def test_an_index_finds_what_looking_at_each_row_finds(
    tmp_path_factory: pytest.TempPathFactory, made: Any, wanted: Any, data: st.DataObject
) -> None:
    small_blocks()
    folder = tmp_path_factory.mktemp("indexed")
    filled(folder / "run", made)
    with Run(folder / "run", folder, Recent(8)) as run:
        known = [facts(entry, judged=True) for entry in run.saved.entries()]
        for covered in (0, data.draw(st.integers(0, len(made))), len(made)):
            with closing(Builder(run.directory, run.index_path)) as builder:
                done = run.index.covered().columns
                builder.update(None if covered == len(made) else max(0, covered - done))
            run.__dict__.pop("covered", None)
            assert run.covered.columns == covered
            assert covered < len(made) or not run.missing
            for item in wanted:
                expected = [at for at, found in enumerate(known) if item.matches(found)]
                if item.sort:  # what isn't indexed comes last
                    first = [at for at in expected if at < covered]
                    left = [at for at in expected if at >= covered]
                    expected = in_order(first, known, item.sort) + left
                selection = run.select(item)
                assert [selection.place(at) for at in expected] == list(range(len(expected)))
                assert list(selection.positions) == expected
                assert selection.exact


def test_a_long_text_is_found_a_part_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks()
    texts = ["abcde", "abcde bcdf", "ABCDEF", "abcd", "x abcde", "abcd e"]
    critique: Critique | None = Critique()
    made = [
        (Sample(id="set above", conversation=(Message(role="user", content=text),)), critique)
        for text in texts
    ]
    filled(tmp_path / "run", made)
    monkeypatch.setattr(runs, "LOOKING_SECONDS", -1.0)
    with Run(tmp_path / "run", tmp_path, Recent(8)) as run:
        with closing(Builder(run.directory, run.index_path)) as builder:
            builder.update()
        selections = [run.select(Filter(text="abcde")) for _ in texts]
    # A signature names at least the rows with the text: each is looked at, one in each step.
    assert [list(each.positions) for each in selections][:4] == [
        [0],
        [0, 1],
        [0, 1, 2],
        [0, 1, 2, 4],
    ]
    assert [each.looked for each in selections][:4] == [1, 2, 3, 6]
    assert [each.exact for each in selections][:4] == [False, False, False, True]


@given(FILTERS)
def test_a_filter_is_the_same_after_it_was_an_address(wanted: Filter) -> None:
    assert Filter.of(QueryParams(wanted.query())) == wanted
    assert bool(wanted.query()) == (wanted != Filter())
    assert bool(wanted) == (wanted.bare != Filter())


@given(st.text(max_size=60), st.lists(st.tuples(st.integers(1, 9), st.text(max_size=4))))
def test_marks_change_no_text_and_do_not_cross(text: str, parts: list[tuple[int, str]]) -> None:
    result = spans(text, parts)
    assert all(one.end <= other.start for one, other in pairwise(result))
    assert all((span.number, text[span.start : span.end]) in parts for span in result)
    bare, shown = marked(text, [], None), marked(text, result, None)
    assert re.sub("</?mark[^>]*>", "", shown) == bare
    assert "<mark" not in unescape(bare) or "<mark" in text


@pytest.mark.parametrize(
    ("explanation", "expected"),
    [
        ("It says “no way” and 'so'.", ["no way"]),
        ('It says "no way", "ok", `code here`.', ["no way", "code here"]),
        ("回答写道「大海很远啊」和『一二三四』。", ["大海很远啊", "一二三四"]),
        ("It's the writer's.", []),
    ],
)
def test_quotations_are_found_in_any_script(explanation: str, expected: list[str]) -> None:
    assert quotes(explanation) == expected
