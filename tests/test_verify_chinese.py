"""Chinese phrases: where one surely stands, and where it may cross the bounds of words."""

from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.errors import UndecidedError
from heedful.core.nouns import Check
from heedful.verify import Response, check

WORDS = (
    resources.files("heedful.verify.text")
    .joinpath("chinese_words.txt")
    .read_text(encoding="utf-8")
    .split()
)
KNOWN = frozenset(WORDS)
words = st.sampled_from(WORDS)


def excluded(phrase: str, text: str) -> bool | None:
    try:
        return check(Check(id="heedful:excludes", args={"phrases": [phrase]}), Response(text)).met
    except UndecidedError:
        return None


def test_the_words_are_different_and_of_two_letters() -> None:
    assert len(KNOWN) == len(WORDS)
    assert all(len(word) == 2 for word in WORDS)


@given(words, words)
def test_a_phrase_across_two_words_is_never_decided_to_be_there(first: str, second: str) -> None:
    crossing = first[1] + second[0]
    if crossing not in (first, second):
        assert excluded(crossing, f"{first}{second}。") is None


@given(words, words)
def test_a_word_between_signs_is_there(word: str, other: str) -> None:
    assert excluded(word, f"{other}，{word}。") is False
    if word != other and word not in (f"{other}{other}"):
        assert excluded(word, f"{other}。") is True


@pytest.mark.parametrize(
    ("phrase", "text", "expected"),
    [
        ("但是", "今天很冷，但是很好。", False),
        ("但是", "他不但是老师，还是作家。", None),
        ("北京", "我在北京读书。", False),
        ("北京", "东北京剧团来了。", None),
        ("非常", "雨下得非常久。", False),
        ("非常", "这是非常规的做法。", None),
        ("天气", "今天气温很低。", None),
        ("春天", "春天来了，春天走了。", False),
        ("好的", "这是美好的一天。", None),
        ("好的", "好的，我明白。", False),
        ("目的", "这是项目的特色。", None),
        ("雨伞", "天晴了。", True),
        ("的话", "他说的话很好。", None),
        ("中国", "他在其中国内的部分。", None),
        ("可能", "这不可能。", None),
        ("现在", "他出现在门口。", None),
        ("为了", "他成为了老师。", None),
        ("如果", "例如果汁。", None),
        ("还是", "归还是对的。", None),
    ],
)
def test_only_real_ambiguity_leaves_a_phrase_undecided(
    phrase: str, text: str, *, expected: bool | None
) -> None:
    assert excluded(phrase, text) is expected
