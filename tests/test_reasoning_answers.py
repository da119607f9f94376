"""Finding the final answer: boxes, letters, numbers; and what must not be taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.bench.grading.answers import final_answer
from heedful.bench.grading.graders import choice_letter, choice_of_words
from heedful.bench.grading.passages import last_boxed

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
        (r"\boxed{236} adults and \boxed{342} children came.", "236, 342"),
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
    ("text", "answer"),
    [
        (r"So $x = 4$, and the area is \boxed{12}.", "12"),
        ("<think>\\boxed{3}</think>\nIt is \\boxed{4}.", "4"),
        ("\\boxed{3}\nThe final answer is: $4$", "4"),
        ("He has 3 * 4 = <<3*4=12>>12 apples.\n#### 12", "12"),
        ("<answer> 7 </answer>", "7"),
        ("The answer is 42, because 6 * 7 = 42.", "42"),
        ("The answer is: $x = 3$ and $x = 5$.", "x = 3, x = 5"),
        ("答案是 5。", "5"),
        ("There are 18 people.\n\nThe mode is **8**. This means that 18 out of 36 got it.", "8"),
        ("The perimeter is 2 * 1 foot + 1 foot = **3 feet**.\n\nAnything else?", "3 feet"),
        # the value on which the last sentence settles
        ("So she pays $1,200 in all.", "1,200"),
        ("The largest $n$ is 34.", "34"),
        ("There are 24 ways to arrange 4 books.", "24"),
        ("There are 4!/(2!*2!) = 24/4 = 6.", "6"),
        ("Tom is 12, so Bob is 15 years old.", "15"),
        ("Therefore 9 customers would buy a set that costs $2500.", "9"),
        ("Hence the roots are 2 and 3.", "2, 3"),
        ("The point is (2, -3).", "(2, -3)"),
        ("So \\[ 3 \\cdot 4 = 12. \\]\nDone.", "3 \\cdot 4 = 12"),
        ("I cannot tell.", None),
    ],
)
def test_the_answer_that_a_solution_ends_on(text: str, answer: str | None) -> None:
    assert final_answer(text) == answer


@given(
    st.integers(-999, 9999),
    st.sampled_from(
        ["The answer is {}.", "#### {}", r"\boxed{{{}}}", "So x = {}.", "It is **{}**."]
    ),
)
def test_a_number_is_found_however_it_is_stated(number: int, form: str) -> None:
    found = final_answer(f"First, there are 17 of them.\n\n{form.format(number)}")
    assert found is not None
    assert found.rpartition("=")[2].strip() == str(number)


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
        ("The answer is (B) No.", "B"),
        ("The symbol is (B) Sb.", "B"),
        ("A is wrong. Therefore, the correct option is **C**.", "C"),
        ("The answer is A. Wait, it is not; the answer is D.", "D"),
        ("B is the best choice.", "B"),
        ("正确答案是C。", "C"),
        ("故选：Ｂ", "B"),
        ("Reasons.\n\n(D)\n", "D"),
        ("<answer>D</answer>", "D"),
        ("A good question. I like iron.", None),
        ("The answer is A or C.", None),
        ("A and B", None),
    ],
)
def test_the_letter_that_a_solution_settles_on(text: str, letter: str | None) -> None:
    assert choice_letter(text, CHOICES) == letter


def test_numbered_choices_have_letters_too() -> None:
    numbered = {"1": "tin", "2": "oak"}
    assert [choice_letter(text, numbered) for text in ("The answer is 2.", "(B)")] == ["2", "2"]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (r"It takes \boxed{5 \text{ years}}.", "B"),
        ("The answer is iron.", "C"),
        ("Ores were smelted.\n\nSo the metal is iron.", "C"),
        ("Iron.", "C"),
        ("It may be iron or a cup.", None),
        ("Nothing is said about metals.", None),
    ],
)
def test_the_choice_whose_words_a_solution_gives(text: str, label: str | None) -> None:
    assert choice_of_words(text, CHOICES) == label
