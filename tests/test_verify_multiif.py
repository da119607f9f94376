"""Words in any script, and Multi-IF's counting by language."""

import random
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.errors import VerifierError
from heedful.core.nouns import Check
from heedful.verify import Readings, Response, count_words
from heedful.verify.ifeval import multiif as counted

THAI_INSTALLED = find_spec("pythainlp") and find_spec("pycrfsuite")
needs_thai = pytest.mark.skipif(not THAI_INSTALLED, reason="heedful[thai] is not installed")
without_thai = pytest.mark.skipif(bool(THAI_INSTALLED), reason="heedful[thai] is installed")


def strict(text: str) -> Response:
    return Response(text)


def faithful(text: str) -> Response:
    return Response(text, random.Random(0))


# --- words of any script ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("It's a well-known fact.", 4),
        ("U.S. trade: 1,000.5 at 12:30 — on 3/4!", 7),
        ("rock ’n’ roll... 'quoted' -- a_b", 5),
        ("naïve caf\u0065\u0301", 2),
        ("हिन्दी में लिखिए", 3),
        ("Москва и Киев", 3),
        ("اَلْعَرَبِيَّةُ لغة", 2),
        ("한국어 문장입니다", 2),
        ("我有3只cat。", 5),
        ("東京タワー、きれい！", 8),
        ("no words: 👍🏽 ❤ …", 2),
    ],
)
def test_words_are_counted_as_their_script_parts_them(text: str, words: int) -> None:
    assert count_words(text) == words


def test_scripts_without_spaces_or_dictionary_are_refused_with_the_mend() -> None:
    for text, name in (("ພາສາລາວ", "Lao"), ("ភាសាខ្មែរ", "Khmer"), ("မြန်မာ", "Burmese")):
        with pytest.raises(VerifierError, match=rf"{name}.*characters or sentences"):
            count_words(text)


@without_thai
def test_thai_without_its_dictionary_says_what_to_install() -> None:
    requirement = Check(
        id="multiif:length_constraints:number_words",
        args={"num_words": 5, "relation": "at least"},
    )
    with pytest.raises(VerifierError, match=r"pip install 'heedful\[thai\]'"):
        Readings("ประเทศไทยสวยงาม").read(requirement)


@pytest.mark.slow
@needs_thai
def test_thai_words_and_sentences_are_those_of_its_dictionary() -> None:
    text = "ฉันรักแมว\n\nแมวรักฉัน"
    assert count_words(text) == counted.count_words(strict(text)) == 6
    assert counted.count_words(faithful(text)) > 6  # what parts the lines counts too
    assert counted.count_sentences(strict(text)) == 2
    assert count_words("แมว cat แมว") == 3


# --- Multi-IF's counts --------------------------------------------------------------------------

WORDS = [
    # text, strict, faithful, and what the published code does
    ("こんにちは、ジェイソンさん、Jason? Nice to meet you☺ ❤", 19, 19, "its own example"),
    (
        "我们都很喜欢这个well-known的城市，那里的天气很好，人们也很友善。",
        26,
        25,
        "well-known becomes wellknown",
    ),
    ("今天天气很好 = 好天气", 9, 10, "a sign that is not on its list is a word"),
    ("हिन्दी एक भाषा है।", 4, 7, "vowel signs part words"),
    ("Don't stop, 3.5 times.", 6, 6, "as IFEval"),
]


@pytest.mark.parametrize(("text", "strictly", "faithfully", "why"), WORDS)
def test_words_by_language(text: str, strictly: int, faithfully: int, why: str) -> None:
    counts = counted.count_words(strict(text)), counted.count_words(faithful(text))
    assert counts == (strictly, faithfully), why


SENTENCES = [
    ("今天很好。“我们走吧！”价格是3.5元。\n1. 苹果", 4, 6, "closing quotes, decimals, 1."),
    ("यह पहला है। क्या यह दूसरा है? हाँ!!!", 3, 5, "each mark of !!! ends one"),
    ("मराठी भाषा महाराष्ट्रात बोलली जाते। ती सुंदर आहे।", 2, 1, "Marathi is split as English"),
    ("One here. Two there! Three?", 3, 3, "English"),
    ("Первое предложение. Второе предложение!", 2, 2, "as English"),
]


@pytest.mark.parametrize(("text", "strictly", "faithfully", "why"), SENTENCES)
def test_sentences_by_language(text: str, strictly: int, faithfully: int, why: str) -> None:
    counts = counted.count_sentences(strict(text)), counted.count_sentences(faithful(text))
    assert counts == (strictly, faithfully), why


def test_strict_counting_goes_by_script_where_the_detector_errs() -> None:
    text = "请用Python和JavaScript写函数add。"  # too much Latin for the detector
    assert faithful(text).language not in {"zh-cn", "zh-tw", "ja"}
    assert counted.count_words(strict(text)) == 9
    assert counted.count_words(faithful(text)) == 1


@given(st.text(st.sampled_from("ab 中か。！？.!?3\n，“”हिं। й👍")))
def test_counts_of_any_text_are_bounded_and_repeatable(text: str) -> None:
    for make in (strict, faithful):
        words, sentences = counted.count_words(make(text)), counted.count_sentences(make(text))
        assert words == counted.count_words(make(text))
        assert 0 <= words <= len(text)
        assert 0 <= sentences <= len(text)


# --- the other verifiers ------------------------------------------------------------------------


def met(text: str, verifier: str, *, seed: int | None = None, **args: Any) -> bool:
    return Readings(text, seed=seed).read(Check(id=f"multiif:{verifier}", args=args)).strict.met


@pytest.mark.parametrize("text", ['"a b"', "“你好”", "「こんにちは」"])
def test_quotation_marks_of_the_published_code(text: str) -> None:
    assert met(text, "startend:quotation")
    assert met(text, "startend:quotation", seed=0)


def test_other_quotation_marks_count_strictly() -> None:
    assert met("«Привет»", "startend:quotation")
    assert not met("«Привет»", "startend:quotation", seed=0)
    assert not met("“你好", "startend:quotation")


def test_commas_of_other_scripts_are_commas() -> None:
    for text in ("你好，世界", "مرحبا، يا عالم"):
        assert not met(text, "punctuation:no_comma")
        assert met(text, "punctuation:no_comma", seed=0)
    assert met("苹果、香蕉", "punctuation:no_comma")
    assert not met("one, two", "punctuation:no_comma", seed=0)


@pytest.mark.parametrize(
    ("start", "first_word", "strictly", "faithfully"),
    [
        ("Por favor, lea.", "por favor", True, False),
        ("今天天气很好。", "今天", True, False),
        ("हैलो। कैसे हो", "हैलो", True, False),
        ("Hello, you.", "hello", True, True),
        ("“Hello” you.", "hello", True, False),
        ("Helloes.", "hello", False, False),
        ("well-known", "well", False, False),
        ("की बात", "क", False, False),
    ],
)
def test_the_first_word_of_a_paragraph(
    start: str, first_word: str, *, strictly: bool, faithfully: bool
) -> None:
    args: dict[str, Any] = {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": first_word}
    text = f"One.\n\n{start}"
    name = "length_constraints:nth_paragraph_first_word"
    assert met(text, name, **args) == strictly
    assert met(text, name, seed=0, **args) == faithfully
    assert not met(f"{text}\n\nThree.", name, **args)


def test_a_blank_first_word_is_unsupported() -> None:
    args: dict[str, Any] = {"num_paragraphs": 1, "nth_paragraph": 1, "first_word": " "}
    with pytest.raises(VerifierError, match="first_word is blank"):
        met("a", "length_constraints:nth_paragraph_first_word", **args)
