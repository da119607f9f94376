"""Finding the final answer: boxes, letters, numbers; and what must not be taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.bench.grading.answers import (
    choice_letter,
    choice_of_words,
    final_answer,
    last_boxed,
)

CHOICES = {"A": "a cup", "B": "5 years", "C": "iron", "D": "none of these"}


@pytest.mark.parametrize(
    ("text", "box"),
    [
        (r"first \boxed{1}, in the end \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        (r"\boxed{\{x \mid x > \frac{1}{2}\}}", r"\{x \mid x > \frac{1}{2}\}"),
        (r"\boxed{\text{a \} b}}", r"\text{a \} b}"),
        (r"\boxed 7.", "7"),
        (r"\fbox{ 3 }", "3"),
        (r"so $\boxed{3}$ and $\boxed{7}$", "3, 7"),
        (r"\boxed{3}, \boxed{3}", "3"),
        (r"\boxed{3} was too small, so \boxed{7}", "7"),
        (r"\boxed{5} and then \boxed{}", "5"),
        (r"\boxed{5 and never closed", None),
        ("no box", None),
    ],
)
def test_the_last_box_with_balanced_braces(text: str, box: str | None) -> None:
    assert last_boxed(text) == box


@given(st.recursive(st.text("ab1+ "), lambda inner: st.builds("{{{}}}".format, inner)))
def test_a_box_gives_back_what_was_put_in(inner: str) -> None:
    assert last_boxed(f"so \\boxed{{{inner}}} is it") == (inner.strip() or None)


@given(st.text())
def test_no_text_breaks_the_extraction(text: str) -> None:
    letter = choice_letter(text, CHOICES)
    assert letter is None or letter in CHOICES
    answer = final_answer(text)
    assert answer is None or isinstance(answer, str)


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"),
        ("(b).", "B"),
        ("B. 5 years", "B"),
        (r"\text{(C)}", "C"),
        (r"Long thought. \boxed{\text{B}}", "B"),
        (r"\boxed{(C) A metal, iron}", "C"),
        (r"The answer is $\boxed{B}$.\n(C) is often believed.", "B"),
        (r"\boxed{5 years}. So the answer is (B).", "B"),
        ("Therefore, the answer is (D).", "D"),
        ("**Answer:** C", "C"),
        ("Answer: **C) iron**", "C"),
        ("The correct option is: B", "B"),
        ("The correct answer would be option A.", "A"),
        ("The best answer to this question is B because of time.", "B"),
        ("I would choose option (A).", "A"),
        ("Option C is the correct answer.", "C"),
        ("(A) is wrong. (B) is the correct choice.", "B"),
        ("Perhaps the answer is A. But no: the answer is D.", "D"),
        ("The answer is not A. Iron melts.\n\nC", "C"),
        ("所以答案是B。", "B"),
        ("答案：C", "C"),
        ("正确答案为（D）", "D"),
        ("综上所述，故选A。", "A"),
        ("因此应选择选项B", "B"),
        ("C选项是正确的", "C"),
        ("A is not correct, and I do not know.", None),
        ("The answer is A or C.", None),
        ("It could be (A) and (B).", None),
        ("a cup of tea", None),
        ("I think that it is warm.", None),
        (r"\boxed{5 years}", None),
        (r"(B) is the correct one for zinc. \boxed{20}", None),
        ("", None),
    ],
)
def test_the_letter_of_a_choice(text: str, letter: str | None) -> None:
    assert choice_letter(text, CHOICES) == letter


def test_numbered_choices_are_understood_by_letter() -> None:
    numbered = {"1": "red", "2": "green", "3": "blue"}
    assert choice_letter("The answer is (B).", numbered) == "2"
    assert choice_letter("The answer is 3.", numbered) == "3"


def test_a_choice_in_words_is_told_but_is_no_letter() -> None:
    assert choice_of_words(r"\boxed{5 \text{ years}}", CHOICES) == "B"
    assert choice_of_words("The answer is iron.", CHOICES) == "C"
    assert choice_of_words("The answer is irony.", CHOICES) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("So she pays $1,200 in all.", "1,200"),
        ("from 3 to 5.", "5"),
        ("It is -3.5 degrees", "-3.5"),
        ("about 62.5% of them", "62.5%"),
        ("a share of 3/4", "3/4"),
        ("in room B12", None),
        ("none", None),
    ],
)
def test_the_last_number(text: str, number: str | None) -> None:
    assert final_answer(text) == number


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("9 times 60\n#### 540", "540"),
        ("The answer is 42. That is all.", "42"),
        ("The final answer is $x = 3$, I think.", "x = 3"),
        ("We add 3 and 4.\n\nSo the value is \\(7\\).", "7"),
        ("He walks 12 miles, then 3 more, so 15 in all.", "15"),
        ("There is nothing to say.", None),
    ],
)
def test_the_final_answer_of_a_solution(text: str, answer: str | None) -> None:
    assert final_answer(text) == answer
