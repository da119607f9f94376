"""CFBench's replies: a row that a person can read is decided, and nothing is guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.nouns import Constraint, Judgment, Status
from heedful.judges.prompts import cfbench

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the benchmarks' data is not here")

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)


def constraints(*texts: str) -> tuple[Constraint, ...]:
    return tuple(Constraint(text=text) for text in texts)


def verdicts(judgments: Sequence[Judgment]) -> str:
    """One letter for each status: m(et), u(nmet), - (unparsed)."""
    letters = {Status.MET: "m", Status.UNMET: "u", Status.UNPARSED: "-"}
    return "".join(letters[judgment.status] for judgment in judgments)


@given(st.lists(st.tuples(words, st.booleans()), min_size=1, max_size=6))
def test_cfbench_reads_what_it_asked_for(items: list[tuple[str, bool]]) -> None:
    asked = [text for text, _ in items]
    reply = "\n\n".join(f"{text}\t{int(met)}" for text, met in items)
    expected = "".join("m" if met else "u" for _, met in items)
    assert verdicts(cfbench.parse(reply, constraints(*asked))) == expected
    assert verdicts(cfbench.parse(reply.replace("\n", "\r\n"), constraints(*asked))) == expected
    scores, parsing = cfbench.faithful_scores(reply, asked)
    assert (scores, parsing) == ([float(met) for _, met in items], "1")


JUDGED = (
    "The review quotes the word “mask” twice.",
    " No paragraph is longer than 80 words",
    "输出的格式为：\n标题：\n正文：",
    "自拟标题，标题的句式和示例一致。",
)


@pytest.mark.parametrize(
    "lines",
    [
        JUDGED,
        ('The review quotes the word "mask" twice.', *JUDGED[1:]),
        ("The review quotes the word mask twice", *JUDGED[1:]),
        (JUDGED[0], "No paragraph is longer than 80 words ", *JUDGED[2:]),
        (*JUDGED[:2], "输出的格式为： 标题： 正文：", "自拟标题,标题的句式和示例一致"),
    ],
)
@pytest.mark.parametrize("between", ["\n\n", "\n", "\n \n"])
def test_cfbench_reads_what_a_person_can_read(lines: tuple[str, ...], between: str) -> None:
    for expected in ("muum", "uuuu", "mmmm"):
        values = expected.translate(str.maketrans("mu", "10"))
        reply = between.join(f"{line}\t{value}" for line, value in zip(lines, values, strict=True))
        assert verdicts(cfbench.parse(reply, constraints(*JUDGED))) == expected


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Three verses.\t1\nIt rhymes\t0",
        "It rhymes.\t1\nIt rhymes\t0",
        "It rhymes\t1\nThree verses\t0\nOverall\t0",
        "Here you are:\nIt rhymes\t1\nThree verses\t0",
        "It rhymes\t1\nThree verses\t0\nThat is all",
        "Criterion 1\t1\nCriterion 2\t0",
        "\t1\n\t0",
        "It rhymes 1\nThree verses 0",
        "It rhymes\t1\nThree verses\t0.5",
        "It rhymes\t1\nThree verses\t0 or 1",
        "It rhymes\t1\nThree verses",
    ],
)
def test_cfbench_does_not_guess(reply: str) -> None:
    asked = constraints("It rhymes.", "Three verses.")
    assert verdicts(cfbench.parse(reply, asked)) == "--"


@pytest.mark.parametrize(
    ("criterion", "line", "expected"),
    [
        ("语气友好", "语气不友好", "-"),
        ("The sum is 1", "The sum is", "-"),
        ("回答不超过100字。", "回答超过100字。", "-"),
        ("回答不超过100字。", "回答不超过200字。", "-"),
        ("回答不超过100字。", "1. 回答不超过１００字", "m"),
        (
            "是一篇关于山间清晨的雾和一位老人归来的散文",
            "是关于山间清晨的雾和一位老人归来的散文",
            "m",
        ),
        ("不是一篇关于山间清晨的雾的散文", "是一篇关于山间清晨的雾的散文", "-"),
        ("It is a long poem about a fog, not a song", "It is a long poem about a fog, a song", "-"),
        ("It does not mention the fog.", "It doesn't mention the fog", "-"),
        ("Use at least 1,000 words.", "Use at least 1000 words", "m"),
    ],
)
def test_cfbench_a_criterion_is_not_its_negation_and_has_its_numbers(
    criterion: str, line: str, expected: str
) -> None:
    assert verdicts(cfbench.parse(f"{line}\t1", constraints(criterion))) == expected


@given(st.lists(st.tuples(words, st.booleans()), min_size=1, max_size=5), st.randoms())
def test_cfbench_gives_no_criterion_the_verdict_of_another(
    items: list[tuple[str, bool]], random: Random
) -> None:
    shuffled = random.sample(items, k=len(items))
    reply = "\n".join(f"{text.strip()}\t{int(met)}" for text, met in shuffled)
    read = verdicts(cfbench.parse(reply, constraints(*(text for text, _ in items))))
    if "-" not in read:
        said: dict[str, set[str]] = {}
        for text, met in items:
            said.setdefault(text.strip(), set()).add("m" if met else "u")
        for (text, _), letter in zip(items, read, strict=True):
            assert letter in said[text.strip()]


@needs_data
def test_cfbench_real_criteria_are_read_when_edited_and_never_when_swapped() -> None:
    rows = json.loads((DATA / "cfbench" / "cfbench_data.json").read_text(encoding="utf-8"))
    quotes = str.maketrans('“”"', "‘’'")
    checklists = [[criterion[0] for criterion in row["criteria"]] for row in rows[::7]]
    checklists = [texts for texts in checklists if len(set(texts)) == len(texts)]
    assert len(checklists) > 100
    read = swapped = 0
    for texts in checklists:
        edited = [text.translate(quotes).strip().rstrip("。.").replace(" ", "") for text in texts]
        values = [number % 2 for number in range(len(texts))]
        lines = [f"{text}\t{value}" for text, value in zip(edited, values, strict=True)]
        result = verdicts(cfbench.parse("\n\n".join(lines), constraints(*texts)))
        read += result == "".join("um"[value] for value in values)
        if len(texts) > 1:
            lines[:2] = lines[1::-1]
            swapped += verdicts(cfbench.parse("\n\n".join(lines), constraints(*texts)))[0] != "-"
    assert read == len(checklists)
    assert swapped == 0


def test_cfbench_faithful_fallback_drops_zeros() -> None:
    assert cfbench.faithful_scores("x\t1\nb\t0\n\nc\t1.0", ["a", "b", "c"]) == ([1.0, 1.0], "0")
    assert cfbench.faithful_scores("a\t0\nb\t0", ["a", "b"]) == ([0.0], "-1")
    assert cfbench.faithful_scores("a\tyes\n\nb\t1", ["a", "b"]) == ([1.0], "0")


@needs_data
def test_cfbench_faithful_scores_are_the_shipped_ones() -> None:
    for path in sorted((DATA / "cfbench" / "judge").iterdir()):
        for record in json.loads(path.read_text(encoding="utf-8")):
            criteria = [criterion[0] for criterion in record["criteria"]]
            shipped = ([float(score) for score in record["judge_score"]], record["judge_parsing"])
            assert cfbench.faithful_scores(record["judge_response"], criteria) == shipped
