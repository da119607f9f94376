"""CriticBench's selection: convincing, balanced, by certainty; certainty itself."""

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.bench.criticbench.items import (
    CERTAINTIES,
    RANKINGS,
    SampledResponse,
    Samples,
    convincing,
    exemplary,
    log_ratio,
    majority_share,
    select,
)
from heedful.core.problems import Problem

COUNTS = st.lists(st.integers(1, 100), min_size=1, max_size=8).map(lambda c: sorted(c)[::-1])


def responses(*answers: tuple[str | None, bool | None, int]) -> tuple[SampledResponse, ...]:
    return tuple(
        SampledResponse(
            sample_index=number, text=f"text {number}", answer=answer, correct=correct, steps=steps
        )
        for number, (answer, correct, steps) in enumerate(answers, 1)
    )


def samples(
    query: str, generator: str, found: tuple[SampledResponse, ...], **fields: Any
) -> Samples:
    kind = fields.pop("kind", "open")
    problem = Problem(id=query, question=f"Q {query}?", kind=kind, answers=("7",))
    item = Samples(
        query=query,
        task=fields.pop("task", "sums"),
        generator=generator,
        problem=problem,
        file="f",
        line=1,
        responses=found,
    )
    return item.weighed(log_ratio)


def tallies(query: str, generator: str, right: int, wrong: int, task: str = "sums") -> Samples:
    result = responses(*[("7", True, 1)] * right, *[("8", False, 1)] * wrong)
    return samples(query, generator, result, task=task)


def chosen(rows: list[Samples], ranking: str = "separating", queries: int | None = None) -> Any:
    return select(rows, certainty_name="log_ratio", ranking=ranking, queries=queries)


@given(COUNTS)
def test_certainty_grows_with_the_first_answer_and_falls_with_the_second(counts: list[int]) -> None:
    more = [counts[0] + 1, *counts[1:]]
    for formula in CERTAINTIES.values():
        assert formula(more) >= formula(counts)
        assert math.isfinite(formula(counts))
    assert log_ratio(counts) >= 0
    assert 0 < majority_share(counts) <= 1
    one, dissent = [sum(counts)], [sum(counts) - 1, 1]
    if dissent[0]:
        assert log_ratio(one) >= log_ratio(sorted(dissent, reverse=True))


def test_answers_are_counted_the_most_frequent_first_and_undecided_ones_too() -> None:
    result = responses(
        ("8", False, 1), ("7", True, 1), ("7", True, 1), (None, None, 1), ("x", None, 1)
    )
    item = samples("a", "g", result)
    assert [tuple(answer) for answer in item.answers()] == [
        ("7", 2, True),
        ("8", 1, False),
        ("x", 1, None),
    ]
    assert item.accuracy == pytest.approx(2 / 3)
    assert item.certainty == pytest.approx(math.log(2))
    assert samples("a", "g", responses((None, None, 1))).certainty is None


def test_the_convincing_wrong_answer_is_the_frequent_one_with_the_most_steps() -> None:
    result = responses(
        ("9", False, 9), ("8", False, 1), ("8", False, 3), ("8", False, 3), ("7", True, 1)
    )
    picked = convincing(samples("a", "g", result))
    assert picked is not None
    assert (picked.sample_index, picked.answer) == (3, "8")
    assert convincing(samples("a", "g", responses(("7", True, 1), ("x", None, 5)))) is None


def test_the_convincing_wrong_program_passes_the_most_tests() -> None:
    result = tuple(
        SampledResponse(
            sample_index=n, text="", answer=f"{n}", correct=False, steps=steps, tests_passed=passed
        )
        for n, (passed, steps) in enumerate([(2, 9), (5, 1), (5, 4), (0, 8)], 1)
    )
    picked = convincing(samples("a", "g", result, kind="code"))
    assert picked is not None
    assert picked.sample_index == 3


def test_the_correct_response_has_the_most_steps_too() -> None:
    result = responses(("7", True, 1), ("7", True, 4), ("7", True, 4), ("8", False, 9))
    picked = exemplary(samples("a", "g", result))
    assert picked is not None
    assert picked.sample_index == 2


def test_triplets_say_where_they_are_from() -> None:
    (right, wrong) = chosen([tallies("a", "g", 3, 1)]).triplets
    assert (right.id, right.correct, wrong.id, wrong.correct) == (
        "a@g/correct",
        True,
        "a@g/wrong",
        False,
    )
    assert right.provenance is not None
    assert wrong.provenance is not None
    assert (right.provenance.support, wrong.provenance.support) == (3, 1)
    assert (wrong.provenance.sample_index, wrong.provenance.n_samples) == (4, 4)
    assert wrong.provenance.accuracy == 0.75
    assert wrong.provenance.certainty == pytest.approx(math.log(3))
    assert wrong.provenance.certainty_by == "log_ratio"


def test_only_what_nobody_gets_wrong_is_too_easy() -> None:
    rows = [tallies("easy", "g", 4, 0), tallies("easy", "h", 2, 0), tallies("hard", "g", 0, 2)]
    rows += [tallies("none", "g", 0, 0)]
    rows += [samples("unclear", "g", responses(("7", None, 1), ("8", None, 2)))]
    result = chosen(rows)
    assert result.triplets == []  # "hard" has no correct response to balance its wrong one
    assert result.counts["sums"] == {
        "queries": 4,
        "unsampled": 1,
        "undecided": 1,
        "too_easy": 1,
        "outranked": 0,
        "selected": 1,
        "unbalanced": 1,
    }


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from(sorted(RANKINGS)),
    st.none() | st.integers(1, 5),
)
def test_the_benchmark_is_balanced_and_within_its_size(
    found: list[tuple[int, int, int, int]], ranking: str, queries: int | None
) -> None:
    rows = []
    for number, (a, b, c, d) in enumerate(found):
        rows += [tallies(f"q{number}", "g", a, b), tallies(f"q{number}", "h", c, d)]
        rows.append(tallies(f"q{number}", "g", b, a, task="other"))
    triplets = chosen(rows, ranking, queries).triplets
    classes = Counter((t.task, t.generator, t.correct) for t in triplets)
    for task, generator, correct in classes:
        assert classes[task, generator, correct] == classes[task, generator, not correct]
    assert len({t.id + t.task for t in triplets}) == len(triplets)
    asked = {(t.task, t.query) for t in triplets}
    assert queries is None or all(
        sum(task == one for one, _ in asked) <= queries for task in ("sums", "other")
    )
    wrong = {
        (row.task, row.query) for row in rows if any(d.correct is False for d in row.responses)
    }
    assert asked <= wrong


def test_rankings_keep_what_they_are_called_after() -> None:
    rows = []
    for query, strong, weak in (
        ("separates", (8, 1), (1, 8)),
        ("both know", (8, 1), (8, 1)),
        ("both waver", (5, 4), (5, 4)),
        ("inverted", (1, 8), (8, 1)),
    ):
        rows += [tallies(query, "strong", *strong), tallies(query, "weak", *weak)]
    rows += [tallies("more", "strong", 9, 1), tallies("more", "weak", 1, 3)]
    kept = {name: chosen(rows, name, 1).triplets[0].query for name in ("certain", "uncertain")}
    assert kept["uncertain"] == "both waver"
    assert kept["certain"] in ("separates", "both know", "inverted")
    order = list(dict.fromkeys(t.query for t in chosen(rows, "separating", 5).triplets))
    assert order[0] == "separates"
    assert order[-1] == "inverted"


def test_equally_strong_generators_separate_nothing() -> None:
    rows = [tallies("a", "g", 1, 1), tallies("b", "g", 1, 1)]
    rows += [tallies("a", "h", 1, 1), tallies("b", "h", 1, 1)]
    assert [t.query for t in chosen(rows, "separating", 1).triplets] == ["a"] * 4
