"""The last words of solutions, as models write them: what answers, and what leaves it open."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.bench.grading.answers import final_answer
from heedful.bench.grading.boxes import boxed_answer
from heedful.bench.grading.chains import settled
from heedful.bench.grading.equality import compare
from properties import of_a_hundred

pytest.importorskip("math_verify", reason="the extra 'reasoning' is not installed")

LINES = (Path(__file__).parent / "solution_ends.txt").read_text(encoding="utf-8").splitlines()
ENDS = [tuple(line.split(" | ", 1)) for line in LINES if not line.startswith("#")]


def test_each_end_gives_its_answer_or_none() -> None:
    wrong: list[tuple[str, str | None]] = []
    for answer, text in ENDS:
        found = final_answer(text.replace("⏎", "\n"))
        if answer == "?":
            if found is not None:
                wrong.append((text, found))
        elif found is None or compare(answer, found).equal is not True:
            wrong.append((text, found))
    assert not wrong
    assert len(ENDS) > 300


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"$\boxed{12}$ hours and $\boxed{30}$ minutes", "12 hours and 30 minutes"),
        (r"$\boxed{5}$ million", "5 million"),
        (r"$x = 2\boxed{\sqrt{3}}$", r"2\sqrt{3}"),
        (r"$[\boxed{1}, \boxed{4})$", "[1, 4)"),
        (r"Tom has \boxed{5} and Jerry has \boxed{7}.", "5, 7"),
        (r"(a) \boxed{3}. Since it halves, (b) \boxed{7}", "3, 7"),
        (r"The area is \boxed{3}, so the side is \boxed{7}.", "7"),
        (r"The area is \boxed{3}. The side is \boxed{7}.", "7"),
        (r"$x^2 + \boxed{3}x + \boxed{4}$", None),
        (r"$2\boxed{3}$", None),
        ("no box", None),
    ],
)
def test_what_belongs_to_a_box(text: str, answer: str | None) -> None:
    assert boxed_answer(text) == answer


@pytest.mark.parametrize(
    ("formula", "side"),
    [
        (r"\frac{12}{4} = 3", "3"),
        (r"ab = 2b = 6", "6"),
        (r"x = 3", "x = 3"),
        (r"x + y = 3", "x + y = 3"),
        (r"x = 1, y = 2", "x = 1, y = 2"),
        (r"a \le b = 3", r"a \le b = 3"),
        (r"\begin{align*} x &= 1 + 2 \\ &= 3. \end{align*}", "3"),
        (r"32 \cdot 7!/8 = 4 \cdot 7! = 20160", "20160"),
    ],
)
def test_a_chain_ends_on_its_last_side(formula: str, side: str) -> None:
    assert settled(formula) == side


NAMES = st.sampled_from(["Tom", "Amy", "the red box", "小明"])
NUMBERS = st.integers(0, 999)


@of_a_hundred(30)
@given(NUMBERS, NUMBERS, NUMBERS)
def test_what_is_compared_or_rejected_is_not_the_answer(value: int, other: int, third: int) -> None:
    texts = {
        f"So she has {value} apples, which is {other} more than {third}.",
        f"The remainder is {value} when {third} is divided by {other}.",
        f"Each of them gets {value} of the {other} apples.",
        f"x = {value} or x = {other} (rejected, since it is too large).",
        f"一共需要{value}天，比原计划提前{other}天。",
        f"x={value}或x={other}（舍去）",
        f"Bob, who is {other} years older, is {value}.",
        f"It is {value} because {other} and {third} are too large.",
    }
    for text in texts:
        found = final_answer(text)
        assert found is None or compare(str(value), found).equal is not False, (text, found)


@of_a_hundred(30)
@given(st.text("0123456789 .,=<>$\\{}()[]abx", max_size=60), st.sampled_from(["", r"\boxed{5}"]))
def test_no_text_is_too_odd(text: str, box: str) -> None:
    for whole in (text + box, box + text, f"${text}{box}$", f"${box}{text}$ and {box}"):
        found = final_answer(whole)
        assert found is None or isinstance(found, str)
    assert isinstance(settled(text), str)
