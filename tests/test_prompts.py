"""Parsers of judges' replies: what is said counts, nothing is guessed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.nouns import Constraint, Judgment, Recording, Status
from heedful.data import formats
from heedful.judges import prompts
from heedful.judges.prompts import advancedif, cfbench, if_critic

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def test_if_critic_constraints_may_look_like_a_critique() -> None:
    odd = f"写出\n分析：和\n结论：{if_critic.UNMET}"
    judgments = if_critic.parse(block(1, odd, "写了", if_critic.MET), constraints(odd))
    assert [(judgment.status, judgment.explanation) for judgment in judgments] == [
        (Status.MET, "写了")
    ]


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


def test_advancedif_declares_what_the_judge_said() -> None:
    assert advancedif.declared(reply("YES", ["NO"], overall="yes")) == {
        "satisfied_all": "YES",
        "answers": {"question_1": "YES", "question_2": '["NO"]'},
    }
    assert advancedif.declared("nothing") == {"satisfied_all": None, "answers": {}}


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


@needs_data
def test_sysbench_recordings_give_the_published_counts() -> None:
    counts = Counter[Status]()
    for row in formats.read(DATA / "sysbench" / "gpt35.jsonl"):
        assert row.sample
        assert row.sample.recording
        judgments = prompts.read(row.sample.recording, row.sample.checklist)
        counts.update(judgment.status for judgment in judgments)
    assert counts == {Status.MET: 3668, Status.UNMET: 2272, Status.UNPARSED: 12}


@pytest.mark.parametrize("name", prompts.NAMES)
def test_what_a_prompt_reads_is_read_again_from_a_recording(name: str) -> None:
    constraints = [Constraint(text="Be brief."), Constraint(text="Be kind.")]
    replies = [
        "<c1>\nShort.\nVERDICT: MET\n</c1>\n<c2>\nRude.\nVERDICT: UNMET\n</c2>",
        (
            '{"judgments": [{"constraint": 1, "explanation": "Short.", "verdict": "MET"}, '
            '{"constraint": 2, "explanation": "Rude.", "verdict": "UNMET"}]}'
        ),
        '{"rubrics_check": {"question_1": "Yes", "question_2": "No"}, "SATISFIED_ALL": "NO"}',
        "Be brief.\t1\nBe kind.\t0",
    ]
    prompt = prompts.make(name)
    for reply in replies:
        parsed = prompt.parse(reply, constraints)
        assert prompts.read(Recording(prompt=name, text=reply), constraints) == parsed
