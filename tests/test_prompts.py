"""Parsers of judges' replies: what is said counts, nothing is guessed."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.nouns import Constraint, Judgment, Recording, Scoring, Status
from heedful.data import formats
from heedful.judges import prompts
from heedful.judges.prompts import advancedif, cfbench, if_critic, plain, structured
from heedful.judges.prompts.base import contradicts

SCORINGS: tuple[Scoring, ...] = ("strict", "faithful")
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the benchmarks' data is not here")

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)


def constraints(*texts: str) -> tuple[Constraint, ...]:
    return tuple(Constraint(text=text) for text in texts)


def verdicts(judgments: Sequence[Judgment]) -> str:
    """One letter for each status: m(et), u(nmet), - (unparsed)."""
    letters = {Status.MET: "m", Status.UNMET: "u", Status.UNPARSED: "-"}
    return "".join(letters[judgment.status] for judgment in judgments)


@given(st.text(), st.lists(words, max_size=4))
def test_no_text_breaks_a_published_reading(text: str, items: list[str]) -> None:
    assert cfbench.declared(text, constraints(*items))["scores"]
    assert advancedif.declared(text).keys() == {"satisfied_all", "answers"}


def test_if_rewardbench_reads_the_parts_of_each_block() -> None:
    items = {
        "提到茶": ("写到了茶。", "人工智能助手的回复满足了该要求"),
        "不用逗号": ("用了。", "没有满足"),
    }
    reply = "\n\n".join(
        f"[检查项{number}-开始]\n要求：{asked}\n分析：{why}\n结论：{end}\n[检查项{number}-结束]"
        for number, (asked, (why, end)) in enumerate(items.items(), 1)
    )
    recording = Recording(prompt="if_rewardbench", text=reply)
    for scoring in SCORINGS:
        judgments = prompts.read(recording, constraints(*items), scoring)
        assert verdicts(judgments) == "mu"
        assert [each.explanation for each in judgments] == ["写到了茶。", "用了。"]


# --- if_critic ------------------------------------------------------------------------------


def block(number: int, text: str, analysis: str, conclusion: str) -> str:
    return (
        f"[要求{number}-开始]\n要求：{text}\n分析：{analysis}\n结论：{conclusion}\n"
        f"[要求{number}-结束]"
    )


unmarked = words.filter(lambda text: "结论" not in text)
"""An explanation that opens a second conclusion leaves the verdict undecided."""


@given(
    st.lists(st.tuples(unmarked.filter(str.strip), unmarked, st.booleans()), min_size=1, max_size=4)
)
def test_if_critic_reads_what_it_asked_for(items: list[tuple[str, str, bool]]) -> None:
    reply = "\n\n".join(
        block(number, text, analysis, if_critic.MET if met else if_critic.UNMET)
        for number, (text, analysis, met) in enumerate(items, start=1)
    )
    asked = constraints(*(text for text, _, _ in items))
    judgments = if_critic.parse(reply, asked)
    assert verdicts(judgments) == "".join("m" if met else "u" for _, _, met in items)
    assert [judgment.explanation for judgment in judgments] == [
        text.strip() for _, text, _ in items
    ]
    assert if_critic.parse(reply.replace("\n", "\r\n"), asked) == judgments


GOOD = f"{block(1, '押韵', '很好', if_critic.MET)}\n\n{block(2, '四行', '三行', if_critic.UNMET)}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[要求2-", "[要求3-"),
        ("要求：四行", "要求：五行"),
        ("要求：四行", "要求：四行诗"),
        ("分析：三行", "三行"),
        ("没有满足", "部分满足"),
        ("结论：[[人工智能助手的回复没", "[[没"),
        ("三行", f"三行\n结论：{if_critic.MET}"),
        ("三行", "三行\n[要求2-结束]"),
        ("\n[要求2-结束]", ""),
        ("[要求1-开始]", "好的：\n[要求1-开始]"),
        ("[要求2-结束]", "[要求2-结束]\n完"),
    ],
)
def test_if_critic_decides_all_or_nothing(old: str, new: str) -> None:
    assert verdicts(if_critic.parse(GOOD, constraints("押韵", "四行"))) == "mu"
    assert verdicts(if_critic.parse(GOOD, constraints("押韵"))) == "-"
    assert verdicts(if_critic.parse(GOOD.replace(old, new), constraints("押韵", "四行"))) == "--"


@needs_data
@pytest.mark.parametrize(
    ("name", "final", "sampled"),
    [
        ("critiques", (25, 95, 33), (0, 0, 0)),
        ("sft_data", (12, 55, 5), (0, 0, 0)),
        ("dpo_data", (13, 46, 14), (130, 477, 123)),
    ],
)
def test_if_critic_parses_every_released_critique(
    name: str, final: tuple[int, int, int], sampled: tuple[int, int, int]
) -> None:
    counts = {"final": Counter[Status](), "sampled": Counter[Status]()}
    texts = Counter[str]()
    for row in formats.read(DATA / "if_critic" / f"{name}.json"):
        assert row.sample
        assert row.sample.recording
        recording = row.sample.recording
        replies = [("final", recording.text), *(("sampled", text) for text in recording.others)]
        for kind, text in replies:
            judgments = if_critic.parse(text or "", row.sample.checklist)
            counts[kind].update(judgment.status for judgment in judgments)
            texts[kind] += 1
    for kind, expected in (("final", final), ("sampled", sampled)):
        count = counts[kind]
        assert (texts[kind], count[Status.MET], count[Status.UNMET]) == expected
        assert count[Status.UNPARSED] == 0


# --- advancedif -----------------------------------------------------------------------------


def reply(*answers: Any, overall: str | None = None) -> str:
    checks = {f"question_{k}": answer for k, answer in enumerate(answers, start=1)}
    whole = {} if overall is None else {"SATISFIED_ALL_REQUIREMENTS": overall}
    return json.dumps({"rubrics_check": checks, **whole})


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("YES", "m"),
        ("no.", "u"),
        ("**Yes** - it rhymes", "m"),
        ("It does not rhyme, so: NO", "u"),
        ("Not everywhere, but overall _yes_!", "m"),
        ("YES，押韵", "m"),
        (["NO", "too long"], "u"),
        ({"verdict": "yes"}, "m"),
        ("No it does not rhyme", "u"),
        ("No doubt: satisfied.", "-"),
        ("No issues found; satisfied.", "-"),
        ("No issues found; yes", "m"),
        ("Not yes", "-"),
        ("I can't say yes", "-"),
        ("It may be yes or no", "-"),
        ("YES at first, in the end NO", "-"),
        ("", "-"),
        (True, "-"),
    ],
)
def test_advancedif_takes_the_first_or_last_word_never_a_part(answer: Any, verdict: str) -> None:
    assert verdicts(advancedif.parse(reply(answer), constraints("a"))) == verdict


@pytest.mark.parametrize(
    "text",
    [
        reply("YES", "NO"),
        f"```json\n{reply('YES', 'NO')}\n```",
        f'Sure {{"}} here: {reply("YES", "NO")} Done.',
        f'{{"result": {reply("YES", "NO")}}}',
        reply("YES", "NO") + "\r\n" + reply("YES", "NO"),
        '{"rubrics_check": {"question_1": "YES\n- fine", "question_2": "NO"}}',
    ],
)
def test_advancedif_finds_the_object_in_fences_and_prose(text: str) -> None:
    assert verdicts(advancedif.parse(text, constraints("a", "b"))) == "mu"


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        ("I think so.", "--", "no JSON object"),
        (reply("YES"), "m-", "the reply has no question_2"),
        (reply("YES", "NO", "YES"), "--", "question_3 answers none of 2 rubrics"),
        ('{"rubrics_check": {"question_0": "YES", "question_1": "NO"}}', "--", "question_0"),
        (reply("YES", "Yes", overall="No"), "--", "SATISFIED_ALL_REQUIREMENTS is NO"),
        (reply("YES", "NO") + reply("NO", "NO", "NO"), "--", "question_3"),
        (
            '{"rubrics_check": {"question_1": "YES", "question_1": "NO"}}',
            "--",
            "question_1 is answered twice",
        ),
    ],
)
def test_advancedif_does_not_guess(text: str, expected: str, reason: str) -> None:
    judgments = advancedif.parse(text, constraints("a", "b"))
    assert verdicts(judgments) == expected
    assert reason in judgments[-1].explanation


# --- recorded verdicts ----------------------------------------------------------------------


def recorded(
    prompt: str, stored: Sequence[dict[str, Any]], asked: Sequence[Constraint]
) -> list[Judgment]:
    return prompts.read(Recording(prompt=prompt, verdicts=tuple(stored)), asked)


def test_sysbench_verdicts_go_by_their_numbers() -> None:
    asked = constraints("a", "b", "c")
    given_out_of_order = [{"crit": "3. x", "v": "否"}, {"crit": "1. x", "v": "是"}]
    judgments = recorded("sysbench", given_out_of_order, asked)
    assert verdicts(judgments) == "m-u"
    assert judgments[1].explanation == "no verdict on criterion 2"
    odd = recorded("sysbench", [{"v": "是"}, {"v": "不适用"}, {}], asked)
    assert verdicts(odd) == "m--"
    assert "不适用" in odd[1].explanation
    assert verdicts(recorded("sysbench", [{"v": "是"}], asked)) == "---"
    assert verdicts(recorded("sysbench", [{"crit": "1", "v": "是"}] * 3, asked)) == "---"


def test_native_verdicts_are_statuses_or_booleans() -> None:
    stored: list[dict[str, Any]] = [
        {"status": "met", "explanation": "fine", "judge": "rules", "loose": "met"},
        {"status": False},
        {"status": "perhaps"},
        {"status": None},
    ]
    judgments = recorded("native", stored, constraints("a", "b", "c", "d"))
    assert verdicts(judgments) == "mu--"
    assert (judgments[0].judge, judgments[0].loose) == ("rules", Status.MET)
    assert verdicts(recorded("native", stored, constraints("a"))) == "-"


def test_read_goes_by_the_recordings_prompt() -> None:
    asked = constraints("a")
    read = {
        "m": Recording(prompt="cfbench", text="a\t1"),
        "u": Recording(prompt="native", verdicts=({"status": "unmet"},)),
        "-": Recording(prompt="advancedif", declared={"error": "timeout"}),
    }
    for verdict, recording in read.items():
        assert verdicts(prompts.read(recording, asked)) == verdict
    assert prompts.read(read["-"], asked)[0].explanation == "timeout"
    assert "'x'" in prompts.read(Recording(prompt="x", text="y"), asked)[0].explanation


# --- cfbench --------------------------------------------------------------------------------


@given(st.lists(st.tuples(words, st.booleans()), min_size=1, max_size=6))
def test_cfbench_reads_what_it_asked_for(items: list[tuple[str, bool]]) -> None:
    asked = [text for text, _ in items]
    reply = "\n\n".join(f"{text}\t{int(met)}" for text, met in items)
    expected = "".join("m" if met else "u" for _, met in items)
    assert verdicts(cfbench.parse(reply, constraints(*asked))) == expected
    assert verdicts(cfbench.parse(reply.replace("\n", "\r\n"), constraints(*asked))) == expected
    scores, parsing = cfbench.faithful_scores(reply, asked)
    assert (scores, parsing) == ([float(met) for _, met in items], "1")


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


ASKED = tuple(Constraint(text=text) for text in ("It rhymes.", "It has four lines.", "不超过50字"))
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


def structured_reply(*entries: dict[str, object]) -> str:
    return json.dumps({"judgments": entries})


@pytest.mark.parametrize(
    "text",
    [
        structured_reply(entry(1, "met"), entry(2, "unmet")),
        structured_reply(entry("2", "Unmet"), entry("c1", "MET")),
        structured_reply(entry("B.", "unmet"), entry("a", "met", ["a", "list"])),
        structured_reply(entry("a", "met"), entry(2, "not met")) + " Done.",
        f"Here:\n```json\n{json.dumps([entry(1, 'met'), entry(2, '不满足')])}\n```",
        structured_reply(entry(1, "met"), entry(2, "unmet")) * 2,
    ],
)
def test_structured_reads_through_what_leaves_one_reading(text: str) -> None:
    assert verdicts(structured.parse(text, constraints("a", "b."))) == "mu"


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        ("", "--", "no JSON object with judgments"),
        ('{"judgments": []}', "--", "no JSON object with judgments"),
        (structured_reply(entry(1, "met")), "m-", "no judgment of constraint 2"),
        (structured_reply(entry(1, "met"), entry(2, "maybe")), "m-", "the verdict is 'maybe'"),
        (structured_reply(entry(1, "met"), entry(2, 1)), "m-", "the verdict is '1'"),
        (structured_reply(entry(2, "met"), entry(2, "unmet")), "--", "more than one judgment"),
        (structured_reply(entry(0, "met"), entry(1, "met")), "--", "numbers do not say"),
        (structured_reply(entry(None, "met"), entry(1.0, "met")), "--", "numbers do not say"),
        (
            structured_reply(entry(1, "met")) + structured_reply(entry(1, "unmet")),
            "--",
            "no judgment of constraint 2",
        ),
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
