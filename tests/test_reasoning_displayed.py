r"""Answers in displayed formulas, on lines of their own, as most solutions in LaTeX end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.bench.grading.answers import final_answer
from heedful.bench.grading.prose import on_one_line
from properties import of_a_hundred

FORMULAS = st.sampled_from(
    [
        "24",
        r"\frac{3}{4}",
        r"x = 12\pi",
        r"\text{even}",
        r"(-\infty, 1]",
        r"-\frac{11}{9}",
        "5x - 3",
        r"x = \pm\sqrt{3}",
        r"AC = 2\sqrt{5}",
    ]
)
MARKS = st.sampled_from([(r"\[", r"\]"), ("$$", "$$")])
LEADS = st.sampled_from(
    ["The answer is:", "Thus, the final answer is", "The answer is:\n", "Answer:"]
)
BREAKS = st.sampled_from(["\n", "\n   ", " ", "\n\n"])


@given(LEADS, FORMULAS, MARKS, BREAKS, st.sampled_from(["", ".", ","]))
@of_a_hundred(60)
def test_a_stated_display_is_the_answer(
    lead: str, formula: str, marks: tuple[str, str], gap: str, stop: str
) -> None:
    text = f"We get 5.\n\n{lead}\n{marks[0]}{gap}{formula}{stop}{gap}{marks[1]}"
    assert final_answer(text) == formula


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Hence\n$$\nx = \\frac{3}{4}.\n$$", r"x = \frac{3}{4}"),
        ("Hence the length is\n$$\nAC = 2\\sqrt{5}.\n$$\nDone.", r"AC = 2\sqrt{5}"),
        (r"So the area is \[" + "\n24\n" + r"\] as required.", "24"),
        ("The values of \\( k \\) are:\n\\[\n(-\\infty, 1]\n\\]", r"(-\infty, 1]"),
    ],
)
def test_a_display_that_only_concludes_is_the_answer(text: str, answer: str) -> None:
    assert final_answer(text) == answer


@given(st.text(alphabet="$\\[]x.\n a:", max_size=60))
def test_nothing_but_blanks_and_full_stops_moves(text: str) -> None:
    kept = sorted("".join(on_one_line(text).split()))
    assert kept == sorted("".join(text.split()))
