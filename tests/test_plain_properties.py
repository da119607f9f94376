"""Texts made from pieces, and responses made for them: what code decides, it decides rightly."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heedful.core.errors import UndecidedError
from heedful.verify import Response, check
from heedful.verify.compiler.compile import compile_constraint


def verdict(text: str, response: str) -> bool | None:
    """Whether a response meets a text; ``None`` where code does not decide it."""
    compiled = compile_constraint(text)
    if compiled.check is None:
        return None
    try:
        return check(compiled.check, Response(response)).met
    except UndecidedError:
        return None


PARTS = {
    "{} paragraphs": "\n\n".join,
    "Write {} paragraphs": "\n\n".join,
    "{} bullet points": lambda parts: "\n".join(f"- {part}" for part in parts),
    "分成{}段": "\n\n".join,
    "{}个要点": lambda parts: "\n".join(f"- {part}" for part in parts),
}
LIMITS = [", max {} sentences.", ", at most {} sentences.", "; no more than {} sentences."]
LIMITS_ZH = ["，不超过{}句", "，最多{}句话"]


@given(st.sampled_from(sorted(PARTS)), st.data(), st.integers(2, 5), st.integers(1, 5))
def test_a_limit_that_may_be_of_each_part_is_not_of_all(
    part: str, data: st.DataObject, parts: int, most: int
) -> None:
    chinese = not part.isascii()
    limit = data.draw(st.sampled_from(LIMITS_ZH if chinese else LIMITS))
    sentence = "天很好。" if chinese else "The dog ran home."
    each = ("" if chinese else " ").join([sentence] * most)
    text = part.format(parts) + limit.format(most)
    assert verdict(text, PARTS[part]([each] * parts)) is not False
