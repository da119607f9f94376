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
from heedful.bench.grading.equality import compare

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


CONCLUSIONS = [
    ("Thus x = 1/2.", "1/2"),
    ("So x = 3/4, as claimed.", "3/4"),
    ("The final answer is $\\frac{3}{4}$. I hope it is correct.", "\\frac{3}{4}"),
    ("Final Answer: The final answer is $(0,1)$. I hope it is correct.", "(0,1)"),
    ("Final Answer: The final answer is $34$. I hope it is correct.", "34"),
    ("The final answer is 34. I hope it is correct.", "34"),
    ("所以一共有13只", "13"),
    ("所以一共有13只。", "13"),
    ("答案是：42。", "42"),
    ("因此答案为$\\frac{1}{2}$。", "\\frac{1}{2}"),
    ("The largest $n$ is 34.", "34"),
    ("Final Answer: The largest $n$ is 34.", "34"),
    ("$\\boxed{3} \\quad \\text{and} \\quad \\boxed{7}$", "3, 7"),
    ("$$\\boxed{(2, 2)} \\quad \\text{and} \\quad \\boxed{(6, 2)}$$", "(2,2), (6,2)"),
    ("$$\\boxed{(3, 3)} \\text{ for part (a) and } \\boxed{(1, 1)}$$", "(3,3),(1,1)"),
    ("\\boxed{3} and \\boxed{7}", "3, 7"),
    ("$y_1 = \\boxed{2x} \\) and \\( y_2 = \\boxed{3x}$", "2x, 3x"),
    ("The solutions are 3 and 7.", "3, 7"),
    ("Therefore the answer is 3 or 7.", "3, 7"),
    ("Thus x = (1+sqrt(5))/2.", "\\frac{1+\\sqrt5}{2}"),
    ("She has 12 - 5 = 7 apples left.", "7"),
    ("The total cost is $45.", "45"),
    ("The total cost is \\$45.50.", "45.5"),
    ("He earns $12 an hour, so in 8 hours he earns $96.", "96"),
    ("So the answer is **42**.", "42"),
    ("**Answer:** 42", "42"),
    ("**Final Answer**: $\\boxed{42}$", "42"),
    ("### Answer\n42", "42"),
    ("Answer: 42 dollars", "42 dollars"),
    ("<answer>42</answer>", "42"),
    ("The answer is 1,234,567.", "1234567"),
    ("The answer is 3.14. Check: 3.14 > 3.", "3.14"),
    ("Hence, $x = 5$.", "5"),
    ("Hence $x=5$ and $y=6$.", "x=5,y=6"),
    ("Therefore, the value of $a + b$ is 12.", "12"),
    ("We get 5 + 3 = 8", "8"),
    ("#### 72", "72"),
    ("The probability is 3/8.", "3/8"),
    ("There are 24 ways to arrange 4 books.", "24"),
    ("The answer is $x < 3$.", "x<3"),
    ("The answer is (B).", "B"),
    ("So the answer is: 50%.", "50%"),
    ("It takes him 2.5 hours.", "2.5"),
    ("The answer is -7.", "-7"),
    ("The result is −7.", "-7"),
    ("x=-3", "-3"),
    ("The sum equals 10^5.", "100000"),
    ("The area is $\\frac{25\\pi}{4}$ square units.", "\\frac{25\\pi}{4}"),
    ("Thus, $\\angle ABC = 60^\\circ$.", "60"),
    ("The answer is \\(\\frac{2}{3}\\).", "\\frac23"),
    ("The answer is: $$\\frac{2}{3}$$", "\\frac23"),
    ("共有12种方法，所以答案是12种。", "12"),
    ("答：小明有5个苹果。", "5"),
    ("So $f(2)=4$ and the minimum is 4.", "4"),
    ("The value of $x$ that satisfies the equation is $x = 7$.", "7"),
    ("Therefore, there are 5 solutions.", "5"),
    ("The final answer is: $\\boxed{12}$", "12"),
    ("\\boxed{12} is the answer (see step 3).", "12"),
    ("As a decimal it is 0.75.", "0.75"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "meant"), CONCLUSIONS)
def test_the_answer_that_a_person_reads_in_a_solution(text: str, meant: str) -> None:
    pytest.importorskip("math_verify", reason="the extra 'reasoning' is not installed")
    answer = final_answer(text)
    assert answer is not None
    assert compare(meant, answer).equal is True
