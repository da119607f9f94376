"""Answers that are not equal must never be called equal, and equal ones stay equal."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heedful.bench.grading.answers import final_answer
from heedful.bench.grading.equality import compare
from properties import of_a_hundred

if TYPE_CHECKING:
    from collections.abc import Callable

pytest.importorskip("math_verify", reason="the extra 'reasoning' is not installed")

NEVER_EQUAL = [
    # braces
    ("e^{2x}", "e^{2}x"),
    ("e^{2x}", "e^2x"),
    (r"\sqrt{2x}", r"\sqrt{2}x"),
    (r"\sqrt[3]{2x}", r"\sqrt[3]{2}x"),
    (r"\frac{1}{23}", r"\frac{12}{3}"),
    (r"\frac{a}{bc}", r"\frac{ab}{c}"),
    (r"\sqrt{(4)(9)}", r"\sqrt{13}"),
    ("(4)(9)", "13"),
    (r"\frac{1}{2}x", r"\frac{1}{2x}"),
    (r"\binom{12}{3}", r"\binom{1}{23}"),
    ("x^{a+b}", "x^a+b"),
    ("{2^3}^2", "2^{3^2}"),
    # letters that are no arbitrary constants
    ("B", "C"),
    (r"\text{(B)}", r"\text{(C)}"),
    ("n^2", "m^2"),
    ("n+1", "k+1"),
    ("n+1", "n+2"),
    ("a+b+c", "a+b+c+1"),
    ("mgh", "ngh"),
    ("e^{kt}", "e^{ct}"),
    (r"\frac{1}{2}CV^2", r"\frac{1}{2}kV^2"),
    ("n=3", "k=3"),
    ("x<3", "y<3"),
    ("f(x)=x^2", "g(x)=x^2"),
    # decimal points, commas, spaces
    (".5", "5"),
    (r"\boxed{.5}", "5"),
    ("(.5, 1)", "(5, 1)"),
    ("32349", "32, 349"),
    ("12, 345, 678", "12345678"),
    ("32,349", "32, 349"),
    ("32,349", "32 , 349"),
    (",5", "5"),
    ("31/2", "3 1/2"),
    (r"\frac{31}{2}", r"3\frac{1}{2}"),
    ("12", "1 2"),
    ("1.2.3", "123"),
    # pieces and jumps
    ("|x-10|", "10-x"),
    ("|x-100000|", "100000-x"),
    ("|x-y-50|", "x-y-50"),
    (r"\sqrt{(x-5)^2}", "5-x"),
    (r"\sqrt[4]{(x+50)^4}", "x+50"),
    (r"\min(n,4)", "n"),
    (r"\max(x,1000)", "1000"),
    (r"\lfloor x/100 \rfloor", "0"),
    (r"\lceil x \rceil", r"\lfloor x \rfloor + 1"),
    (r"\arctan x + \arctan(1/x)", r"\frac{\pi}{2}"),
    # exactness
    ("10^{30}+1", "10^{30}"),
    ("2^{1000}+1", "2^{1000}"),
    (r"2^{400}+\sqrt{2}", r"2^{400}+\sqrt{3}"),
    ("10^{30}x+1", "10^{30}x"),
    # units
    ("5 cm^2", "5 cm"),
    (r"5 \text{ cm}^2", r"5 \text{ cm}"),
    ("5 cm", "5 kg"),
    ("5 m/s", "5 m/s^2"),
    ("5 mg", "5 Mg"),
    ("20 °C", "20 K"),
    ("5 apples", "5 pears"),
    ("5 dollars", "5 euros"),
    (r"\$5", "5 cm"),
    (r"5\%", "5 cm"),
    (r"5^\circ", "5 rad"),
    ("-5 units", "5 units"),
    ("1.5 units", "15 units"),
    ("5xy", "5"),
    ("2mg", "2"),
    # capitals and Greek
    (r"3\Pi", r"3\pi"),
    ("2a+A", "2A+a"),
    ("CO", "Co"),
    (r"\mathbb{R}", "R"),
    ("Point A", "Point a"),
    # what the parser drops or misreads
    ("f'(x)", "f(x)"),
    ("f''", "f'"),
    ("y'=2x", "y=2x"),
    ("90'", "90"),
    ("A^T", "A"),
    (r"x^{\circ}", "x"),
    ("2!", "2!!"),
    ("3:1", "3"),
    (r"\gcd(a,b)", r"\gcd(a,c)"),
    (r"\frac{dy}{dx}", r"\frac{dx}{dy}"),
    (r"\lim_{x \to 0} f(x)", r"\lim_{x \to 1} f(x)"),
    (r"\vec{a}\cdot\vec{b}", r"\vec{a}\times\vec{b}"),
    (r"f^{-1}(x)", "1/f(x)"),
    (r"\sin 30^\circ", r"\sin 30"),
    (r"\angle ABC", r"\angle ACB"),
    ("AB", "BA"),
    ("1+I", "1+i"),
    (r"\begin{vmatrix}1&2\\3&4\end{vmatrix}", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}"),
    # arguments in braces
    (r"\sin{x}y", r"\sin{xy}"),
    (r"\sin{x}y", r"\sin xy"),
    (r"\ln{x}y", r"\ln{xy}"),
    (r"\tan{x}2", r"\tan{2x}"),
    (r"\sin^2{x}y", r"\sin^2{xy}"),
    (r"\log_{2}{x}y", r"\log_2{xy}"),
    (r"\sin{\frac{x}{2}}y", r"\sin(\frac{xy}{2})"),
    # the same value of other things, and readings that are not meant
    ("AB=5", "CD=5"),
    ("P(A)=0.3", "P(B)=0.3"),
    ("P(1,2)", "Q(1,2)"),
    ("Yes. x=2", "Yes. x=3"),
    ("2024-03-05", "2016"),
    ("0xFF", "0"),
    ("1/2x", r"\frac{x}{2}"),
    (r"\ln 2 \cdot 3", r"\ln 6"),
    ("a<b", "b<a"),
    ("(0,0)", "0"),
    # names and repetitions in lists
    ("x=1, 2", "y=1, 2"),
    ("a=1, 2", "b=1, 2"),
    ("(x=1, y=2)", "a=1, b=2"),
    ("(1,2)", "y=1, x=2"),
    ("2,2,3", "2,3,3"),
    ("1, 1", "1"),
    # bases
    ("101_2", "101"),
    ("101_2", "101_3"),
]

QUANTITIES = [
    ("5 million", "5"),
    (r"$7\text{ million}$", "7"),
    (r"\$7 million", "7"),
    ("12", "12 trillion"),
    ("5 thousand", "5"),
    ("5 hundred", "5"),
    ("2 dozen", "2"),
    ("2 scores", "2"),
    ("3 pairs", "3"),
    ("3 halves", "3"),
    ("3 quarters", "3"),
    ("2 thirds", "2"),
    ("5 eighths", "5"),
    ("5 hundredths", "5"),
    ("5 and a half", "5"),
    ("5 squared", "5"),
    ("5 factorial", "5"),
    ("5 to the fourth", "5"),
    ("4 times x", "4"),
    ("5 plus x", "5"),
    ("5 choose k", "5"),
    ("5 percent of x", "5"),
    ("5 per thousand", "5"),
    ("3 less than n", "3"),
    ("8 below zero", "8"),
    ("5 more than twice that number", "5"),
    ("The answer is at least 5", "5"),
    ("5 or more", "5"),
    ("0.3 repeating", "0.3"),
    ("2 theta", "2"),
    ("5 arcsin x", "5"),
    ("5 m log x", "5"),
    ("2 m g h", "2"),
    ("5 m/x", "5"),
    ("half of 6", "6"),
]

NEVER_UNEQUAL = [
    ("5 and a half", "5.5"),
    ("3 halves", "1.5"),
    ("2.5(3)", "7.5"),
    (r"\sin x/2", r"\frac{\sin x}{2}"),
    ("12:30", "12:30 PM"),
    ("May 5, 2020", "May 5"),
    ("one half", "1/2"),
    ("five million", "5000000"),
    ("2 thousand 5", "2005"),
    ("minus 6", "-6"),
    ("x plus 3", "x+3"),
    ("1 hour 30 minutes", "90 minutes"),
    (",5", "0.5"),
]

STILL_EQUAL = [
    ("5 million", "5000000"),
    ("5 million dollars", r"\$5 \text{ million}"),
    ("2 dozen eggs", "24"),
    ("5 cm squared", "5 cm^2"),
    ("2x+4y<6", "x+2y<3"),
    ("m<n", "n>m"),
    ("4 times", "4"),
    ("two", "2"),
    ("5", "5 cm/sec"),
    ("x=y=3", "(3, 3)"),
    ("sqrt(2)", r"\sqrt{2}"),
    ("2 pi", r"2\pi"),
    ("2,2,3", "3,2,2"),
    (r"\{1, 1\}", r"\{1\}"),
    (r"\sin{x}y", r"y\sin x"),
    (r"\sin{x}\cos{y}", r"\cos{y}\sin{x}"),
    ("x=1, 2", "2, 1"),
    ("(100 , 200)", "(100,200)"),
    ("x^{2}", "x^2"),
    (".5", "0.5"),
    (r"\boxed{.5}", r"\frac{1}{2}"),
    ("32,349", "32349"),
    (r"32,\!349", "32349"),
    ("10 000", "10000"),
    ("(100, 200)", "(100,200)"),
    ("3 1/2", "7/2"),
    ("101_2", "5"),
    ("5 cm", "5"),
    (r"5 \text{ cm}^2", "5 square centimeters"),
    ("36 km/h", "10 m/s"),
    ("1 liter", r"1000 \text{ cm}^3"),
    ("20 °C", r"20^\circ \text{C}"),
    ("3 men", "3"),
    ("|x-10|", "|10-x|"),
    (r"\sqrt{(x-5)^2}", "|x-5|"),
    (r"\max(x,y)", r"\frac{x+y+|x-y|}{2}"),
    (r"\ln|\sec x + \tan x|", r"-\ln|\sec x - \tan x|"),
    (r"\sin^2 x + \cos^2 x", "1"),
    ("(2+3i)(2-3i)", "13"),
    ("Ce^{x}", "ke^{x}"),
    ("x^2+C", "x^2+1+C"),
    (r"\frac{\pi}{2}+n\pi", r"\frac{\pi}{2}+k\pi"),
    ("AB + AB", "2AB"),
    ("(4)(9)", "36"),
    (r"2\frac{1}{2}\pi", r"\frac{5\pi}{2}"),
    ("EAST", "east"),
]


@pytest.mark.parametrize(("left", "right"), NEVER_EQUAL + QUANTITIES)
def test_what_differs_is_not_equal(left: str, right: str) -> None:
    assert compare(left, right).equal is not True
    assert compare(right, left).equal is not True


@pytest.mark.parametrize(("left", "right"), NEVER_UNEQUAL)
def test_what_may_be_equal_is_not_called_unequal(left: str, right: str) -> None:
    assert compare(left, right).equal is not False
    assert compare(right, left).equal is not False


@pytest.mark.parametrize(("left", "right"), STILL_EQUAL)
def test_what_is_only_written_otherwise_is_equal(left: str, right: str) -> None:
    assert compare(left, right).equal is True
    assert compare(right, left).equal is True


@pytest.mark.parametrize(
    "text", [r"So \boxed{.5}", "The answer is .5", "The answer is $.5$.", "it is .5"]
)
def test_a_leading_point_is_found_with_its_number(text: str) -> None:
    answer = final_answer(text)
    assert answer is not None
    assert compare("0.5", answer).equal is True
    assert compare("5", answer).equal is False


# Expressions made at random: a tree is written in two ways, or changed in one place.

LETTERS = "xyzpqw"  # no name that an arbitrary constant or a whole number goes by
AT = (
    dict(zip(LETTERS, (0.31, 1.73, 2.41, 0.83, 3.19, 1.27), strict=True)),
    dict(zip(LETTERS, (4.1, 0.57, 1.13, 2.93, 0.71, 5.3), strict=True)),
)


_COMPUTED: dict[str, Callable[..., float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": math.pow,
    "root": math.sqrt,
}
_PLAIN = {
    "letter": "",
    "number": "",
    "+": "({} + {})",
    "-": "({} - {})",
    "*": "({})({})",
    "/": r"\frac{{{}}}{{{}}}",
    "^": "({})^{{{}}}",
    "root": r"\sqrt{{{}}}",
}
_OTHER = {
    "letter": "",
    "number": "",
    "+": r"\left({1}+{0}\right)",
    "-": r"\left(-{1}+{0}\right)",
    "*": r"\left({1}\right) \cdot \left({0}\right)",
    "/": r"\left(({0})/({1})\right)",
    "^": r"\left({0}\right)^{{{1}}}",
    "root": "({0})^{{1/2}}",
}


@dataclass(frozen=True)
class Node:
    """A letter or number, or an operation on other nodes."""

    kind: str
    leaf: str = ""
    parts: tuple[Node, ...] = ()

    def value(self, at: dict[str, float]) -> float:
        """Evaluate with Python's own arithmetic."""
        if not self.parts:
            return at[self.leaf] if self.kind == "letter" else float(self.leaf)
        return float(_COMPUTED[self.kind](*(part.value(at) for part in self.parts)))

    def plain(self) -> str:
        """Write it in one way."""
        return _PLAIN[self.kind].format(*(part.plain() for part in self.parts)) or self.leaf

    def other(self) -> str:
        """Write it in another way: terms and factors exchanged, quotients on the line."""
        return _OTHER[self.kind].format(*(part.other() for part in self.parts)) or self.leaf

    def differs(self, other: Node) -> bool:
        """Check whether the values differ visibly, at a point where both have one."""
        for at in AT:
            try:
                ours, theirs = self.value(at), other.value(at)
            except (ValueError, ZeroDivisionError, OverflowError):
                continue
            if abs(ours - theirs) > 1e-6 * max(1.0, abs(ours), abs(theirs)):
                return True
        return False


NUMBERS = st.integers(1, 99).map(lambda number: Node("number", str(number)))
LEAVES = NUMBERS | st.sampled_from(LETTERS).map(lambda letter: Node("letter", letter))
POSITIVE = LEAVES.flatmap(
    lambda first: st.tuples(st.sampled_from("+*"), LEAVES).map(
        lambda rest: Node(rest[0], parts=(first, rest[1]))
    )
)


def _operations(parts: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    pairs = st.tuples(st.sampled_from("+-*/"), parts, parts)
    powers = st.tuples(parts, st.integers(2, 5))
    return (
        pairs.map(lambda parts: Node(parts[0], parts=parts[1:]))
        | powers.map(lambda parts: Node("^", parts=(parts[0], Node("number", str(parts[1])))))
        | POSITIVE.map(lambda part: Node("root", parts=(part,)))
    )


TREES = st.recursive(LEAVES, _operations, max_leaves=5)


@st.composite
def changed(draw: st.DrawFn, tree: Node) -> Node:
    """Change a tree in one place: a letter, digit, sign, exponent, or where a brace ends."""
    deeper: bool = draw(st.booleans())
    if tree.parts and deeper:
        place = draw(st.integers(0, len(tree.parts) - 1))
        part: Node = draw(changed(tree.parts[place]))
        parts = (*tree.parts[:place], part, *tree.parts[place + 1 :])
        return Node(tree.kind, tree.leaf, parts)
    if tree.kind == "letter":
        return Node("letter", draw(st.sampled_from(LETTERS)))
    if tree.kind == "number":
        return draw(NUMBERS)
    if tree.kind in {"+", "-"}:
        return Node("-" if tree.kind == "+" else "+", parts=tree.parts)
    inner, *exponent = tree.parts
    if tree.kind in {"root", "^"} and inner.kind in {"*", "/"}:  # the brace ends elsewhere
        moved = Node(tree.kind, parts=(inner.parts[0], *exponent))
        return Node(inner.kind, parts=(moved, inner.parts[1]))
    return Node("-", parts=(Node("number", "0"), tree))


FEW = of_a_hundred(30)


@pytest.mark.slow
@FEW
@given(TREES)
def test_a_formula_written_in_another_way_is_equal(tree: Node) -> None:
    assume(_has_value(tree))
    assert compare(tree.plain(), tree.other()).equal is True


@pytest.mark.slow
@FEW
@given(st.data(), TREES)
def test_a_formula_changed_in_one_place_is_never_equal(data: st.DataObject, tree: Node) -> None:
    mutant = data.draw(changed(tree))
    assume(tree.differs(mutant))
    assert compare(tree.plain(), mutant.plain()).equal is not True
    assert compare(tree.plain(), mutant.other()).equal is not True


def _has_value(tree: Node) -> bool:
    try:
        return math.isfinite(tree.value(AT[0]))
    except (ValueError, ZeroDivisionError, OverflowError):
        return False


@pytest.mark.slow
@FEW
@given(st.text("123456789", min_size=2, max_size=5), st.data())
def test_a_brace_that_is_moved_is_never_without_effect(digits: str, data: st.DataObject) -> None:
    cuts = st.lists(st.integers(1, len(digits)), min_size=2, max_size=2, unique=True)
    first, second = sorted(data.draw(cuts))
    letter = data.draw(st.sampled_from(LETTERS))
    for before, after in (("e^{", "}"), (r"\sqrt{", "}"), ("x_{", "}"), (r"\sqrt[3]{", "}")):
        left = f"{before}{digits[:first]}{after}{digits[first:]}{letter}"
        right = f"{before}{digits[:second]}{after}{digits[second:]}{letter}"
        assert compare(left, right).equal is not True, (left, right)
    if second < len(digits):
        left = rf"\frac{{{digits[:first]}}}{{{digits[first:]}}}"
        right = rf"\frac{{{digits[:second]}}}{{{digits[second:]}}}"
        assert compare(left, right).equal is False, (left, right)


@FEW
@given(st.decimals(min_value="0.01", max_value=9999, places=2), st.data())
def test_a_number_changed_in_one_place_is_never_equal(number: object, data: st.DataObject) -> None:
    text = str(number)
    place = data.draw(st.sampled_from([i for i, sign in enumerate(text) if sign.isdigit()]))
    digit = data.draw(st.sampled_from([d for d in "0123456789" if d != text[place]]))
    mutants = [
        text[:place] + digit + text[place + 1 :],
        "-" + text,
        text.replace(".", ""),
        text + r" \times 10^{2}",
        text + "e-1",
    ]
    for mutant in mutants:
        assert compare(text, mutant).equal is False, (text, mutant)
        assert compare(f"({text}, 7)", f"({mutant}, 7)").equal is False, mutant
        assert compare(f"{text} apples", f"{mutant} apples").equal is False, mutant


UNITS = ["cm", "cm^2", "cm^3", "m", "kg", "g", "s", "hours", "km/h", "m/s^2", "apples", "pears"]


@FEW
@given(st.integers(1, 9999), st.permutations(UNITS))
def test_a_number_in_another_unit_is_never_equal(number: int, units: list[str]) -> None:
    left, right = units[:2]
    assert compare(f"{number} {left}", rf"{number} \text{{ {right}}}").equal is not True
    assert compare(f"{number} {left}", rf"{number}\text{{ {left}}}").equal is True
    assert compare(f"{number} {left}", f"{number}").equal is True


@FEW
@given(st.lists(st.integers(100, 999), min_size=2, max_size=4))
def test_a_list_is_no_number_with_thousands(numbers: list[int]) -> None:
    listed = ", ".join(map(str, numbers))
    assert compare(listed, listed.replace(", ", "")).equal is False
    assert compare(listed, listed.replace(", ", ",")).equal is not True
    assert compare(listed, listed.replace(", ", " and ")).equal is True


@pytest.mark.slow
@FEW
@given(st.permutations("ABCDEFGHJKLMNPQRSTUVWXYZabcdfghjklmnpqrstuvwxyz"), st.integers(1, 5))
def test_another_letter_is_never_equal(letters: list[str], power: int) -> None:
    left, right = letters[:2]
    for form in ("{}", r"\text{{({})}}", f"2{{}}^{power}", "{}+1", r"\sqrt{{{}}}"):
        assert compare(form.format(left), form.format(right)).equal is not True, (form, left, right)


@pytest.mark.slow
@of_a_hundred(25)
@given(st.integers(1, 100_000), st.booleans())
def test_pieces_are_found_however_far_out(end: int, negative: bool) -> None:  # noqa: FBT001
    edge = f"+{end}" if negative else f"-{end}"
    sign = "-" if negative else ""
    pairs = [
        (f"|x{edge}|", f"x{edge}"),
        (f"|x{edge}|", f"-x-({sign}{end})+2({sign}{end})"),
        (rf"\sqrt{{(x{edge})^2}}", f"x{edge}"),
        (rf"\min(x,{sign}{end})", "x"),
        (rf"\max(x,{sign}{end})", f"{sign}{end}"),
        (rf"\lfloor \frac{{x}}{{{end}}} \rfloor", rf"\lceil \frac{{x}}{{{end}}} \rceil"),
    ]
    for left, right in pairs:
        assert compare(left, right).equal is not True, (left, right)
