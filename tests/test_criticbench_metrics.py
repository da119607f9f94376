"""CriticBench's selection and numbers, by hand; the judgment's parser; checking before a vote."""

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.bench.criticbench.items import (
    CERTAINTIES,
    RANKINGS,
    Provenance,
    SampledResponse,
    Samples,
    Triplet,
    convincing,
    exemplary,
    log_ratio,
    majority_share,
    select,
)
from heedful.bench.criticbench.run import (
    Critiqued,
    CritiqueInput,
    SelfCheck,
    Verdict,
    Vote,
    accuracies,
    judgment,
    render,
    self_consistency,
    vote,
)
from heedful.core.problems import Problem
from heedful.judges.prompts.fence import unfence

STATUS = {"+": "correct", "-": "incorrect", "?": "unparsed", "!": "failed"}


def verdicts(marks: str) -> tuple[Verdict, ...]:
    return tuple(Verdict.model_validate({"status": STATUS[mark]}) for mark in marks)


def row(key: str, marks: str, certainty: float = 1.0, **fields: str) -> Critiqued:
    """What a critic said of a response, which is correct unless its id says ``wrong``."""
    origin = Provenance(
        file="f", line=1, sample_index=1, n_samples=4, support=1, certainty=certainty
    )
    triplet = Triplet(
        id=key,
        question="Q",
        response="R",
        correct=not key.endswith("wrong"),
        query=key.partition("@")[0],
        task=fields.get("task", "sums"),
        generator=fields.get("generator", "g"),
        provenance=origin,
    )
    judged = CritiqueInput(critic=fields.get("critic", "c"), triplet=triplet)
    return Critiqued(judged=judged, verdicts=verdicts(marks))


RECORDED = [
    row("a@g/correct", "++-", 0.0),
    row("a@g/wrong", "-+-", 0.0),
    row("b@h/correct", "+?+", 2.0, generator="h", task="other"),
    row("b@h/wrong", "?!-", 2.0, generator="h", task="other"),
]


def test_a_recorded_run_by_hand() -> None:
    item = accuracies(RECORDED, "strict")["c"]
    assert item["triplets"] == 4
    # Right: 2 of 3, 2 of 3, 2 of 2, 1 of 1.
    assert (item["accuracy"]["numerator"], item["accuracy"]["denominator"]) == (7, 12)
    assert item["accuracy"]["coverage"] == pytest.approx(9 / 12)
    assert item["accuracy"]["bounds"] == [7 / 12, 10 / 12]
    # By repetition: + - + ?, + + ? !, - - + -.
    assert item["runs"] == [1.0, 0.5, 0.75]
    assert item["mean"] == 0.75
    assert item["spread"] == 0.25
    task, generator = item["by_task"]["sums"], item["by_generator"]["g"]
    groups = (item["on_correct"], item["on_wrong"], task, generator)
    counted = [(m["numerator"], m["denominator"], m["undecided"]) for m in groups]
    assert counted == [(4, 6, 1), (3, 6, 2), (4, 6, 0), (4, 6, 0)]
    (band,) = item["by_certainty"]
    assert (band["low"], band["high"], band["bounds"]) == (0.0, 2.0, [7 / 12, 10 / 12])
    assert (item["unparsed"], item["failed"]) == (2, 1)


def test_faithful_takes_a_missing_judgment_for_correct_and_a_failed_call_for_nothing() -> None:
    item = accuracies(RECORDED, "faithful")["c"]
    # The two unparsed count as "correct": right of a correct response, wrong of a wrong one.
    assert (item["accuracy"]["numerator"], item["accuracy"]["denominator"]) == (8, 12)
    assert item["accuracy"]["undecided"] == 1
    assert item["accuracy"]["coverage"] == pytest.approx(11 / 12)
    assert (item["unparsed"], item["failed"]) == (2, 1)


def test_bands_hold_every_triplet_once() -> None:
    levels = (0.0, 0.0, 0.0, 0.3, 1.0, 1.0, 4.0)
    rows = [row(f"q{n}", "+", level) for n, level in enumerate(levels)]
    bands = accuracies(rows, "strict")["c"]["by_certainty"]
    assert sum(band["denominator"] for band in bands) == len(rows)
    assert (bands[0]["low"], bands[-1]["high"]) == (0.0, 4.0)
    assert all(band["denominator"] for band in bands)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Fine.\nJudgment: correct", "correct"),
        ("**Judgment: Incorrect.**", "incorrect"),
        ("So, judgement： `incorrect`", "incorrect"),
        ("Judgment: correct\nNo, wait.\nJudgment: incorrect", "incorrect"),
        ("<think>Judgment: correct?</think>\nNo.\nJudgment: incorrect", "incorrect"),
        ("I wonder.\n</think>\nJudgment: incorrect", "incorrect"),
        ("Judgment: incorrect.\nI repeat:\nJudgment: incorrect", "incorrect"),
        ("> Judgment: correct\nsays the response.\nJudgment: not correct", "incorrect"),
        (r"Judgment: \boxed{\text{correct}}", "correct"),
        ("Judgment: correct\n\nExample 6\nQuestion: …\nJudgment: incorrect", "correct"),
        ("### Judgment: **right**", "correct"),
        ("Judgment: The response is wrong.", "incorrect"),
        ("Judgment: correct or incorrect", None),
        ("My judgment is that it is correct.", None),
        ("Judgment: partially", None),
        ("correct", None),
        ("", None),
    ],
)
def test_the_one_judgment_of_a_critique_is_read(text: str, found: str | None) -> None:
    assert judgment(text) == found


@given(st.text(max_size=200), st.sampled_from(["correct", "incorrect"]))
def test_a_judgment_on_its_own_last_line_is_read(before: str, verdict: str) -> None:
    assert judgment(f"{before.replace('Example', '')}\nJudgment: {verdict}") == verdict


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_prompt_holds_both_texts_behind_fences(question: str, response: str) -> None:
    (message,) = render(question, response)
    fenced = [text for _, text in unfence(message.content)]
    assert fenced == [question, response]


def check(query: str, answers: str, marks: str, certainty: float | None = 0.5) -> Critiqued:
    """Answers by letters: r is right, u undecided, - none, and others are wrong."""
    graded = {"r": True, "u": None, "-": None}
    votes = tuple(
        Vote(sample_index=n, answer=None if a == "-" else a, correct=graded.get(a, False))
        for n, a in enumerate(answers, 1)
    )
    asked = SelfCheck(query=query, task="sums", generator="g", certainty=certainty, votes=votes)
    return Critiqued(judged=CritiqueInput(critic="c", check=asked), verdicts=verdicts(marks))


def test_self_check_by_hand() -> None:
    rows = [
        check("fixed", "wwrr-", "--++?"),  # the first drawn of equals wins; both w go
        check("broken", "rrw", "--+"),
        check("kept", "rrw", "+?-"),
        check("none left", "rww", "---"),  # so all vote
        check("certain", "wwr", "", certainty=3.0),
        check("undecided", "uur", "+++"),
        check("empty", "--", "", certainty=None),
    ]
    (item,) = self_consistency(rows, [1.0])
    assert (item["critic"], item["generator"], item["task"]) == ("c", "g", "sums")
    assert (item["queries"], item["undecided"], item["checked"]) == (7, 2, 5)
    assert item["critiques"] == 5 + 3 + 3 + 3 + 3
    # Without: w r r w w; with: r w r w w.
    assert (item["plain"]["numerator"], item["plain"]["denominator"]) == (2, 7)
    assert (item["checking"]["numerator"], item["checking"]["denominator"]) == (2, 7)
    assert item["plain"]["coverage"] == pytest.approx(5 / 7)
    assert (item["fixed"], item["broken"], item["difference"]) == (1, 1, 0.0)
    assert item["error_reduction"] == 0.0
    (nobody,) = self_consistency(rows, [0.1])
    assert (nobody["checked"], nobody["critiques"], nobody["difference"]) == (0, 0, 0.0)


VOTES = st.lists(
    st.tuples(st.sampled_from("rwxy-"), st.sampled_from("+-?!")), min_size=1, max_size=8
)


@given(st.lists(VOTES, min_size=1, max_size=6))
def test_the_change_is_what_was_fixed_less_what_was_broken(
    found: list[list[tuple[str, str]]],
) -> None:
    rows = [
        check(f"q{n}", "".join(a for a, _ in votes), "".join(m for _, m in votes))
        for n, votes in enumerate(found)
    ]
    (item,) = self_consistency(rows, [1.0])
    if item["difference"] is None:
        assert item["undecided"] == len(rows)
        return
    size = item["plain"]["denominator"] - item["undecided"]
    assert item["difference"] * size == pytest.approx(item["fixed"] - item["broken"])
    change = item["checking"]["numerator"] - item["plain"]["numerator"]
    assert change == item["fixed"] - item["broken"]


@given(st.lists(st.sampled_from("rwxy-"), max_size=9))
def test_the_vote_goes_to_an_answer_that_no_other_outnumbers(answers: list[str]) -> None:
    votes = [
        Vote(sample_index=n, answer=None if a == "-" else a, correct=a == "r")
        for n, a in enumerate(answers, 1)
    ]
    winner = vote(votes)
    given_answers = [a for a in answers if a != "-"]
    if winner is None:
        assert not given_answers
    else:
        assert given_answers.count(str(winner.answer)) == max(map(given_answers.count, "rwxy"))


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
