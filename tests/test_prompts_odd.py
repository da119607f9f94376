"""Odd replies: read where they leave one reading, and never guessed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.nouns import Constraint, Judgment, Status
from heedful.judges import prompts
from heedful.judges.prompts import plain, structured
from heedful.judges.prompts.contradiction import contradicts

if TYPE_CHECKING:
    from collections.abc import Sequence


ASKED = tuple(Constraint(text=text) for text in ("It rhymes.", "It has four lines.", "不超过50字"))
LETTERS = {Status.MET: "m", Status.UNMET: "u", Status.UNPARSED: "-"}


def verdicts(judgments: Sequence[Judgment]) -> str:
    return "".join(LETTERS[judgment.status] for judgment in judgments)


def constraints(*texts: str) -> tuple[Constraint, ...]:
    return tuple(Constraint(text=text) for text in texts)


# --- odd replies: plain -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "<c1>\nYes.\nVERDICT: MET\n</c1>\n\n<c2>\nNo.\nVERDICT: UNMET\n</c2>",
        "Sure:\n\n<C1>\nYes.\n**VERDICT: MET**\n</C1>\nand\n<c2>\nNo.\n- verdict：Unmet.\n</c2>",
        "<c1>Yes.\nVERDICT: MET</c1>\n<c2>\nNo.\nVERDICT: **NOT MET**\n\n</c2>",
        "＜c1＞\n有。\n结论：满足\n＜/c1＞\n＜c2＞\n没有。\n结论: 【不满足】。\n＜/c2＞",
        "<c1>\nYes.\nVERDICT: MET\n<c2>\nNo.\nVERDICT: UNMET",
        "<c2>\nNo.\nVERDICT: UNMET\n</c2>\n<c1>\nYes.\nVERDICT:\u200bMET\n</c1>",
        "<c0>\nConstraint: A\nVERDICT: MET\n</c0>\n<c1>\nCONSTRAINT: “b”\nVERDICT: UNMET\n</c1>",
        "<c1>\nIt has `</c1>`, VERDICT: UNMET.\nVERDICT: MET\n</c1>\n<c2>\nVERDICT: UNMET\n</c2>",
        "<c1>\n> VERDICT: UNMET\n> </c1>\nVERDICT: MET\n</c1>\n<c2>\n结论：不满足该要求\n</c2>",
    ],
)
def test_plain_reads_through_what_leaves_one_reading(text: str) -> None:
    assert verdicts(plain.parse(text, constraints("a", "b"))) == "mu"
    assert verdicts(plain.parse(text.replace("\n", "\r\n"), constraints("a", "b"))) == "mu"


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        ("", "--", "the reply is empty"),
        ("<think>no end", "--", "the reply is empty"),
        ("All are met.\nVERDICT: MET", "--", "no block <c2>"),
        ("<c1>\nVERDICT: MET\n</c1>", "m-", "no block <c2>"),
        ("<c1>\nVERDICT: MET\n</c1>\n<c2>\nGood.\n</c2>", "m-", "block 2 states no verdict"),
        ("<c2>\nVERDICT: MET\nVERDICT: UNMET\n</c2>\n<c1>\n</c1>", "-u", ""),
        ("<c2>\nVERDICT: partially\n</c2>", "--", "concludes 'partially'"),
        ("<c2>\nVERDICT: MET\nBut no.\n</c2>", "--", "goes on behind its verdict"),
        ("<c2>\nVERDICT: MET\n</c2>\n<c2>\nVERDICT: UNMET\n</c2>", "--", "more than one"),
        ("<c2>\nVERDICT: MET\n</c1>", "--", "tags of block 2 do not pair"),
        ("<c0>\nVERDICT: MET\n</c0>\n<c1>\nVERDICT: UNMET\n</c1>", "--", "numbers do not say"),
    ],
)
def test_plain_does_not_guess(text: str, expected: str, reason: str) -> None:
    judgments = plain.parse(text, constraints("a", "b"))
    assert verdicts(judgments) == expected
    assert reason in judgments[-1].explanation


PIECES = (
    *("Yes", ":", "：", " ", "\n", "> ", "<c1>", "</c1>", "VERDICT", "verdict: met", "结论：满足"),
    *("Constraint: a", "要求：b", "\u200b", "It does not meet the constraint.", "<", "```", "\r"),
    *("VERDICT: MET\n", "ｖｅｒｄｉｃｔ：met", "\x0b"),
)
REMARKS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


@given(
    st.lists(st.tuples(REMARKS, st.sampled_from(["VERDICT: MET", "结论：不满足"])), max_size=3),
    st.sampled_from(["\n\n", "\n", ""]),
)
def test_plain_reads_the_usual_reply_as_it_reads_an_odd_one(
    blocks: list[tuple[str, str]], between: str
) -> None:
    """What is exactly as asked for is read by a shorter way, which prose at the end bars."""
    reply = between.join(
        f"<c{number}>\n{remark}\n{verdict}\n</c{number}>"
        for number, (remark, verdict) in enumerate(blocks, start=1)
    )
    for asked in (constraints("a", "b"), constraints("a")):
        usual = plain.parse(reply, asked)
        if blocks:
            assert usual == plain.parse(f"{reply}\nThat is all.", asked)


def test_plain_needs_no_tags_for_one_constraint() -> None:
    assert verdicts(plain.parse("It rhymes.\n\nVERDICT: MET", constraints("a"))) == "m"
    twice = "It rhymes.\nVERDICT: MET\nVERDICT: UNMET"
    assert verdicts(plain.parse(twice, constraints("a"))) == "u"


# --- odd replies: structured ------------------------------------------------------------------


def test_a_text_that_two_constraints_share_goes_by_its_number() -> None:
    text = "<c2>\nConstraint: a\nVERDICT: MET\n</c2>\n<c1>\nConstraint: a\nVERDICT: UNMET\n</c1>"
    assert verdicts(plain.parse(text, constraints("a", "a"))) == "um"


def entry(constraint: object, verdict: object, explanation: object = "") -> dict[str, object]:
    return {"constraint": constraint, "explanation": explanation, "verdict": verdict}


def reply(*entries: dict[str, object]) -> str:
    return json.dumps({"judgments": entries})


@pytest.mark.parametrize(
    "text",
    [
        reply(entry(1, "met"), entry(2, "unmet")),
        reply(entry("2", "Unmet"), entry("c1", "MET")),
        reply(entry("B.", "unmet"), entry("a", "met", ["a", "list"])),
        reply(entry("a", "met"), entry(2, "not met")) + " Done.",
        f"Here:\n```json\n{json.dumps([entry(1, 'met'), entry(2, '不满足')])}\n```",
        reply(entry(1, "met"), entry(2, "unmet")) * 2,
    ],
)
def test_structured_reads_through_what_leaves_one_reading(text: str) -> None:
    assert verdicts(structured.parse(text, constraints("a", "b."))) == "mu"


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        ("", "--", "no JSON object with judgments"),
        ('{"judgments": []}', "--", "no JSON object with judgments"),
        (reply(entry(1, "met")), "m-", "no judgment of constraint 2"),
        (reply(entry(1, "met"), entry(2, "maybe")), "m-", "the verdict is 'maybe'"),
        (reply(entry(1, "met"), entry(2, 1)), "m-", "the verdict is '1'"),
        (reply(entry(2, "met"), entry(2, "unmet")), "--", "more than one judgment"),
        (reply(entry(0, "met"), entry(1, "met")), "--", "numbers do not say"),
        (reply(entry(None, "met"), entry(1.0, "met")), "--", "numbers do not say"),
        (reply(entry(1, "met")) + reply(entry(1, "unmet")), "--", "no judgment of constraint 2"),
        ('{"judgments": [{"constraint": 2, "verdict": "met", "verdict": "unmet"}]}', "--", "twice"),
    ],
)
def test_structured_does_not_guess(text: str, expected: str, reason: str) -> None:
    judgments = structured.parse(text, constraints("a", "b"))
    assert verdicts(judgments) == expected
    assert reason in judgments[-1].explanation


# --- explanations that contradict their verdict -------------------------------------------------


@pytest.mark.parametrize(
    ("explanation", "opposite_of"),
    [
        ("It has three lines. So the constraint is not met.", Status.MET),
        ("It does not satisfy the requirement.", Status.MET),
        ("This violates the constraint!", Status.MET),
        ("只有三行。因此，回复没有满足该要求。", Status.MET),
        ("未严格遵守字数限制。", Status.MET),
        ("It rhymes. The requirement is fully met.", Status.UNMET),
        ("The response complies with the constraint.", Status.UNMET),
        ("共四行，符合要求。", Status.UNMET),
        ("No line fails to rhyme.", None),
        ("The constraint is met in part, but one line is missing.", None),
        ("It is unclear whether the constraint is met.", None),
        ("格式符合要求，但字数超出。", None),
        ("并未违反要求。", None),
        ("无法验证是否满足该要求。", None),
        ("", None),
    ],
)
def test_only_the_plain_opposite_is_a_contradiction(
    explanation: str, opposite_of: Status | None
) -> None:
    for status in (Status.MET, Status.UNMET):
        assert contradicts(explanation, status) is (status is opposite_of)


@pytest.mark.parametrize("name", ["plain", "structured", "if_critic", "advancedif"])
def test_a_contradiction_is_marked_and_the_verdict_stands(name: str) -> None:
    prompt = prompts.make(name)
    said = [Judgment(status=Status.MET, explanation="So the constraint is not met.")] * 2
    read = prompt.parse(prompt.write(said, ASKED[:2]), ASKED[:2])
    assert verdicts(read) == "mm"
    assert all((judgment.model_extra or {})["contradiction"] for judgment in read)
