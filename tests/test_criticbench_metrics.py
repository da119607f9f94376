"""CriticBench's numbers, by hand; the judgment's parser; checking before a vote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.bench.criticbench.items import Provenance, Triplet
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
