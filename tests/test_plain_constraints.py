"""Constraints in everyday words: most become checks, no verdict is wrong, riddles are refused."""

import pytest

from heedful.core.errors import UndecidedError
from heedful.verify import Response, check
from heedful.verify.compiler.compile import compile_constraint
from plain_chinese import TEXTS as CHINESE
from plain_english import TEXTS as ENGLISH
from plain_fresh import EN as FRESH
from plain_fresh import ZH as FRESH_ZH
from plain_kinds import TEXTS as KINDS
from plain_traps import TRAPS
from plain_undecidable import TEXTS as UNDECIDABLE
from plain_undecidable import TEXTS_ZH as UNDECIDABLE_ZH
from plain_words import TEXTS as WORDS

CASES = [
    *(*CHINESE, *FRESH_ZH),
    *(*ENGLISH, *FRESH, *KINDS, *WORDS),
]


@pytest.mark.parametrize(("text", "met", "unmet"), CASES)
def test_a_plain_constraint_becomes_a_check_without_a_wrong_verdict(
    text: str, met: str, unmet: str
) -> None:
    compiled = compile_constraint(text)
    assert compiled.check is not None
    for response, expected in ((met, True), (unmet, False)):
        try:
            assert not response or check(compiled.check, Response(response)).met is expected
        except UndecidedError:
            assert text not in DECIDED


DECIDED = frozenset(text for text, *_ in (*KINDS, *WORDS))


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
