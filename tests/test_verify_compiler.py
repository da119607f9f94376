"""What the texts of constraints compile to, and what must not compile."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from heedful import evaluate
from heedful.core.errors import InputError, UndecidedError
from heedful.jobs.evaluate_tables import view
from heedful.verify import Response, check, describe, known
from heedful.verify.compiler.compile import compile_constraint
from heedful.verify.compiler.grammar import Grammar, shipped
from heedful.verify.compiler.measuring import measure
from heedful.verify.compiler.numerals import number_at
from heedful.verify.compiler.slots import SLOTS

COMPILES = [
    ("At most 200 words.", "Write at most 200 words."),
    ("Does the response have exactly three bullet points?", "Write exactly 3 bullet points."),
    ("The answer should contain fewer than twenty-five words.", "Write at most 24 words."),
    ("Are there exactly 5 items in the list?", "Write exactly 5 list items."),
    ("Write about 250 words.", "Write 225 to 275 words."),
    ("Answer in a single sentence.", "Write exactly 1 sentence."),
    ("Each paragraph should be at most 50 words.", "Write at most 50 words in each paragraph."),
    ("It should not be fewer than 5 sentences.", "Write at least 5 sentences."),
    ("The title must be no more than 10 words.", "Write at most 10 words in the title."),
    ("Does the response avoid the use of bullet points?", "Write no bullet points."),
    ("Include the keywords: apple, banana, and plum.", "Use 'apple', 'banana', 'plum'."),
    ('Start your response with "Dear Sir".', "Start the response with 'Dear Sir'."),
    ("Every sentence must end with an exclamation mark.", "End each sentence with '!'."),
    ("Respond only in Spanish.", "Respond in the language 'es'."),
    ("Limit your response to 280 characters, including spaces.",
     "Write at most 280 characters with spaces."),
    ("Include at least 3 emojis but no more than 6.", "Write 3 to 6 emojis."),
    ("Each item in the list is one sentence.", "Write exactly 1 sentence in each list item."),
    ("Create a numbered list of 5 items.", "Write exactly 5 numbered items."),
    ("Use exactly 5 bullet points, at most 20 words each.",
     "Write exactly 5 bullet points. Write at most 20 words in each list item."),
    ("Return a JSON array.",
     'Respond with JSON that fits the schema {"type": "array"}, and nothing else.'),
    ("Use all capital letters.", "Write the response in upper case."),
    ("5 paragraphs, each consisting of 2 sentences",
     "Write exactly 5 paragraphs. Write exactly 2 sentences in each paragraph."),
    ("Bullets should be at most 12 words each.", "Write at most 12 words in each list item."),
    ("Use emojis.", "Write at least 1 emoji. Or: Write at least 2 emojis."),
    ("Does the response end with a question?", "Write at least 1 question in the last sentence."),
    ('Do not start with "Sure".', "Do not start the response with 'Sure'."),
    ("Did the response avoid the letter 'e'?", "Use 'e' at most 0 times, in any word."),
    ("Make sure the word ocean appears at least twice.", "Use 'ocean' at least 2 times."),
    ("Include keywords ['rain', 'snow'] in the response.", "Use 'rain', 'snow'."),
    ('Answer only with "yes" or "no".', "Let the response be 'yes' or 'no', and nothing else."),
    ("End the response with an emoji.", "End the response with an emoji."),
    ("Write the title in bold.", "Write the title in bold."),
    ("Include a P.S. at the end.", "End with a postscript that starts with 'P.S'."),
    ("It must contain at least 2 placeholders represented by square brackets, such as [address].",
     "Write at least 2 placeholders."),
    ("Write in Hindi, no other language is allowed.", "Respond in the language 'hi'."),
    ("字数在800-1200之间", "Write 800 to 1200 字."),
    ("回答300字以内。", "Write at most 300 字."),
    ("回复为三个段落", "Write exactly 3 paragraphs."),
    ("每段不超过五句话", "Write at most 5 sentences in each paragraph."),
    ("写一篇不少于800字的文章", "Write at least 800 字."),
    ("不要使用标点符号", "Write no punctuation marks."),
    ("“雨”至少出现3次", "Use '雨' at least 3 times."),
    ("不得出现“但是”或“然而”", "Do not use '但是', '然而'."),
    ("以JSON格式输出，包含字段“a”", "Respond with JSON with the keys 'a', and nothing else."),
    ("输出JSON对象",
     'Respond with JSON that fits the schema {"type": "object"}, and nothing else.'),
    ("请用英文作答。", "Respond in the language 'en'."),
    ("列出三个要点", "Write exactly 3 points."),
    ("不能以“好的”开头", "Do not start the response with '好的'."),
    ("以表情符号结尾", "End the response with an emoji."),
    ("“雨”出现且仅出现一次", "Use '雨' exactly 1 times."),
    ("“雨”和“雪”都要出现", "Use '雨', '雪'."),
    ("包含一个三列的表格", "Write a table with 3 columns."),
    ("标题加粗", "Write the title in bold."),
    ("只回答“是”或“否”", "Let the response be '是' or '否', and nothing else."),
    ("正文中不含“春”", "Do not use '春' in the body."),
    ("每句不超过七字", "Write at most 7 字 in each sentence."),
    ("One or two sentences.", "Write 1 to 2 sentences."),
]  # fmt: skip

REFUSED = [
    "At most 200 words, if possible.",
    "Include the word count.",
    'Not every sentence should begin with "I".',
    "At most 3 sentences or 50 words.",
    "3 paragraphs of 50 words.",
    "Use a few bullet points.",
    "3 bullet points, at most 10 words.",
    'Use the words "rain" or snow.',
    "The response should be at least 100 words and friendly in tone.",
    "Each with at least 20 words.",
    "Each item in the numbered list is one sentence.",
    "The final answer should be at most 50 words.",
    "All words should be capitalized.",
    "Write in English and in French.",
    'Avoid words such as "very".',
    "Do not use more than one table and any of the above.",
    "故事不超过500字，让人爱读",
    "以“【姓名】您好”开头",
    "以一句名言开头",
    "写三段，均不超过100字",
    "最后的内容不超过50字",
    "不要过多使用感叹号",
    "可以使用表情符号",
    "每条建议两句话",
    "三分之二的句子是疑问句",
    "除了“你好”外不要出现其他英文",
    "每段不超过5行",
    "地名使用英文",
]


@pytest.mark.parametrize(("text", "words"), COMPILES)
def test_what_is_covered_becomes_a_check(text: str, words: str) -> None:
    compiled = compile_constraint(text)
    assert compiled.check is not None, compiled.reason
    assert describe(compiled.check) == words
    assert not compiled.reason
    assert known(compiled.check.id)


@pytest.mark.parametrize("unit", ["words", "characters"])
@pytest.mark.parametrize(
    "wording",
    [
        "{} {}.",
        "Use {} {}.",
        "Please write {} {}",
        "The answer must be {} {} long.",
        "Answer in {} {}.",
    ],
)
@pytest.mark.parametrize(
    ("amount", "least", "most"),
    [
        ("at most 25", 0, 25),
        ("no more than 30", 0, 30),
        ("exactly 24", 24, 24),
        ("between 22 and 28", 22, 28),
        ("fewer than 23", 0, 22),
    ],
)
def test_a_short_length_alone_is_the_responses_on_either_side(
    wording: str, amount: str, least: int, most: int, unit: str
) -> None:
    text = wording.format(amount, unit)
    numbers = {max(1, number) for number in (1, least - 1, least, most, most + 1, most + 40)}
    one = "rain " if unit == "words" else "a"
    rows = [
        {"prompt": "p", "checklist": [text], "response": (one * number).strip()}
        for number in sorted(numbers)
    ]
    results = [row.critique.judgments[0] for row in evaluate(rows) if row.critique]
    assert [result.status.value for result in results] == [
        "met" if least <= number <= most else "unmet" for number in sorted(numbers)
    ]


@pytest.mark.parametrize(
    "text",
    ["A summary of at most 12 words.", "Mention rain. Use at most 12 words.", "不超过12个字"],
)
def test_a_short_length_that_may_be_a_passages_stays_open(text: str) -> None:
    response = "Rain falls. " * 40 + "下雨了。" * 40
    evaluation = evaluate([{"prompt": "p", "checklist": [text], "response": response}])
    assert evaluation.summary["verdicts"]["unsupported"] == 1
    with (console := Console(width=300)).capture() as shown:
        console.print(view(evaluation.summary))
    assert "1 of these: " in shown.get()


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_covered_is_refused_with_a_reason(text: str) -> None:
    compiled = compile_constraint(text)
    assert compiled.check is None, describe(compiled.check) if compiled.check else ""
    assert compiled.reason


def test_the_reason_names_the_words_that_are_not_covered() -> None:
    reason = compile_constraint("At most 200 words, if possible.").reason
    assert reason == "not covered: 'if possible'"


def test_a_number_of_what_is_contained_may_be_a_minimum() -> None:
    """Three emojis are asked for: two are too few, three are right, of four nobody can tell."""
    compiled = compile_constraint("回答中包含3个emoji")
    assert compiled.check is not None
    assert not check(compiled.check, Response("好😀😀")).met
    assert check(compiled.check, Response("好😀😀😀")).met
    with pytest.raises(UndecidedError):
        check(compiled.check, Response("好😀😀😀😀"))


@pytest.mark.parametrize(
    ("text", "response", "fact"),
    [
        ("At most 5 words, if possible.", "One two.", "the response has 2 words"),
        ("尽量不超过200字", "今天下雨", "回复共有4字"),
        ("避免使用“雨”等词", "雨", "“雨”出现1次"),
        ("Use a warm tone.", "One two.", None),
        ("At most 5 words.", "One two.", "the response has 2 words"),
        ('Start with "One".', "One two.", "the response starts with 'One two.'"),
        (
            "Each paragraph has at most 2 words.",
            "One.\n\nOne two.",
            "the response has 2 of: paragraph; word counts in order: 1, 2",
        ),
    ],
)
def test_measures_are_facts_without_a_verdict(text: str, response: str, fact: str | None) -> None:
    assert measure(compile_constraint(text), Response(response)) == fact


@given(
    st.text(max_size=60) | st.text("至少最多300字段落“”a、，。不要包含 words at most", max_size=40)
)
def test_no_text_breaks_the_compiler_and_all_it_makes_can_run(text: str) -> None:
    compiled = compile_constraint(text)
    assert (compiled.check is None) == bool(compiled.reason)
    for made in filter(None, (compiled.check, *compiled.measures)):
        assert json.loads(made.model_dump_json()) == made.model_dump()
    if compiled.check is not None:
        describe(compiled.check)


# --- numbers and the round trip -------------------------------------------------------------------

DIGITS = "零一二三四五六七八九"


def chinese(number: int) -> str:
    """Write a number below 10,000 in Chinese, as schools teach it."""
    text = ""
    for scale, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // scale % 10
        if digit:
            text += DIGITS[digit] + name
        elif text and not text.endswith("零"):
            text += "零"
    return text.rstrip("零") or "零"


SMALL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen""".split()  # noqa: SIM905
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def english(number: int) -> str:
    """Write a number below 10,000 in English."""
    if number < 20:
        return SMALL[number]
    if number < 100:
        tail = f"-{SMALL[number % 10]}" if number % 10 else ""
        return TENS[number // 10 - 2] + tail
    scale, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    tail = f" {english(number % scale)}" if number % scale else ""
    return f"{english(number // scale)} {name}{tail}"


@given(st.integers(0, 9999))
def test_numbers_are_read_as_they_are_written(number: int) -> None:
    for written in (str(number), f"{number:,}", chinese(number), english(number)):
        assert number_at(f"{written} x", 0) == (number, len(written))


@pytest.mark.parametrize("text", ["一一", "十百", "二零二四", "1.5", "12,34", "3,", "a"])
def test_what_is_no_whole_number_is_not_read_as_one(text: str) -> None:
    number = number_at(text, 0)
    assert number is None or number[1] < len(text)


UNITS = {"words": "words", "sentences": "sentences", "paragraphs": "paragraphs"}
UNITS_ZH = {"字": "zi", "句话": "sentences", "个段落": "paragraphs", "行": "lines"}
BOUNDS: list[tuple[str, dict[str, int]]] = [
    ("The response must have at least {n} {unit}.", {"at_least": 0}),
    ("Does the response contain no more than {n} {unit}?", {"at_most": 0}),
    ("Use exactly {n} {unit}.", {"at_least": 0, "at_most": 0}),
    ("Write fewer than {n} {unit}.", {"at_most": -1}),
    ("more than {n} {unit}", {"at_least": 1}),
]
BOUNDS_ZH: list[tuple[str, dict[str, int]]] = [
    ("不少于{n}{unit}", {"at_least": 0}),
    ("回答不得超过{n}{unit}。", {"at_most": 0}),
    ("回复应控制在{n}{unit}以内", {"at_most": 0}),
    ("请确保回答恰好{n}{unit}", {"at_least": 0, "at_most": 0}),
    ("全文要超过{n}{unit}", {"at_least": 1}),
]


@given(
    st.sampled_from([(*bound, UNITS) for bound in BOUNDS] + [(*b, UNITS_ZH) for b in BOUNDS_ZH]),
    st.integers(31, 3000),
    st.data(),
)
def test_bounds_are_read_in_all_forms(
    case: tuple[str, dict[str, int], dict[str, str]], number: int, data: st.DataObject
) -> None:
    template, offsets, units = case
    unit = data.draw(st.sampled_from(sorted(units)))
    spelled = data.draw(
        st.sampled_from([str(number), chinese(number) if units is UNITS_ZH else english(number)])
    )
    compiled = compile_constraint(template.format(n=spelled, unit=unit))
    assert compiled.check is not None, compiled.reason
    expected = {name: number + offset for name, offset in offsets.items()}
    assert compiled.check.args == {"unit": units[unit]} | expected


# --- the grammar itself ---------------------------------------------------------------------------


def test_rules_of_the_grammar_name_verifiers() -> None:
    assert all(known(id_) for id_ in shipped().rules.values())


def test_a_grammar_of_ones_own_is_used() -> None:
    grammar = Grammar("check heedful:case loud:\n    shout -> case=upper\n", SLOTS)
    compiled = compile_constraint("Shout!", grammar)
    assert compiled.check is not None
    assert compiled.check.args == {"case": "upper"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("    word\n", "before the first heading"),
        ("Not a heading\n", "a heading is"),
        ("a:\n    (b\n", "not closed"),
        ("a:\n    b ]\n", "closes nothing"),
        ("a:\n    <b>\n", "no phrase <b>"),
        ("a:\n    x <a>\n", "itself"),
        ("a:\n    x -> y\n", "bindings"),
        ("a:\n    [x] -> y=1\n", "nothing at all"),
    ],
)
def test_a_grammar_that_cannot_be_read_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Grammar(text, SLOTS, "mine.txt")
    assert caught.value.where.startswith("mine.txt")


# --- real constraints -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "least"), [("cfbench/cfbench_data.json", 0.07), ("sysbench/gpt35.jsonl", 0.07)]
)
def test_real_constraints_compile_and_their_checks_can_run(
    data: Path, name: str, least: float
) -> None:
    from heedful.data import formats

    texts: list[str] = []
    for row in formats.open_source(data / name):
        if row.sample is not None and len(texts) < 1500:
            texts += [constraint.text for constraint in row.sample.checklist]
    checks: list[Any] = [compile_constraint(text).check for text in texts]
    made = [each for each in checks if each is not None]
    assert len(made) / len(texts) > least
    assert all(map(describe, made))
