"""Equality of answers: what the field's graders get wrong must be right here."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.bench.grading.equality import compare, compare_quickly
from heedful.bench.grading.numerals import numeral
from heedful.bench.grading.tidying import tidy

pytest.importorskip("math_verify", reason="the extra 'reasoning' is not installed")

EQUAL = [
    # the traps of published graders
    ("1,2", "2,1"),
    ("x=3", "3"),
    ("3", "x = 3"),
    ("0.625", r"62.5\%"),
    (r"62.5\%", "0.625"),
    # numbers
    ("1,000", "1000"),
    (r"1{,}000", "1000"),
    (r"10\,000", "10000"),
    (r"1\frac{1}{2}", "3/2"),
    (r"\frac12", "0.5"),
    ("4.5e33", r"4.5 \times 10^{33}"),
    ("3.1416", r"\pi"),
    (r"2000\sqrt{3}", "3464.1"),
    (r"63^{\circ} 45^{\prime}", "63° 45'"),
    ("2516_8", "1358"),
    (r"\sqrt[3]{-8}", "-2"),
    ("6.626e-34", r"\frac{6.626}{10^{34}}"),
    # units
    ("5", r"5 \text{ cm}"),
    ("1 m", "100 cm"),
    ("120 minutes", "2 hours"),
    (r"\$5", "5 dollars"),
    (r"90^\circ", "90"),
    (r"\frac{25\pi}{144}", r"25\pi/144\mathrm{~m}/\mathrm{min}"),
    # lists, sets, tuples, intervals, matrices
    (r"x=\pm 2", "2, -2"),
    ("x=1 or x=2", "2, 1"),
    (r"-3, \pm 2, 1", "-3,-2,1,2"),
    ("15,20", r"20 \text{ and } 15"),
    (r"\left\{1, 2\right\}", "2,1"),
    ("(5,9),(18,2.5)", r"(18,\frac{5}{2}),(5,9)"),
    ("x=1, y=2", "(1,2)"),
    ("y=2, x=1", "x=1, y=2"),
    ("[0,1)", r"0 \le x < 1"),
    ("x > 3", r"(3, \infty)"),
    (r"(-\infty,1) \cup (2,3)", r"(2,3)\cup(-\infty,1)"),
    (r"\begin{pmatrix} 1/2 \\ 2 \end{pmatrix}", r"\begin{bmatrix} \frac{1}{2} \\ 2 \end{bmatrix}"),
    (r"\langle 1, 2 \rangle", r"\begin{pmatrix}1\\2\end{pmatrix}"),
    # expressions and equations
    ("2x(x^4-3x^2)", "2x^5-6x^3"),
    (r"\frac{\sqrt{3}}{3}", r"\frac{1}{\sqrt 3}"),
    ("y=2x+3", "2x-y+3=0"),
    ("y=2x+3", "f(x)=3+2x"),
    ("(x+1)^2 = x^2+2x+1", "x^2+2x+1"),
    (r"t = \frac{\ln 2}{0.1} = 10\ln 2", r"10 \ln 2"),
    (r"c_1 e^{x} + c_2 e^{-x}", "Ae^{-x}+Be^{x}"),
    (r"y^2=-x+k", "y^2+x=C"),
    (r"\frac{x}{2}-\frac{\sin 2x}{4}+C", r"\frac{1}{2}(x-\sin x\cos x)+C"),
    (r"\sum_{k=3}^{20}(-1)^{k}\ln k", r"\sum_{n=1}^{18}(-1)^n\ln(n+2)"),
    ("i^7", "-i"),
    (r"e^{2 \pi i / 3}", r"-\frac{1}{2}+\frac{\sqrt{3}}{2}i"),
    (r"\Delta E = \frac{m v_0^2}{2}", r"\frac{1}{2} m v_{0}^{2}"),
    ("2^{1000}", "4^{500}"),
    (r"10^{10^{10}}", r"10^{10^{10}}"),
    # words
    (r"\text{East}", "east."),
    ("no solution", r"\emptyset"),
    ("No. It is not closed.", "No"),
    (r"\text{(C)}", "C"),
    ("5 square feet per second", "5"),
]

UNEQUAL = [
    # the traps of published graders
    ("1", "100"),
    ("12", "1,2"),
    ("7", "7,-29/3"),
    ("7,-29/3", "7"),
    ("98730", "98721"),
    ("1/2018", "2016/2017^2"),
    # near misses
    ("0.33", r"\frac{1}{3}"),
    (r"6.626\times 10^{-34}", "0"),
    ("6.626e-34", "6.63e-34"),
    ("5 m", "5 km"),
    ("(1,2)", "(2,1)"),
    ("(1,2)", "[1,2]"),
    ("x > 3", r"x \ge 3"),
    ("x=5", "y=-5"),
    ("x^2-12=0", "0"),
    (r"\sqrt{x^2}", "x"),
    ("mc^2", "cm^2"),
    ("2x + C", "2x"),
    ("-3", "3"),
    ("5!", "5"),
    ("7.5e7", "7.49e7"),
    (r"\pi", "3.14"),
    ("2^{2016}", "2016^2"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}2\\1\end{pmatrix}"),
    ("0 and (8,-10,2)", "0"),
    ("even", "odd"),
    ("does not exist", "2"),
    ("no solution", "infinitely many solutions"),
    ("Yes", "No"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("gold", "answer"), EQUAL)
def test_written_otherwise_and_equal(gold: str, answer: str) -> None:
    assert compare(gold, answer).equal is True
    assert compare(answer, gold).equal is True


@pytest.mark.parametrize(("gold", "answer"), UNEQUAL)
def test_close_and_not_equal(gold: str, answer: str) -> None:
    assert compare(gold, answer).equal is False
    assert compare(answer, gold).equal is False


@pytest.mark.parametrize(
    ("gold", "answer", "reason"),
    [
        (r"10^{10^{10}}", r"10^{10^{11}}", "too large"),
        ("(10^{10})!", "7", "too large"),
        ("The mean grows without bound as n grows.", "It increases for large samples.", "in words"),
        (r"\frac{1}{", "1", "could not be read"),
        ("2516_8", "2516", "names its base"),
        ("x^2+1", "X^2+1", "capitals"),
        ("20 apples", "20 pears", "units differ"),
        (r"\cos(n\pi)", "(-1)^n", ""),
    ],
)
def test_what_cannot_be_compared_is_not_decided(gold: str, answer: str, reason: str) -> None:
    result = compare(gold, answer)
    assert result.equal is None
    assert reason in result.reason


def test_a_sentence_that_ends_on_a_formula_has_its_value() -> None:
    assert compare(r"The area is $\sqrt{36+25} = \sqrt{61}$.", r"\sqrt{61}").equal is True
    assert compare(r"The area is $\sqrt{36+25} = \sqrt{61}$.", "61").equal is None


@given(st.fractions(), st.fractions())
def test_fractions_are_compared_exactly(left: Fraction, right: Fraction) -> None:
    result = compare_quickly(f"{left.numerator}/{left.denominator}", str(right))
    assert result is not None
    assert result.equal is (left == right)


@given(st.integers(-(10**15), 10**15))
def test_a_whole_number_has_one_value_however_it_is_written(value: int) -> None:
    for written in (
        f"{value:,}",
        f"{value:,}".replace(",", "{,}"),
        f"${value}.0$",
        f"\\boxed{{{value}}}",
    ):
        result = compare_quickly(str(value), written)
        assert result is not None, written
        assert result.equal is True, written


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, places=5, min_value=-(10**9), max_value=10**9
    )
)
def test_a_decimal_is_read_exactly(value: object) -> None:
    read = numeral(str(value))
    assert read is not None
    assert read.value == Fraction(str(value))


@given(st.text(), st.text())
def test_no_text_breaks_the_quick_comparison(gold: str, answer: str) -> None:
    result = compare_quickly(gold, answer)
    assert result is None or result.equal in {True, False, None}
    assert tidy(tidy(gold)) is not None
