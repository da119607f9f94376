"""What stands beside an answer, and what is taken back, isn't the answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.bench.grading.answers import final_answer
from heedful.bench.grading.choices import choice_letter
from properties import of_a_hundred

NUMBERS = st.integers(11, 99)
AFTER_ITS_VALUE = st.sampled_from(
    [
        "The maximum is {a}, when x = {b}.",
        "So the minimum value is {a}, attained at x = {b}.",
        "Thus the maximum is {a} and it occurs when x={b}.",
        "The maximum value is {a}, which occurs when $x={b}$.",
        "So the maximum value is ${a}$ at $x={b}$.",
        "The minimum is {a}. Equality holds when a = b = {b}.",
        "Therefore the minimum is {a}. This occurs at x = {b}.",
        "最大值为{a}，此时x={b}。",
        "当x={b}时，取得最大值{a}。",
        "最小值为{a}，当且仅当a=b={b}时取等号。",
        "所以函数在x={b}处取得最大值{a}。",
        "So the profit is ${a}, which is {b}% of the cost.",
        "So the value is ${a}$.\n\nVerification: 2(4)+1 = {b}, which is correct.",
        "So the value is {a}. Substituting back, 2(4) + 1 = {b}. ✓",
        "故值为{a}。验证：2×4+1={b}。",
        "That means he has 100 - {b} = <<100-{b}={a}>>{a}",
        "<think>The answer is {b}.</think>\n{a}",
        "<think>\\boxed{{{b}}}?</think>\nSo we get {a}.",
        "$\\boxed{{{b}}}$\n\nWait, I made a mistake. The answer is {a}.",
        "The student's answer is {b}, which is wrong; it should be {a}.",
        "学生的答案是{b}，这是错误的，应为{a}。",
        "There are ${a}$ values of $x$ for which $f(x) = {b}$.",
        "#### Final Answer\n{a}",
        "#### Solving $x = {b}$\nSo $x = {b}$.\n\n### Conclusion\nThe values are:\n\\[\n{a}\n\\]",
        "#### {a}\n\nThis uses {b} steps",
        "I think it's {a}!",
        "{a} is the GCD of 480 and {b}.",
    ]
)


@given(AFTER_ITS_VALUE, NUMBERS, NUMBERS)
@of_a_hundred(100)
def test_a_value_counts_and_not_its_circumstances(text: str, value: int, other: int) -> None:
    assert final_answer(text.format(a=value, b=other)) == str(value)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("So she would have to work 40 hours to earn $600.", "40 hours"),
        ("Therefore, John walked 15 miles in 3 days.", "15 miles"),
        ("Therefore, Weng earned $10 for the 50 minutes of babysitting.", "10"),
        ("The total cost will be 5 × $7 = $35", "35"),
        ("He pays 3 * $20 = $60 for them.", "60"),
        ("He spent 20% of $50, which is $10.", "10"),
        ("一共12万元", "12万元"),
        ("The town has 1.4 million people.", "1.4 million"),
        ("距离为2根号3", "2√3"),
        ("日期是2024年3月4日。", "2024年3月4日"),
        ("所以函数的最大值为7，最小值为-1。", "7, -1"),
        ("每人分到3个苹果，还剩2个。", "3个苹果，还剩2个"),
        ("不是5，而是6。", "6"),
        ("The value is 10!.", "10!"),
        (r"\boxed{7} is right. Wait, let me check: 3 + 4 = 7.", "7"),
        ("The answer cannot be 7.", None),
        ("Is the answer 7?", None),
        ("That is a contradiction, so there is no solution.", "no solution"),
        ("Then 14 = 15, which is absurd.", None),
    ],
)
def test_purposes_scales_and_several_values(text: str, answer: str | None) -> None:
    assert final_answer(text) == answer


CHOICES = {"A": "a cup", "B": "5 years", "C": "iron", "D": "none of these"}


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("D\n\nExplanation: iron is C, a cup is A.", "D"),
        ("D. none of these\n\nBecause A, B and C don't fit.", "D"),
        ("Suppose A is correct. Contradiction. So C.", "C"),
        ("The answer would be B if time were unlimited, but it is C.", "C"),
        ("A.错误；B.错误；C.正确；D.错误。", "C"),
        ("A、B、D错误；C正确", "C"),
    ],
)
def test_a_choice_counts_and_not_its_explanation(text: str, letter: str) -> None:
    assert choice_letter(text, CHOICES) == letter
