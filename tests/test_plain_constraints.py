"""Constraints in everyday words: most become checks, no verdict is wrong, riddles are refused."""

from __future__ import annotations

from itertools import product

import pytest

from heedful.core.errors import UndecidedError
from heedful.verify import Response, check
from heedful.verify.compiler.compile import compile_constraint
from plain_chinese_last import TEXTS as CHINESE_LAST
from plain_chinese_later import TEXTS as CHINESE_LATER
from plain_fresh import EN as FRESH
from plain_fresh import ZH as FRESH_ZH
from plain_kinds import TEXTS as KINDS
from plain_more import LATER
from plain_more import TEXTS as MORE
from plain_texts import LANGUAGES, Case, halves
from plain_traps import TRAPS
from plain_undecidable import TEXTS as UNDECIDABLE
from plain_undecidable import TEXTS_ZH as UNDECIDABLE_ZH
from plain_words import MORE as MORE_WORDS
from plain_words import TEXTS as WORDS

pytestmark = pytest.mark.slow  # many cases, or processes of their own

LEAST = 0.9
"""Of each half, how many compile; measured: docs/compiler.md."""

CASES = [
    *(case for cases in LANGUAGES.values() for case in cases),
    *KINDS,
    *CHINESE_LATER,
    *CHINESE_LAST,
    *FRESH,
    *FRESH_ZH,
]


@pytest.mark.parametrize(("text", "met", "unmet"), CASES)
def test_no_verdict_on_a_plain_constraint_is_wrong(text: str, met: str, unmet: str) -> None:
    compiled = compile_constraint(text)
    for response, expected in ((met, True), (unmet, False)):
        if compiled.check is None or not response:
            continue
        try:
            assert check(compiled.check, Response(response)).met is expected
        except UndecidedError:
            continue


@pytest.mark.parametrize(("language", "half"), list(product(LANGUAGES, (0, 1))))
def test_most_plain_constraints_become_checks(language: str, half: int) -> None:
    cases: list[Case] = halves(language)[half]
    compiled = [text for text, _, _ in cases if compile_constraint(text).check is not None]
    assert len(compiled) >= LEAST * len(cases)


def test_most_other_plain_constraints_become_checks() -> None:
    fresh = ([text for text, *said in cases if any(said)] for cases in (FRESH, FRESH_ZH))
    for texts in (MORE, LATER, MORE_WORDS, *fresh):
        compiled = [text for text in texts if compile_constraint(text).check is not None]
        assert len(compiled) >= LEAST * len(texts)


@pytest.mark.parametrize(("text", "met", "unmet"), [*KINDS, *WORDS])
def test_each_of_these_kinds_is_decided(text: str, met: str, unmet: str) -> None:
    compiled = compile_constraint(text)
    assert compiled.check is not None
    for response, expected in ((met, True), (unmet, False)):
        assert not response or check(compiled.check, Response(response)).met is expected


@pytest.mark.parametrize(("text", "response", "expected"), TRAPS)
def test_a_response_at_the_edge_is_decided_only_beyond_doubt(
    text: str, response: str, *, expected: bool | None
) -> None:
    compiled = compile_constraint(text)
    assert compiled.check is not None
    try:
        met: bool | None = check(compiled.check, Response(response)).met
    except UndecidedError:
        met = None
    assert met is expected


@pytest.mark.parametrize("text", [*UNDECIDABLE, *UNDECIDABLE_ZH])
def test_no_text_that_code_cannot_decide_becomes_a_check(text: str) -> None:
    assert compile_constraint(text).check is None


def test_keys_that_may_be_of_something_else_are_decided_only_in_json() -> None:
    compiled = compile_constraint("Contains the keys 'Esc' and 'Ctrl'.")
    assert compiled.check is not None
    assert check(compiled.check, Response('{"Esc": 1, "Ctrl": 2}')).met is True
    for other in ("Press Esc, then Ctrl.", "Press Enter."):
        with pytest.raises(UndecidedError):
            check(compiled.check, Response(other))
