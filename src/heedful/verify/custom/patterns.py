"""Regular expressions of ECMAScript, as JSON Schema has them.

A backtracking engine takes time exponential in the text for an expression such as ``^(a+)+$``, the
expression comes from a data file, and the text from a policy. So an expression is read into the
steps of an automaton. Source of the syntax: ECMA-262, section 22.2, with the flag ``u``.
"""

from __future__ import annotations

import re
import string
import unicodedata
from functools import lru_cache
from typing import Final

from heedful.core.errors import UndecidedError
from heedful.verify.custom.automaton import (
    MOST_WORK,
    Assertion,
    Automaton,
    Character,
    Program,
    Split,
    StepBudget,
)

_MOST_STEPS = 20_000
_DEEPEST = 100
_LINE_ENDS = "\n\r\u2028\u2029"
_SPACES = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)
_SPACES += "\u2028\u2029\u202f\u205f\u3000\ufeff"
_WORD = frozenset(string.ascii_letters + string.digits + "_")
_CLASSES: Final = {"d": frozenset(string.digits), "w": _WORD, "s": frozenset(_SPACES)}
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
_QUANTIFIER = re.compile(r"(?P<sign>[*+?])|\{(?P<low>\d+)(?P<comma>,(?P<high>\d*))?\}", re.ASCII)
_CODE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}")
_PROPERTY = re.compile(r"[pP]\{(?:(?:General_Category|gc)=)?([\w=]+)\}")
_GROUP = re.compile(r"\?(?::|<?[=!]|<[a-zA-Z_$][\w$]*>)")
_CATEGORIES = {
    "letter": "L", "cased_letter": "LC", "uppercase_letter": "Lu", "lowercase_letter": "Ll",
    "titlecase_letter": "Lt", "modifier_letter": "Lm", "other_letter": "Lo", "mark": "M",
    "nonspacing_mark": "Mn", "number": "N", "decimal_number": "Nd", "digit": "Nd", "punct": "P",
    "punctuation": "P", "symbol": "S", "separator": "Z", "space_separator": "Zs", "other": "C",
}  # fmt: skip
_CATEGORY = re.compile("L[Cultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfson]?")


class Pattern:
    """An expression, ready to be searched for."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._budget = StepBudget()
        self._automaton = Automaton(_parsed(pattern, self._budget), self._budget)

    def __call__(self, text: str) -> bool:
        r"""Say whether the expression occurs in a text.

        >>> Pattern(r"^\d{2}$")("42"), Pattern("^(a+)+$")("a" * 40 + "b")
        (True, False)
        """
        self._budget.left = MOST_WORK
        try:
            return self._automaton.search(text)
        except TimeoutError as error:
            raise UndecidedError(
                f"cannot be decided by code: the pattern {self.pattern} takes too long on a text "
                f"of {len(text)} characters"
            ) from error


def _parsed(pattern: str, budget: StepBudget) -> Program:
    """Read an expression; its conditions on what is around a place spend the same budget."""
    parser = _Parser(pattern, budget)
    program = parser.choice()
    if parser.at < len(pattern):
        raise ValueError(f"a parenthesis that closes nothing at {parser.at} of {pattern}")
    return program


class _Parser:
    """Reads an expression from left to right; each method reads one kind of its parts."""

    def __init__(self, pattern: str, budget: StepBudget) -> None:
        self.pattern = pattern
        self.at = 0
        self._budget = budget
        self._depth = 0

    def choice(self) -> Program:
        program = self._sequence()
        while self._take("|"):
            other = self._sequence()
            program = [Split((1, len(program) + 2)), *program, Split((len(other) + 1,)), *other]
        return self._bounded(program)

    def _sequence(self) -> Program:
        program: Program = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            program += self._repeated()
        return self._bounded(program)

    def _repeated(self) -> Program:
        start = self.at
        body = self._atom()
        quantifier = _QUANTIFIER.match(self.pattern, self.at)
        if not quantifier:
            return body
        if len(body) == 1 and isinstance(body[0], Assertion):
            raise self._wrong("a condition cannot be repeated", start)
        self.at = quantifier.end()
        self._take("?")  # fewest first: the same texts match
        if quantifier["sign"]:
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[quantifier["sign"]]
        else:
            low = int(quantifier["low"])
            high = int(quantifier["high"]) if quantifier["high"] else None
            high = high if quantifier["comma"] else low
        if high is not None and high < low:
            raise self._wrong("the bounds of a repetition are in the wrong order", start)
        return self._times(body, low, high)

    def _times(self, body: Program, low: int, high: int | None) -> Program:
        if (len(body) + 1) * max(low, high or 1) > _MOST_STEPS:
            raise self._too_large()
        program = body * low
        if high is None:
            return [*program, Split((1, len(body) + 2)), *body, Split((-len(body) - 1,))]
        size = len(body) + 1
        for left in range(high - low, 0, -1):
            program += [Split((1, left * size)), *body]
        return self._bounded(program)

    def _atom(self) -> Program:  # noqa: PLR0911 - one for each kind
        start = self.at
        sign = self._next()
        if sign == "(":
            return self._group()
        if sign == "[":
            return [self._set()]
        if sign == "\\":
            return [self._escape()]
        if sign == ".":
            return [lambda character: character not in _LINE_ENDS]
        if sign == "^":
            return [Assertion(lambda _, at: at == 0)]
        if sign == "$":
            return [Assertion(lambda text, at: at == len(text))]
        if sign in "*+?" or _QUANTIFIER.match(self.pattern, start):
            raise self._wrong("nothing to repeat", start)
        return [_single(sign)]

    def _group(self) -> Program:
        start = self.at
        kind = _GROUP.match(self.pattern, start)
        if kind:
            self.at = kind.end()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._too_large()
        body = self.choice()
        self._depth -= 1
        if not self._take(")"):
            raise self._wrong("a parenthesis isn't closed", start)
        look = kind[0].strip("?<") if kind else ""
        if look not in {"=", "!"}:
            return body
        inner, wanted = Automaton(body, self._budget), look == "="
        matches = inner.matches_to if kind and "<" in kind[0] else inner.matches_from
        return [Assertion(lambda text, at: matches(text, at) is wanted, near=False)]

    # --- single characters ----------------------------------------------------------------------

    def _escape(self) -> Character | Assertion:
        start = self.at
        sign = self._next()
        if sign in "bB":
            return Assertion(lambda text, at: _at_edge(text, at) is (sign == "b"))
        if sign in "123456789k":
            raise UndecidedError(
                f"cannot be decided by code: the pattern {self.pattern} refers back to a group"
            )
        self.at = start
        member = self._member(in_set=False)
        return _single(member) if isinstance(member, str) else member

    def _set(self) -> Character:
        start = self.at
        negated = self._take("^")
        tests: list[Character] = []
        while not self._take("]"):
            if self.at >= len(self.pattern):
                raise self._wrong("a bracket isn't closed", start)
            first = self._in_set()
            if not self._begins_range():
                tests.append(_single(first) if isinstance(first, str) else first)
                continue
            last = self._in_set()
            if not isinstance(first, str) or not isinstance(last, str):
                raise self._wrong("a class cannot begin or end a range", start)
            if last < first:
                raise self._wrong("the ends of a range are in the wrong order", start)
            tests.append(_range(first, last))
        return lambda character: any(test(character) for test in tests) is not negated

    def _begins_range(self) -> bool:
        rest = self.pattern[self.at : self.at + 2]
        return rest[:1] == "-" and rest != "-]" and self._take("-")

    def _in_set(self) -> str | Character:
        sign = self._next()
        return self._member(in_set=True) if sign == "\\" else sign

    def _member(  # noqa: PLR0911 - one for each kind
        self, *, in_set: bool
    ) -> str | Character:
        """Read what follows a backslash and stands for one character, or one of several."""
        start = self.at
        code = _CODE.match(self.pattern, start)
        if code:
            self.at = code.end()
            return self._character(code)
        category = _PROPERTY.match(self.pattern, start)
        if category:
            self.at = category.end()
            return self._category(category)
        sign = self._next()
        if sign.lower() in _CLASSES:
            members = _CLASSES[sign.lower()]
            return lambda character: (character in members) is sign.islower()
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        if sign == "c" and (letter := self._next()) in string.ascii_letters:
            return chr(ord(letter) % 32)
        if sign == "0" and not self.pattern[self.at : self.at + 1].isdigit():
            return "\0"
        if in_set and sign == "b":
            return "\b"
        if sign.isalnum():
            raise self._wrong(f"no such escape: \\{sign}", start)
        return sign

    def _character(self, code: re.Match[str]) -> str:
        number = int(code[1] or code[2] or code[3], 16)
        if number > 0x10FFFF:  # noqa: PLR2004 - Unicode's last character
            raise self._wrong("no such character", code.start())
        if 0xD800 <= number < 0xDC00:  # noqa: PLR2004 - the first half of a pair
            second = re.compile(r"\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE).match(
                self.pattern, self.at
            )
            if second:
                self.at = second.end()
                return chr(0x10000 + (number - 0xD800) * 0x400 + int(second[1], 16) - 0xDC00)
        return chr(number)

    def _category(self, written: re.Match[str]) -> Character:
        name = _CATEGORIES.get(written[1].lower(), written[1])
        wanted = written[0][0] == "p"
        if not _CATEGORY.fullmatch(name):
            raise UndecidedError(
                f"cannot be decided by code: the property {name} in the pattern {self.pattern}"
            )
        kinds = ("Lu", "Ll", "Lt") if name == "LC" else (name,)
        return lambda character: unicodedata.category(character).startswith(kinds) is wanted

    # --- reading --------------------------------------------------------------------------------

    def _next(self) -> str:
        if self.at >= len(self.pattern):
            raise self._wrong("it ends too early", self.at)
        self.at += 1
        return self.pattern[self.at - 1]

    def _take(self, sign: str) -> bool:
        taken = self.pattern.startswith(sign, self.at)
        self.at += taken
        return taken

    def _bounded(self, program: Program) -> Program:
        if len(program) > _MOST_STEPS:
            raise self._too_large()
        return program

    def _too_large(self) -> UndecidedError:
        return UndecidedError(
            f"cannot be decided by code: the pattern {self.pattern[:80]} is large"
        )

    def _wrong(self, problem: str, at: int) -> ValueError:
        return ValueError(f"{problem} at {at} of the pattern {self.pattern[:80]}")


@lru_cache(maxsize=512)
def _single(sign: str) -> Character:
    return lambda character: character == sign


def _range(first: str, last: str) -> Character:
    return lambda character: first <= character <= last


def _at_edge(text: str, at: int) -> bool:
    """Say whether a word begins or ends at a place."""
    before, after = text[at - 1 : at] if at else "", text[at : at + 1]
    return (before in _WORD) is not (after in _WORD)
