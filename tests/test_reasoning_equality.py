"""Equality of answers, and the pool of workers that compare them."""

import asyncio
import os
import signal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.bench.grading.equality import EqualityResult, compare, compare_quickly
from heedful.bench.grading.latex import tidy
from heedful.bench.grading.math_pool import MathPool
from heedful.bench.grading.quantities import numeral
from heedful.core.errors import UsageError

pytest.importorskip("math_verify", reason="the extra 'reasoning' is not installed")

EQUAL = [
    # numbers
    (r"1{,}000", "1000"),
    (r"1\frac{1}{2}", "3/2"),
    (r"\frac12", "0.5"),
    ("4.5e33", r"4.5 \times 10^{33}"),
    ("0.625", r"62.5\%"),
    ("3.1416", r"\pi"),
    (r"2000\sqrt{3}", "3464.1"),
    ("5 million", "5,000,000"),
    ("1000,99", "1000.99"),
    ("five", "5"),
    ("12", r"12^{\mathrm{th}}"),
    ("1 out of 6", r"\frac{1}{6}"),
    # units and names
    ("5", r"5 \text{ cm}"),
    (r"90^\circ", "90"),
    ("0.64N", "0.6400 N"),
    (r"5 \text{ m/sec}", r"5 \mathrm{~m}/\mathrm{s}"),
    (r"\$5", "5"),
    ("x=3", "3"),
    ("f(x) = 2x", "y=2x"),
    (r"\frac{NO}{BO}=\frac12", "0.5"),
    ("(A) Plane", "A"),
    # lists, sets, tuples, intervals, matrices
    ("1,2", "2,1"),
    (r"x=\pm 2", "2, -2"),
    (r"-3, \pm 2, 1", "-3,-2,1,2"),
    ("15,20", r"20 \text{ and } 15"),
    (r"\frac{1}{100},100", r"100 \text{ and } \frac{1}{100}"),
    (r"3,\frac12", r"3 \text{ and } \frac12"),
    (r"\left\{1, 2\right\}", "2,1"),
    ("(5,9),(18,2.5)", r"(18,\frac{5}{2}),(5,9)"),
    ("x=1, y=2", "(1,2)"),
    ("(p,q)=(3,2)", "(3, 2)"),
    ("(p,q)=(3,2)", "q=2, p=3"),
    ("p=5,q=2;p=7,q=2", "(5,2),(7,2)"),
    ("[0,1)", r"0 \le x < 1"),
    ("x > 3", r"(3, \infty)"),
    ("x<1 or x>3", r"(-\infty,1) \cup (3,\infty)"),
    (r"x \ne \pm 5", r"(-\infty,-5)\cup(-5,5)\cup(5,\infty)"),
    (r"(-\infty,\infty)", r"\mathbb{R}"),
    (r"\begin{pmatrix} 1/2 \\ 2 \end{pmatrix}", r"\begin{bmatrix} \frac{1}{2} \\ 2 \end{bmatrix}"),
    (r"\begin{pmatrix}-18\-49\96\end{pmatrix}", r"\begin{pmatrix}-18\\-49\\96\end{pmatrix}"),
    # expressions and equations
    ("2x(x^4-3x^2)", "2x^5-6x^3"),
    (r"\frac{\sqrt{3}}{3}", r"\frac{1}{\sqrt 3}"),
    (r"\sqrt{4\piG}", r"2\sqrt{\pi G}"),
    (r"\cosh(at)", r"\frac{1}{2}(\exp{a*t}+\exp{-a*t})"),
    ("2x+4y-3=0", r"y=-\frac{1}{2}x+\frac{3}{4}"),
    (r"c_1 e^{x}+c_2 e^{-x}", r"C_1 e^{-x}+C_2 e^{x}"),
    (r"n\pi \pm \pi/6, \text{ any integer } n", r"\pm\frac{\pi}{6}+k\pi"),
    ("3^{12}", "531441"),
    (r"\sum_{n=0}^{\infty} x^{2n}", r"\sum_{m=0}^{\infty} (x^2)^m"),
    # words
    ("no solution", r"\emptyset"),
    ("True", "Yes"),
    ("Yes. It is closed.", "Yes"),
    ("does not exist", "undefined"),
    (r"So the area is \boxed{7}.", "7"),
    ("17 \\text{ any text}", "17"),
]
DIFFERENT = [
    ("(p,q)=(3,2)", "(q,p)=(3,2)"),
    ("98730", "98721"),
    ("12", "1,2"),
    ("1/2018", "2016/2017^2"),
    (".5", "5"),
    ("B", "C"),
    ("0.3333", "0.34"),
    ("7", "7,-29/3"),
    ("(1,2)", "(2,1)"),
    ("[0,1]", "[0,1)"),
    (r"\{1,2\}", r"\{1,3\}"),
    ("3x", "3"),
    ("e^{2x}", "e^{2}x"),
    ("|x-10|", "10-x"),
    (r"\sqrt{x^2}", "x"),
    ("x=1, y=2", "x=2, y=1"),
    ("P(A)=1/2, P(B)=1/3", "P(A)=1/3, P(B)=1/2"),
    ("D = (0, 1)", "D = (0, 1.5)"),
    ("x>3", r"x \ge 3"),
    ("no solution", "0"),
    ("True", "No"),
    ("42_7", "12_7"),
    ("1", r"(-\infty, 1]"),
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{pmatrix}1&3\\2&4\end{pmatrix}"),
    ("x^2+C", "x^3+C"),
]
UNDECIDED = [
    ("5 cm^2", "5 cm"),
    ("5 apples", "5 pears"),
    ("36 km/h", "10 m/s"),
    ("x=2", "y=2"),
    ("AB=5", "CD=5"),
    ("101_2", "101"),
    ("2024-03-05", "2016"),
    ("32, 349", "32,349"),
    ("10^{10^{10}}", "3"),
    ("5 cents", r"\$0.05"),
    ("the alternating harmonic series", "1"),
    ("12", "two dozen eggs"),
    ("10", r"0.1x \times 100 = 10"),
    (r"(2t, t) \text{ for all } t", "(t, t/2)"),
    (r"\frac16", "0.1666 repeating"),
    ("x'+x=0", "x+x=0"),
    (r"3\Pi", r"3\pi"),
    ("7 = 11a+c", "11a+c"),
    ("0.5", "0.5%"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("gold", "answer"), EQUAL)
def test_equal_however_it_is_written(gold: str, answer: str) -> None:
    assert compare(gold, answer).equal is True


@pytest.mark.slow
@pytest.mark.parametrize(("gold", "answer"), DIFFERENT)
def test_different_values_differ(gold: str, answer: str) -> None:
    assert compare(gold, answer).equal is False
    assert not compare(answer, gold).equal


@pytest.mark.slow
@pytest.mark.parametrize(("gold", "answer"), UNDECIDED)
def test_what_is_ambiguous_is_undecided_and_says_why(gold: str, answer: str) -> None:
    result = compare(gold, answer)
    assert result.equal is not True
    assert result.reason or result.equal is False


@given(st.fractions(max_denominator=999), st.sampled_from([r"\frac{{{}}}{{{}}}", "{}/{}"]))
def test_numbers_are_read_exactly(value: Fraction, form: str) -> None:
    number = numeral(tidy(form.format(value.numerator, value.denominator)))
    assert number is not None
    assert number.value == value


@given(st.integers(1000, 999_999_999), st.integers(0, 9))
def test_a_digit_more_or_less_is_another_number(value: int, digit: int) -> None:
    assert compare_quickly(f"{value:,}", str(value)).equal is True  # type: ignore[union-attr]
    assert compare_quickly(str(value), f"{value}{digit}").equal is (value == value * 10 + digit)  # type: ignore[union-attr]


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=4), st.data())
def test_polynomials_are_equal_expanded_and_differ_when_a_coefficient_does(
    roots: list[int], data: st.DataObject
) -> None:
    coefficients = [1]
    for root in roots:
        shifted = [*coefficients, 0]
        coefficients = [a - root * b for a, b in zip(shifted, [0, *coefficients], strict=True)]
    product = "".join(f"(x-({root}))" for root in roots)
    terms = [f"{c}x^{{{len(roots) - place}}}" for place, c in enumerate(coefficients)]
    assert compare(product, "+".join(terms).replace("+-", "-")).equal is True
    place = data.draw(st.integers(0, len(roots)))
    terms[place] = f"{coefficients[place] + 1}x^{{{len(roots) - place}}}"
    assert compare(product, "+".join(terms).replace("+-", "-")).equal is False


HANGS = (r"\int_0^1 x^x \sin(e^{x^2}) dx", "1")


@pytest.mark.slow
def test_a_hung_comparison_costs_one_time_out_and_the_others_go_on() -> None:
    async def work() -> tuple[list[EqualityResult], int]:
        async with MathPool(2, timeout_s=1.0) as pool:
            await pool.compare("x+1", "1+x")  # a worker is there
            pairs = [HANGS, *((f"x+{k}", f"{k}+x") for k in range(6))]
            result = await asyncio.gather(*(pool.compare(*pair) for pair in pairs))
            again = await pool.compare("2(x+1)", "2x+2")
            return [*result, again], pool.killed

    result, killed = asyncio.run(work())
    assert result[0].equal is None
    assert "more than 1 s" in result[0].reason
    assert [comparison.equal for comparison in result[1:]] == [True] * 7
    assert killed == 2  # it was tried once more


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced() -> None:
    async def work() -> bool | None:
        async with MathPool(1) as pool:
            await pool.compare("x+1", "1+x")
            (worker,) = pool._idle  # noqa: SLF001 - there is no other way to harm it
            os.kill(worker.pid, signal.SIGKILL)
            return (await pool.compare("x+2", "2+x")).equal

    assert asyncio.run(work()) is True


def test_text_and_numbers_need_no_worker() -> None:
    async def work() -> tuple[bool | None, bool | None, int]:
        async with MathPool(1) as pool:
            same = await pool.compare("1,000", "1000")
            other = await pool.compare("98730", "98721")
            return same.equal, other.equal, len(pool._idle)  # noqa: SLF001

    assert asyncio.run(work()) == (True, False, 0)


@pytest.mark.parametrize(("workers", "timeout"), [(0, 5.0), (1, 0.0), (1, float("nan"))])
def test_numbers_that_make_no_sense_are_refused(workers: int, timeout: float) -> None:
    with pytest.raises(UsageError, match="give"):
        MathPool(workers, timeout_s=timeout)
